package cli

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"

	"oarlock/internal/cmdline"
	"oarlock/internal/must"
)

// shell is a shell that a test drives, with completion loaded, in an empty directory. The
// oarlock of its PATH notes its arguments in a file beside it, and answers a request for
// completion with canned names.
type shell struct {
	t              *testing.T
	dir, here, log string
	noted          int // lines of the log that were seen
	env            []string
}

const noting = `#!/bin/sh
printf '%%s\n' "$*" | tr '\n' ' ' >>%[1]s
echo >>%[1]s
case "$1/$*" in
  __complete/*--js) printf -- '--json\tprint JSON\n' ;;
  __complete/*hal) printf 'half\tis dear\nhalves\t\n:files\n' ;;
  __complete/*) printf 'precious\tis dear\nprecious1\t\n' ;;
esac
`

func newShell(t *testing.T, name string) *shell {
	t.Helper()
	must.Have(t, name)
	dir := t.TempDir()
	s := &shell{t: t, dir: dir, here: filepath.Join(dir, "here"), log: filepath.Join(dir, "log")}
	for _, sub := range []string{"here", "bin", "home"} {
		must.Do(t, os.Mkdir(filepath.Join(dir, sub), 0o755))
	}
	for path, text := range map[string]string{"bin/oarlock": fmt.Sprintf(noting, s.log), "script": cmdline.Script(name), "log": ""} {
		must.Do(t, os.WriteFile(filepath.Join(dir, path), []byte(text), 0o755))
	}
	s.env = []string{"PATH=" + dir + "/bin:" + os.Getenv("PATH"), "HOME=" + dir + "/home", "TERM=vt100", "LC_ALL=C.UTF-8", "HISTFILE=/dev/null"}
	return s
}

// traps are lines that run something wherever completion lets them: an earlier version ran
// every command that was asked to complete an option after "--". The word at the cursor is
// none of them: zsh itself expands that at a TAB. A short run has a tenth of the commands.
func traps() (lines []string) {
	for _, words := range tenth(fullLines()) {
		line := "oarlock " + strings.Join(words, " ")
		lines = append(lines, line+" --", line+` -- $(touch pwned) 'hal`)
	}
	return append(lines, "oarlock job cancel `touch pwned` ", "oarlock put 'q; touch pwned' --", `oarlock put "$(touch pwned)" --`, "oarlock put q --klass=$(touch pwned) ")
}

// awaitNote waits for the next line of the log and gives it.
func (s *shell) awaitNote() string {
	s.t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		text := must.Get(os.ReadFile(s.log))(s.t)
		if lines := strings.SplitAfter(string(text), "\n"); len(lines) > s.noted+1 {
			s.noted++
			return strings.TrimRight(lines[s.noted-1], " \n")
		}
	}
	s.t.Fatal("oarlock was not called")
	return ""
}

// onlyCompleted fails if the shell wrote anything.
func (s *shell) onlyCompleted() {
	s.t.Helper()
	if found := filesBelow(s.t, s.here); len(found) > 0 {
		s.t.Errorf("there are files: %v", found)
	}
}

// drive types lines at an interactive shell, TAB behind each, and takes each away again; what
// it types last is finished by the shell and run.
func (s *shell) drive(lines []string, setup string, command ...string) {
	t := s.t
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Dir, cmd.Env = s.here, s.env
	terminal := must.Get(pty.StartWithSize(cmd, &pty.Winsize{Rows: 50, Cols: 500}))(t)
	read := make(chan struct{})
	go func() { // ends with the shell; waited for below
		defer close(read)
		io.Copy(io.Discard, terminal)
	}()
	defer func() {
		cmd.Process.Kill()
		cmd.Wait()
		terminal.Close()
		<-read
	}()
	fmt.Fprintf(terminal, "%s; oarlock loaded\r", setup)
	if got := s.awaitNote(); got != "loaded" {
		t.Fatalf("oarlock was called with %q", got)
	}
	for _, line := range lines {
		fmt.Fprintf(terminal, "%s\t", line)
		if got := s.awaitNote(); !strings.HasPrefix(got, "__complete ") {
			t.Errorf("%s: oarlock was called with %q", line, got)
		}
		fmt.Fprint(terminal, "\x15")
	}
	fmt.Fprint(terminal, "oarlock job show --js\t")
	s.awaitNote()
	fmt.Fprint(terminal, "\r")
	if got := s.awaitNote(); got != "job show --json" {
		t.Errorf("it completed to %q", got)
	}
	s.onlyCompleted()
}

func TestCompletionInBash(t *testing.T) {
	s := newShell(t, "bash")
	s.drive(traps(), "bind 'set bell-style none'; bind 'set completion-query-items -1'; bind 'set page-completions off'; . ../script", "bash", "--norc", "--noprofile", "-i")
}

func TestCompletionInZsh(t *testing.T) {
	s := newShell(t, "zsh")
	s.drive(traps(), "LISTMAX=10000; unsetopt beep; autoload -Uz compinit; compinit -u -D; . ../script", "zsh", "-f", "-i")
}

// TestCompletionCallsNoFunction completes behind what users have for oarlock: a function would
// act upon the request for completion, and an alias is no program.
func TestCompletionCallsNoFunction(t *testing.T) {
	wrapped := []string{"wrapped pre", "short pre", "oarlock pre"}
	functions := `wrapped() { : >called; oarlock put "$@"; }; alias short=oarlock; `
	t.Run("bash", func(t *testing.T) {
		newShell(t, "bash").drive(wrapped, functions+"bind 'set bell-style none'; . ../script; complete -F _oarlock wrapped short", "bash", "--norc", "--noprofile", "-i")
	})
	t.Run("zsh", func(t *testing.T) {
		newShell(t, "zsh").drive(wrapped, functions+"unsetopt beep; autoload -Uz compinit; compinit -u -D; . ../script; compdef _oarlock wrapped", "zsh", "-f", "-i")
	})
}

// TestCompletionInZshOfPartsOfWords asks for what is typed before the cursor, without a quote that is open.
func TestCompletionInZshOfPartsOfWords(t *testing.T) {
	s := newShell(t, "zsh")
	lines := []string{`oarlock queue pause "pre`, "oarlock queue pauper\x02\x02\x02", "oarlock 'queue' pre"}
	s.drive(lines, "LISTMAX=10000; unsetopt beep; setopt completeinword; autoload -Uz compinit; compinit -u -D; . ../script", "zsh", "-f", "-i")
	asked := must.Get(os.ReadFile(s.log))(t)
	for _, want := range []string{"queue pause pre", "queue pau", "queue pre"} {
		if !strings.Contains(string(asked), "__complete words "+want+" \n") {
			t.Errorf("nobody asked for %q:\n%s", want, asked)
		}
	}
}

// TestCompletionInZshFromFpath has the script loaded on demand, at the first TAB.
func TestCompletionInZshFromFpath(t *testing.T) {
	s := newShell(t, "zsh")
	must.Do(t, os.Mkdir(s.dir+"/functions", 0o755))
	must.Do(t, os.Rename(s.dir+"/script", s.dir+"/functions/_oarlock"))
	s.drive(traps()[:10], "LISTMAX=10000; unsetopt beep; fpath=(../functions $fpath); autoload -Uz compinit; compinit -u -D", "zsh", "-f", "-i")
}

func TestCompletionInFish(t *testing.T) {
	s := newShell(t, "fish")
	var script strings.Builder
	quote := strings.NewReplacer(`\`, `\\`, `'`, `\'`)
	lines := append(traps(), "$HOME/oarlock pre", "~/nosuch/oarlock pre") // what is typed is not always a program
	for _, line := range lines {
		fmt.Fprintf(&script, "complete -C '%s'\n", quote.Replace(line))
	}
	script.WriteString("complete -C 'oarlock job show --js'; echo end\n")
	cmd := exec.Command("fish", "--no-config", "-c", "source ../script; source")
	cmd.Dir, cmd.Env, cmd.Stdin = s.here, s.env, strings.NewReader(script.String())
	out, err := cmd.CombinedOutput()
	if err != nil || strings.Contains(string(out), "Unknown") || !strings.HasSuffix(string(out), "--json\tprint JSON\nend\n") {
		t.Errorf("%v: %s", err, out)
	}
	for _, line := range append(lines, "") {
		if got := s.awaitNote(); !strings.HasPrefix(got, "__complete words ") {
			t.Errorf("%s: oarlock was called with %q", line, got)
		}
	}
	s.onlyCompleted()
}
