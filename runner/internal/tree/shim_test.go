package tree

import (
	"bytes"
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

	"oarlock/runner/internal/early"
	"oarlock/runner/internal/runnertest"

	"golang.org/x/sys/unix"
)

// nobody is a user without rights.
var nobody = User{UID: runnertest.Nobody, GID: runnertest.Nobody}

// What the tests of all packages of the runner use.
var (
	must     = runnertest.Must
	until    = runnertest.Until
	python   = runnertest.Python
	running  = runnertest.Running
	escapees = runnertest.Escapees
)

// outputOf runs argv in strength group and returns what it printed and its exit.
func outputOf(t *testing.T, s Settings, argv ...string) (string, Exit) {
	t.Helper()
	return outputIn(t, Group, s, argv...)
}

func outputIn(t *testing.T, strength Strength, s Settings, argv ...string) (string, Exit) {
	t.Helper()
	out, in, err := os.Pipe()
	must(t, err)
	defer out.Close()
	cmd := &exec.Cmd{Path: argv[0], Args: argv, Env: os.Environ(), Dir: s.Dir, Stdout: in, Stderr: in}
	p, err := testTrees(t).Start(cmd, strength, s)
	in.Close()
	must(t, err)
	text, err := io.ReadAll(out)
	must(t, err)
	exit := p.Wait()
	p.Release()
	return string(text), exit
}

// shimmed are the strengths in which a child gets its settings in ways of their own.
var shimmed = []Strength{Group, Guard}

func TestShimApplies(t *testing.T) {
	umask := 0o027
	dir := t.TempDir()
	os.Chmod(dir, 0o755)
	status := func(field string) []string {
		return []string{"sh", "-c", "grep ^" + field + ": /proc/self/status | cut -f2-"}
	}
	tests := []struct {
		name string
		s    Settings
		argv []string
		want string
	}{
		{"umask", Settings{Umask: &umask}, []string{"sh", "-c", "umask"}, "0027"},
		{"niceness", Settings{Nice: 7}, []string{"nice"}, "7"},
		{"oom score", Settings{OOMScoreAdj: 321}, []string{"cat", "/proc/self/oom_score_adj"}, "321"},
		{"no new privileges", Settings{NoNewPrivs: true}, status("NoNewPrivs"), "1"},
		{"working directory", Settings{NoNewPrivs: true, Dir: dir}, []string{"pwd"}, dir},
		{"open files", Settings{Limits: []Rlimit{{unix.RLIMIT_NOFILE, 77}}}, []string{"sh", "-c", "ulimit -Sn; ulimit -Hn"}, "77\n77"},
		{"no core", Settings{Limits: []Rlimit{{unix.RLIMIT_CORE, 0}}}, []string{"sh", "-c", "ulimit -Hc"}, "0"},
		{"signals", Settings{NoNewPrivs: true}, status("SigIgn"), "0000000000000000"},
		{"signal mask", Settings{NoNewPrivs: true}, status("SigBlk"), "0000000000000000"},
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
	got, exit := outputOf(t, Settings{User: &nobody, NoNewPrivs: true}, "sh", "-c", script)
	if os.Getuid() != 0 {
		if exit.Code != ExitCannotRun || !strings.Contains(got, "only root may change users") {
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
		must(t, os.WriteFile(path, []byte(text), mode))
		return path
	}
	plain := file("plain", "#!/bin/sh\n", 0o644)
	noInterpreter := file("no-interpreter", "#!/no/such/interpreter -x\n", 0o755)
	ofWindows := file("of-windows", "#!/bin/sh\r\necho hello\r\n", 0o755)
	noFormat := file("no-format", "echo hello\n", 0o755)
	tests := []struct {
		name string
		s    Settings
		argv []string
		code int
		says string
	}{
		{"not in PATH", Settings{}, []string{"no-such-program"}, ExitNotFound, `there is no program "no-such-program" in PATH (`},
		{"no file", Settings{}, []string{"./no-such-program"}, ExitNotFound, "there is no file ./no-such-program (seen from "},
		{"not executable", Settings{}, []string{plain}, ExitCannotRun, "is not executable"},
		{"a directory", Settings{}, []string{dir}, ExitCannotRun, "cannot run"},
		{"no interpreter", Settings{}, []string{noInterpreter}, ExitCannotRun, `names an interpreter that is not there: "/no/such/interpreter -x"`},
		{"lines of Windows", Settings{}, []string{ofWindows}, ExitCannotRun, `its lines end as those of Windows do, and the kernel takes that for a part of what the first line names: sed -i 's/\r$//' ` + ofWindows},
		{"no format", Settings{}, []string{noFormat}, ExitCannotRun, "nor a script whose first line names its interpreter"},
		{"no working directory", Settings{Dir: "/no/such/dir"}, []string{"true"}, ExitCannotRun, "enter the working directory: chdir /no/such/dir: no such file"},
		{"nothing to run", Settings{}, []string{""}, ExitNotFound, "there is no program"},
		{"too long", Settings{}, []string{"true", strings.Repeat("x", 127<<10)}, 0, ""},
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
		limits []Rlimit
		script string
		check  func(out string, e Exit) bool
	}{
		{"processor time (B10)", []Rlimit{{unix.RLIMIT_CPU, 1}}, "while True: pass",
			func(out string, e Exit) bool {
				return e.Signal == unix.SIGXCPU && (e.UserCPU+e.SystemCPU).Seconds() <= 1.5
			}},
		{"file size", []Rlimit{{unix.RLIMIT_FSIZE, 4096}}, "open('f', 'wb', buffering=0).write(b'x' * 8192); open('f', 'ab', buffering=0).write(b'x')",
			func(out string, e Exit) bool { return e.Code == 1 && strings.Contains(out, "File too large") }},
	}
	for _, tt := range tests {
		for _, strength := range shimmed {
			if testing.Short() && strength == Group {
				continue // limits are set in the same way
			}
			t.Run(fmt.Sprintf("%s/%v", tt.name, strength), func(t *testing.T) {
				out, exit := outputIn(t, strength, Settings{Dir: t.TempDir(), Limits: tt.limits}, python(), "-S", "-c", tt.script)
				if !tt.check(out, exit) {
					t.Errorf("prints %q and ends with %+v", out, exit)
				}
			})
		}
	}
}

// TestEnvironmentIsExact: the program sees what it was given and nothing of ours.
func TestEnvironmentIsExact(t *testing.T) {
	for _, strength := range []Strength{Group, Guard} {
		t.Run(strength.String(), func(t *testing.T) {
			tr := testTrees(t)
			cmd, out, started := command(t, "env")
			want := []string{"PATH=" + os.Getenv("PATH"), "A=1", "B=x=y", "C="}
			cmd.Env = want
			p, err := tr.Start(cmd, strength, Settings{NoNewPrivs: true, OOMScoreAdj: 300})
			must(t, err)
			started()
			var got []string
			for out.Scan() {
				got = append(got, out.Text())
			}
			p.Wait()
			p.Release()
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
	must(t, err)
	defer syscall.Close(leak)
	tr := testTrees(t)
	for _, strength := range strengths(t, tr) {
		t.Run(strength.String(), func(t *testing.T) {
			cmd, out, started := command(t, python(), "-S", "-c", "import os; print(sorted(map(int, os.listdir('/proc/self/fd')))[:-1])")
			status, err := os.Open(os.DevNull)
			must(t, err)
			defer status.Close()
			cmd.ExtraFiles = []*os.File{status}
			p, err := tr.Start(cmd, strength, Settings{NoNewPrivs: true})
			must(t, err)
			started()
			expect(t, out, "[0, 1, 2, 3]")
			if exit := p.Wait(); exit.Code != 0 {
				t.Errorf("exit is %+v", exit)
			}
			p.Release()
		})
	}
}

// TestShimEndsWithItsParent: a child whose supervisor died before it asked for a death signal must not
// start at all.
func TestShimEndsWithItsParent(t *testing.T) {
	cmd := &exec.Cmd{Path: "true", Args: []string{"true"}, Env: os.Environ()}
	proof, err := throughShim(cmd, Settings{})
	must(t, err)
	for i, entry := range cmd.Env {
		entry = strings.Replace(entry, `"parent":`+strconv.Itoa(os.Getpid()), `"parent":1`, 1)
		cmd.Env[i] = strings.Replace(entry, early.Env+"="+strconv.Itoa(os.Getpid())+" ", early.Env+"=1 ", 1)
	}
	var said bytes.Buffer
	cmd.Stderr = &said
	err = cmd.Run()
	proof.started()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != ExitCannotRun || !strings.Contains(said.String(), "the supervisor has gone") {
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
			proof, err := throughShim(cmd, Settings{})
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
		if !errors.As(err, &exit) || exit.ExitCode() != ExitCannotRun || !strings.Contains(string(out), "for the supervisor's own use") {
			t.Errorf("%s: %v, %q", subcommand, err, out)
		}
	}
}

func TestFindProgramTellsMissingFromForbidden(t *testing.T) {
	for name, want := range map[string]int{"no-such-program": ExitNotFound, "./no-such-program": ExitNotFound, "/etc/passwd": ExitCannotRun} {
		if _, err := findProgram(name); err == nil || startCode(err) != want {
			t.Errorf("%s gives %v, which is exit %d", name, err, startCode(err))
		}
	}
}
