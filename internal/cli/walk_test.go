package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/creack/pty"
	"github.com/urfave/cli/v2"

	"oarlock/internal/must"
	"oarlock/internal/redistest"
)

// walked is a verb of the command line, as an ordinary user comes to it.
type walked struct {
	*cli.Command
	line string // its name, and those of the commands above it
}

// unwalked are the commands that go on until somebody ends them, that measure, or that are no business of an ordinary user.
var unwalked = []string{"demo", "run", "dev", "bench", "bench web", "bench gate", "bench-crew", "top", "web", "try", "torture", "list watch", "events"}

// verbs are all commands that do something and end, whatever there is.
func verbs() (all []walked) {
	var walk func(commands []*cli.Command, above string)
	walk = func(commands []*cli.Command, above string) {
		for _, command := range commands {
			line := strings.TrimSpace(above + " " + command.Name)
			if len(command.Subcommands) == 0 && !slices.Contains(unwalked, line) {
				all = append(all, walked{command, line})
			}
			walk(command.Subcommands, line)
		}
	}
	walk(Program{}.app().Commands, "")
	return all
}

// samples are what an ordinary user writes for a word of a usage.
var samples = map[string]string{
	"QUEUE": "q", "TO": "other", "JID": "j", "ON": "other", "DATA": `{"n":1}`, "JSON": `{"n":1}`, "KLASS": "K", "CORRELATION": "c", "GROUP": "g", "KEY": "k", "LIST": "l",
	"NAME": "n", "THROTTLE": "t", "RULE": "r", "WINDOW": "w", "TAG": "tag", "VALUE": "1", "NUMBER": "1", "PERCENT": "5", "MESSAGE": "text", "REASON": "text", "POOL": "p",
	"CHILDREN": "1", "FILE": "/nowhere/file", "SHELL": "bash", "GLOB": "*", "tracked": "tracked", "COMMAND": "true", "ARGUMENT": "x",
}

// options are those without which a verb is misused, or takes long.
var options = map[string][]string{
	"recur add": {"--every", "1h"}, "recur update": {"--priority", "1"}, "park extend": {"--timeout", "1h"}, "failed retry": {"--all"}, "failed drop": {"--all"},
	"rules explain": {"--queue", "q"}, "list drop": {"--broken"}, "list destroy": {"--yes"}, "queue eta": {"--over", "100ms"}, "init": {"-"},
}

var mayBeLeftOut = regexp.MustCompile(`\[[^][]*\]`)

// words are those that must follow v by its usage, or may, too.
func (v walked) words(t *testing.T, all bool) (words []string) {
	usage, _, _ := strings.Cut(v.ArgsUsage, " | ")
	for !all && mayBeLeftOut.MatchString(usage) {
		usage = mayBeLeftOut.ReplaceAllString(usage, "")
	}
	if all = all && v.line != "init"; !all && strings.HasPrefix(usage, "[") {
		return nil // what is left of alternatives that may be left out
	}
	for _, word := range strings.Fields(strings.NewReplacer("[", " ", "]", " ", "…", " ").Replace(usage)) {
		word, _, _ = strings.Cut(word, "|")
		sample, known := samples[word]
		if !known {
			t.Fatalf("%s: what does an ordinary user write for %s? Say it among samples", v.line, word)
		}
		words = append(words, sample)
	}
	return words
}

// lines are what an ordinary user writes: with as few words as may be and with all, each with --json and --dry-run where there are such.
func (v walked) lines(t *testing.T) (all [][]string) {
	for _, most := range []bool{false, true} {
		plain := slices.Concat(strings.Fields(v.line), v.words(t, most), options[v.line])
		if most && slices.Equal(plain, all[0]) {
			break
		}
		all = append(all, plain)
		for _, option := range []string{"json", "dry-run"} {
			if slices.ContainsFunc(v.Flags, func(f cli.Flag) bool { return slices.Contains(f.Names(), option) }) {
				all = append(all, append(slices.Clone(plain), "--"+option))
			}
		}
	}
	return all
}

// walk writes a line, and checks what holds of all: a failure is one sentence, with what may be done below it.
func (s *script) walk(line []string, out *os.File) (code int, stdout string) {
	s.t.Helper()
	var printed, errs bytes.Buffer
	var to io.Writer = &printed
	if out != nil {
		to = out
	}
	code = s.main(s.t.Context(), strings.NewReader(""), to, &errs, line...)
	first, rest, _ := strings.Cut(strings.TrimSuffix(errs.String(), "\n"), "\n")
	switch {
	case code == exitBug || strings.Contains(errs.String(), "goroutine "):
		s.t.Errorf("%q: %s", line, errs.String())
	case code == exitOK || code == exitPipe || printed.Len() > 0 || out != nil: // what went to out may have said it
	case !strings.HasPrefix(first, "oarlock: ") || len(first) < 20 || strings.HasSuffix(first, " "):
		s.t.Errorf("%q exits with %d and says %q", line, code, errs.String())
	default:
		for hint := range strings.Lines(rest) {
			if !strings.HasPrefix(hint, "  ") || strings.TrimSpace(hint) == "" {
				s.t.Errorf("%q exits with %d and says %q", line, code, errs.String())
			}
		}
	}
	if json.Valid(printed.Bytes()) != (printed.Len() > 0) && slices.Contains(line, "--json") {
		s.t.Errorf("%q prints no JSON: %s", line, printed.String())
	}
	return code, printed.String()
}

// TestWalkWithoutRedis: where no Redis is, each verb says so in time and exits with 75, but for those that ask it nothing, and those that are told
// what they would refuse with a Redis.
func TestWalkWithoutRedis(t *testing.T) {
	others := map[string]int{
		"check": exitConfig, "retry plan": exitGone, "init": exitOK, "unit": exitConfig, "version": exitOK, "completion": exitOK, "lua": exitOK, "web token": exitOK,
		"status": exitFailed, "metrics": exitFailed, "quiet": exitFailed, "resume": exitFailed, "drain": exitFailed, "stop": exitFailed, "reload": exitFailed,
		"scale": exitFailed, "recycle": exitFailed, "job output": exitGone, // none runs, and there is no such job
	}
	s, _ := scriptOn(t, "")
	redis, none := s.env["REDIS_URL"], "redis://127.0.0.1:1"
	s.env["REDIS_URL"] = none
	for _, v := range verbs() {
		want, other := others[v.line]
		switch {
		case strings.HasPrefix(v.line, "say "):
			want = exitData // this is no job
		case !other:
			want = exitTempFail
		}
		for _, line := range v.lines(t) {
			code, _ := s.walk(line, nil)
			want := want
			if code == exitUsage && want == exitTempFail {
				s.env["REDIS_URL"] = redis
				want, _ = s.walk(line, nil)
				s.env["REDIS_URL"] = none
			}
			if code != want {
				t.Errorf("%q exits with %d, want %d", line, code, want)
			}
		}
	}
}

// TestWalkWithoutWords: a verb that must be told something says so, and exits with 64.
func TestWalkWithoutWords(t *testing.T) {
	s := newScript(t, "")
	for _, v := range verbs() {
		if len(v.words(t, false)) == 0 {
			continue
		}
		if code, _ := s.walk(strings.Fields(v.line), nil); code != exitUsage {
			t.Errorf("%q exits with %d", v.line, code)
		}
		if code, _ := s.walk(append(strings.Fields(v.line), "--no-such-option"), nil); code != exitUsage {
			t.Errorf("%q with an option that there is not exits with %d", v.line, code)
		}
	}
}

// TestWalkOfWhatGoesOn: the verbs that go on until somebody ends them, that measure or try, say as the others do that they are misused, or find no Redis.
func TestWalkOfWhatGoesOn(t *testing.T) {
	s := newScript(t, "")
	s.env["REDIS_URL"] = "redis://127.0.0.1:1"
	_, gone, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer gone.Close()
	for _, line := range unwalked {
		for _, more := range []string{"--no-such-option", "--every nonsense --files nonsense --mode nonsense --until-empty=nonsense"} {
			if code, _ := s.walk(append(strings.Fields(line), strings.Fields(more)...), nil); code != exitUsage {
				t.Errorf("%s %s exits with %d", line, more, code)
			}
		}
		if code, _ := s.walk(append(strings.Fields(line), "--help"), nil); code != exitOK {
			t.Errorf("%s --help exits with %d", line, code)
		}
	}
	for line, want := range map[string]int{
		"try": exitUsage, "torture": exitUsage, "list watch": exitUsage, "demo x": exitUsage, "run x": exitUsage, "dev x": exitUsage, "bench x": exitUsage, "web x": exitUsage,
		"top x": exitUsage, "events x": exitUsage, "bench web x": exitUsage, "bench gate x": exitUsage, "top": exitUsage, // which is no terminal
		"demo --files 0": exitUsage, "bench --jobs -1": exitUsage, "bench gate --blocked -1": exitUsage, "bench web --jobs 1": exitUsage, "web --port 99999999": exitUsage,
		"run": exitConfig, "torture no-such-program": exitUsage,
		"events": exitTempFail, "list watch l": exitTempFail, "top --once": exitTempFail,
		"bench --redis redis://127.0.0.1:1": exitTempFail, "bench web --redis redis://127.0.0.1:1": exitTempFail, "bench gate --redis redis://127.0.0.1:1": exitTempFail,
	} {
		for _, out := range []*os.File{nil, gone} {
			if code, _ := s.walk(strings.Fields(line), out); code != want {
				t.Errorf("%s exits with %d, want %d", line, code, want)
			}
		}
	}
}

// TestWalk: each verb among nothing, and among jobs; to a reader that is there, to one that is gone, and to a narrow terminal.
func TestWalk(t *testing.T) {
	s := scriptAt(t, redistest.Start(t).URL, "")
	unread, gone, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer gone.Close()
	unread.Close()
	ours, terminal, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer ours.Close()
	defer terminal.Close()
	must.Do(t, pty.Setsize(ours, &pty.Winsize{Rows: 24, Cols: 40}))
	heard := make(chan error, 1)
	go func() {
		_, err := io.Copy(io.Discard, ours)
		heard <- err
	}()
	fine := []int{exitOK, exitFailed, exitUsage, exitData, exitGone, exitConfig}
	for _, around := range []func(){
		func() {},
		func() {
			for _, line := range [][]string{
				{"put", "q", `{"n":1}`, "--jid", "j", "--key", "k", "--tag", "tag", "--throttle", "t"}, {"put", "q", "--jid", "other", "--delay", "1h"},
				{"recur", "add", "q", "--every", "1h", "--jid", "n"}, {"throttle", "set", "t", "1"}, {"list", "put", "l", "text"}, {"job", "track", "j"},
			} {
				if err := s.oarlock(exitOK, line); err != nil {
					t.Fatalf("%q: %v: %s", line, err, s.said["stderr"])
				}
			}
		},
	} {
		around()
		for _, v := range verbs() {
			for _, line := range v.lines(t) {
				code, printed := s.walk(line, nil)
				if !slices.Contains(fine, code) {
					t.Errorf("%q exits with %d", line, code)
				}
				if code == exitOK && printed == "" {
					t.Errorf("%q prints nothing", line)
				}
				if again, _ := s.walk(line, gone); again != exitPipe && !slices.Contains(fine[1:], again) {
					t.Errorf("%q, read by nobody, exits with %d", line, again)
				}
				if again, _ := s.walk(line, terminal); !slices.Contains(fine, again) {
					t.Errorf("%q, on a terminal, exits with %d", line, again)
				}
			}
		}
	}
	terminal.Close() // what ends a read of ours, which blocks
	if err := <-heard; err != nil && !errors.Is(err, syscall.EIO) {
		t.Error(err)
	}
}
