package runner

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"oarlock/runner/internal/runnertest"

	"golang.org/x/sys/unix"
)

// nobody is a user without rights.
var nobody = user{UID: runnertest.Nobody, GID: runnertest.Nobody}

// outputOf runs argv in strength group and returns what it printed and its exit.
func outputOf(t *testing.T, s settings, argv ...string) (string, Exit) {
	t.Helper()
	return outputIn(t, KillGroup, s, argv...)
}

func outputIn(t *testing.T, strength KillStrength, s settings, argv ...string) (string, Exit) {
	t.Helper()
	r, err := openReaper()
	if err != nil {
		t.Fatal(err)
	}
	defer r.close()
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	cmd := &exec.Cmd{Path: argv[0], Args: argv, Env: os.Environ(), Dir: s.Dir, Stdout: in, Stderr: in}
	var p process
	err = onThread(func() (err error) {
		p, err = (&trees{reaper: r, oom: &oomCounter{}}).start(cmd, strength, s)
		return err
	})
	in.Close()
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(out)
	if err != nil {
		t.Fatal(err)
	}
	exit := p.wait()
	p.release()
	return string(text), exit
}

// shimmed are the strengths in which a child gets its settings in ways of their own.
var shimmed = []KillStrength{KillGroup, KillGuard}

func TestShimApplies(t *testing.T) {
	umask := 0o027
	dir := t.TempDir()
	os.Chmod(dir, 0o755)
	status := func(field string) []string {
		return []string{"sh", "-c", "grep ^" + field + ": /proc/self/status | cut -f2-"}
	}
	tests := []struct {
		name string
		s    settings
		argv []string
		want string
	}{
		{"umask", settings{Umask: &umask}, []string{"sh", "-c", "umask"}, "0027"},
		{"niceness", settings{Nice: 7}, []string{"nice"}, "7"},
		{"oom score", settings{OOMScoreAdj: 321}, []string{"cat", "/proc/self/oom_score_adj"}, "321"},
		{"no new privileges", settings{NoNewPrivs: true}, status("NoNewPrivs"), "1"},
		{"working directory", settings{NoNewPrivs: true, Dir: dir}, []string{"pwd"}, dir},
		{"open files", settings{Limits: []rlimit{{unix.RLIMIT_NOFILE, 77}}}, []string{"sh", "-c", "ulimit -Sn; ulimit -Hn"}, "77\n77"},
		{"no core", settings{Limits: []rlimit{{unix.RLIMIT_CORE, 0}}}, []string{"sh", "-c", "ulimit -Hc"}, "0"},
		{"signals", settings{NoNewPrivs: true}, status("SigIgn"), "0000000000000000"},
		{"signal mask", settings{NoNewPrivs: true}, status("SigBlk"), "0000000000000000"},
	}
	for _, tt := range tests {
		for _, strength := range shimmed {
			t.Run(fmt.Sprintf("%s/%v", tt.name, strength), func(t *testing.T) {
				got, exit := outputIn(t, strength, tt.s, tt.argv...)
				if strings.TrimSpace(got) != tt.want || exit.Code != 0 {
					t.Errorf("prints %q and exits with %+v, want %q", got, exit, tt.want)
				}
			})
		}
	}
}

// TestShimChangesUser needs root; as somebody else it checks that the refusal says what is the matter.
func TestShimChangesUser(t *testing.T) {
	script := "id -u; id -g; id -G; grep -E '^Cap(Inh|Prm|Eff|Amb):' /proc/self/status | cut -f2 | sort -u"
	got, exit := outputOf(t, settings{User: &nobody, NoNewPrivs: true}, "sh", "-c", script)
	if os.Getuid() != 0 {
		if exit.Code != exitCannotRun || !strings.Contains(got, "only root may change users") {
			t.Errorf("prints %q and exits with %+v", got, exit)
		}
		return
	}
	if want := "65534\n65534\n65534\n0000000000000000\n"; got != want {
		t.Errorf("prints %q and exits with %+v, want %q", got, exit, want)
	}
}

func TestShimRefusesInOneSentence(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	plain := file("plain", "#!/bin/sh\n", 0o644)
	noInterpreter := file("no-interpreter", "#!/no/such/interpreter -x\n", 0o755)
	noFormat := file("no-format", "echo hello\n", 0o755)
	tests := []struct {
		name string
		s    settings
		argv []string
		code int
		says string
	}{
		{"not in PATH", settings{}, []string{"no-such-program"}, exitNotFound, `there is no program "no-such-program" in PATH (`},
		{"no file", settings{}, []string{"./no-such-program"}, exitNotFound, "there is no file ./no-such-program (seen from "},
		{"not executable", settings{}, []string{plain}, exitCannotRun, "is not executable"},
		{"a directory", settings{}, []string{dir}, exitCannotRun, "cannot run"},
		{"no interpreter", settings{}, []string{noInterpreter}, exitCannotRun, `names an interpreter that is not there: "/no/such/interpreter -x"`},
		{"no format", settings{}, []string{noFormat}, exitCannotRun, "nor a script whose first line names its interpreter"},
		{"no working directory", settings{Dir: "/no/such/dir"}, []string{"true"}, exitCannotRun, "enter the working directory: chdir /no/such/dir: no such file"},
		{"nothing to run", settings{}, []string{""}, exitNotFound, "there is no program"},
		{"too long", settings{}, []string{"true", strings.Repeat("x", 127<<10)}, 0, ""},
	}
	for _, tt := range tests {
		for _, strength := range shimmed {
			t.Run(fmt.Sprintf("%s/%v", tt.name, strength), func(t *testing.T) {
				tt.s.NoNewPrivs = true
				got, exit := outputIn(t, strength, tt.s, tt.argv...)
				if exit.Code != tt.code || !strings.Contains(got, tt.says) || strings.Count(got, "\n") != min(1, tt.code) {
					t.Errorf("prints %q and exits with %+v; want %d and %q", got, exit, tt.code, tt.says)
				}
			})
		}
	}
}

func TestShimLimits(t *testing.T) {
	tests := []struct {
		name   string
		limits []rlimit
		script string
		check  func(out string, e Exit) bool
	}{
		{"processor time (B10)", []rlimit{{unix.RLIMIT_CPU, 1}}, "while True: pass",
			func(out string, e Exit) bool {
				return e.Signal == unix.SIGXCPU && (e.UserCPU+e.SystemCPU).Seconds() <= 1.5
			}},
		{"file size", []rlimit{{unix.RLIMIT_FSIZE, 4096}}, "open('f', 'wb', buffering=0).write(b'x' * 8192); open('f', 'ab', buffering=0).write(b'x')",
			func(out string, e Exit) bool { return e.Code == 1 && strings.Contains(out, "File too large") }},
	}
	for _, tt := range tests {
		for _, strength := range shimmed {
			t.Run(fmt.Sprintf("%s/%v", tt.name, strength), func(t *testing.T) {
				out, exit := outputIn(t, strength, settings{Dir: t.TempDir(), Limits: tt.limits}, python(), "-S", "-c", tt.script)
				if !tt.check(out, exit) {
					t.Errorf("prints %q and ends with %+v", out, exit)
				}
			})
		}
	}
}

// TestEnvironmentIsExact: the program sees what it was given and nothing of ours.
func TestEnvironmentIsExact(t *testing.T) {
	for _, strength := range []KillStrength{KillGroup, KillGuard} {
		t.Run(strength.String(), func(t *testing.T) {
			tr := testTrees(t)
			cmd, out, started := command(t, "env")
			want := []string{"PATH=" + os.Getenv("PATH"), "A=1", "B=x=y", "C="}
			cmd.Env = want
			var p process
			err := onThread(func() (err error) {
				p, err = tr.start(cmd, strength, settings{NoNewPrivs: true, OOMScoreAdj: 300})
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			started()
			var got []string
			for out.Scan() {
				got = append(got, out.Text())
			}
			p.wait()
			p.release()
			slices.Sort(want)
			slices.Sort(got)
			if !slices.Equal(got, want) {
				t.Errorf("environment is %q, want %q", got, want)
			}
		})
	}
}

// TestDescriptorsAreExact: 0, 1, 2 and the ones that were meant, at their places (S23). One without
// close-on-exec, as a careless starter of ours might have left behind, stays out.
func TestDescriptorsAreExact(t *testing.T) {
	leak, err := syscall.Open(os.DevNull, syscall.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(leak)
	tr := testTrees(t)
	for _, strength := range strengths(t, tr) {
		t.Run(strength.String(), func(t *testing.T) {
			cmd, out, started := command(t, python(), "-S", "-c", "import os; print(sorted(map(int, os.listdir('/proc/self/fd')))[:-1])")
			status, err := os.Open(os.DevNull)
			if err != nil {
				t.Fatal(err)
			}
			defer status.Close()
			cmd.ExtraFiles = []*os.File{status}
			var p process
			err = onThread(func() (err error) {
				p, err = tr.start(cmd, strength, settings{NoNewPrivs: true})
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			started()
			expect(t, out, "[0, 1, 2, 3]")
			if exit := p.wait(); exit.Code != 0 {
				t.Errorf("exit is %+v", exit)
			}
			p.release()
		})
	}
}

// TestShimEndsWithItsParent: a child whose supervisor died before it asked for a death signal must not
// start at all.
func TestShimEndsWithItsParent(t *testing.T) {
	cmd := &exec.Cmd{Path: "true", Args: []string{"true"}, Env: os.Environ()}
	proof, err := throughShim(cmd, settings{})
	must(t, err)
	last := len(cmd.Env) - 1
	cmd.Env[last] = strings.Replace(cmd.Env[last], `"parent":`+strconv.Itoa(os.Getpid()), `"parent":1`, 1)
	var said bytes.Buffer
	cmd.Stderr = &said
	err = cmd.Run()
	proof.started()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != exitCannotRun || !strings.Contains(said.String(), "the supervisor has gone") {
		t.Errorf("ends with %v and says %q", err, said.String())
	}
	if proof.given() {
		t.Error("the program is said to have begun")
	}
}

// TestProgramIsProvenToHaveBegun: however a process ends, we know whether it was the program's end or
// that of what should have become it.
func TestProgramIsProvenToHaveBegun(t *testing.T) {
	noProgram := filepath.Join(t.TempDir(), "no-program")
	must(t, os.WriteFile(noProgram, []byte("\x7fELF and nothing else"), 0o700))
	tests := []struct {
		name   string
		argv   []string
		shim   []string // what the shim does instead of its work; nil: its work
		proven bool
	}{
		{"exits", []string{"sh", "-c", "exit 0"}, nil, true},
		{"exits with 2", []string{"sh", "-c", "exit 2"}, nil, true},
		{"is killed", []string{"sh", "-c", "kill -ABRT $$"}, nil, true},
		{"is missing", []string{"no-such-program-anywhere"}, nil, false},
		{"is no program", []string{noProgram}, nil, false},
		{"shim dies as Go programs do", []string{"true"}, []string{"sh", "-c", "exit 2"}, false},
		{"shim is killed", []string{"true"}, []string{"sh", "-c", "kill -KILL $$"}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cmd := &exec.Cmd{Path: tt.argv[0], Args: tt.argv, Env: os.Environ()}
			proof, err := throughShim(cmd, settings{})
			must(t, err)
			if tt.shim != nil {
				cmd.Args = tt.shim
				cmd.Path, err = exec.LookPath(tt.shim[0])
				must(t, err)
			}
			must(t, cmd.Start())
			proof.started()
			cmd.Wait()
			if got := proof.given(); got != tt.proven {
				t.Errorf("begun: %v, want %v; %v", got, tt.proven, cmd.ProcessState)
			}
		})
	}
}

func TestHiddenIsForUsAlone(t *testing.T) {
	for _, subcommand := range []string{execCommand, guardCommand} {
		out, err := exec.Command(os.Args[0], subcommand, "true").CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != exitCannotRun || !strings.Contains(string(out), "for the supervisor's own use") {
			t.Errorf("%s: %v, %q", subcommand, err, out)
		}
	}
}

func TestSettingsOf(t *testing.T) {
	core, files := uint64(0), uint64(1024)
	s, err := settingsOf("/x", &Sandbox{User: "root", NoNewPrivs: true, Limits: Limits{Core: &core, NoFile: &files}})
	if err != nil || s.User == nil || *s.User != (user{0, 0}) || len(s.Limits) != 2 || s.Dir != "/x" || s.nothing() {
		t.Errorf("settings are %+v, %v", s, err)
	}
	if s, err := settingsOf("/x", &Sandbox{}); err != nil || !s.nothing() {
		t.Errorf("an empty sandbox asks for %+v, %v", s, err)
	}
	for _, b := range []Sandbox{{User: "no-such-user"}, {Group: "no-such-group"}, {User: "123456"}} {
		if _, err := settingsOf("", &b); err == nil || !strings.Contains(err.Error(), "there is no") {
			t.Errorf("%+v gives %v", b, err)
		}
	}
	if s, err := settingsOf("", &Sandbox{User: "123456", Group: "7"}); err != nil || *s.User != (user{123456, 7}) {
		t.Errorf("numbers give %+v, %v", s.User, err)
	}
	if _, err := json.Marshal(s); err != nil {
		t.Error(err)
	}
}

func TestFindProgramTellsMissingFromForbidden(t *testing.T) {
	for name, want := range map[string]int{"no-such-program": exitNotFound, "./no-such-program": exitNotFound, "/etc/passwd": exitCannotRun} {
		if _, err := findProgram(name); err == nil || startCode(err) != want {
			t.Errorf("%s gives %v, which is exit %d", name, err, startCode(err))
		}
	}
}
