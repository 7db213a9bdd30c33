package integration

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// supervisor is the program under test, `oarlock run`, as a process.
type supervisor struct {
	name   string
	config string // path of its configuration
	cmd    *exec.Cmd
	gone   chan struct{} // closed when it was reaped
	rig    *rig

	out *os.File // our end of its stdout and stderr

	mu   sync.Mutex
	log  []string
	more chan struct{} // closed and replaced when log grows
}

// start runs a supervisor with one pool.
func (r *rig) start(t testing.TB, name string, p pool) *supervisor {
	t.Helper()
	return r.startConfig(t, name, r.config(t, name, p))
}

// begins runs supervisor a and returns when so many jobs have begun.
func (r *rig) begins(t testing.TB, p pool, jobs int) *supervisor {
	t.Helper()
	a := r.start(t, "a", p)
	r.ledger.await(t, fmt.Sprintf("%d begun jobs", jobs), begun(jobs))
	return a
}

// startConfig runs a supervisor with the configuration given as text. Its state
// directory stays if one of that name ran before.
func (r *rig) startConfig(t testing.TB, name, config string) *supervisor {
	t.Helper()
	s := &supervisor{
		name: name, config: filepath.Join(r.stateDir(name)+".d", "oarlock.toml"), rig: r,
		gone: make(chan struct{}), more: make(chan struct{}),
	}
	must(t, os.MkdirAll(r.stateDir(name), 0o700))
	must(t, os.MkdirAll(filepath.Dir(s.config), 0o755))
	s.write(t, config)
	s.cmd = exec.Command(r.binary, "run", "-c", s.config)
	s.cmd.Env = append(os.Environ(), r.mark, "NO_COLOR=1")
	s.cmd.Dir = r.dir
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	ours, theirs, err := os.Pipe()
	must(t, err)
	s.cmd.Stdout, s.cmd.Stderr = theirs, theirs
	if r.logFile != "" {
		log := got(os.OpenFile(r.logFile, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600))(t)
		defer log.Close()
		s.cmd.Stdout, s.cmd.Stderr = log, log
	}
	must(t, s.cmd.Start())
	theirs.Close()
	s.out = ours
	must(t, os.WriteFile(r.pidFile(name), fmt.Append(nil, s.pid()), 0o644))
	go func() { // end, or the supervisor's own end, is waited for through gone
		s.read()
		s.cmd.Wait()
		close(s.gone)
	}()
	stop := watchZombies(t, s.pid())
	t.Cleanup(func() {
		s.end()
		stop()
		// A child or a guard to whom the system refuses a thread ends like this, which is no fault of ours.
		text := strings.ReplaceAll(s.text(), "fatal error: newosproc", "")
		if strings.Contains(text, "DATA RACE") || strings.Contains(text, "panic: ") || strings.Contains(text, "fatal error: ") {
			t.Errorf("supervisor %s broke:\n%s", name, s.tail())
		}
	})
	r.supervisors = append(r.supervisors, s)
	return s
}

func (s *supervisor) pid() int { return s.cmd.Process.Pid }

// write replaces the configuration by rename.
func (s *supervisor) write(t testing.TB, config string) {
	t.Helper()
	must(t, os.WriteFile(s.config+".new", []byte(config), 0o644))
	must(t, os.Rename(s.config+".new", s.config))
}

// read collects the log until the last writer has closed it.
func (s *supervisor) read() {
	defer s.out.Close()
	lines := bufio.NewReader(s.out)
	for {
		line, err := lines.ReadString('\n')
		if line != "" {
			s.mu.Lock()
			s.log = append(s.log, strings.TrimSuffix(line, "\n"))
			close(s.more)
			s.more = make(chan struct{})
			s.mu.Unlock()
		}
		if err != nil {
			return
		}
	}
}

// hangUp ends our reading of the log, as a log daemon does that is restarted.
func (s *supervisor) hangUp() {
	s.rig.speechless = true
	s.out.Close()
}

// lines returns the log as it is now, and a channel that is closed when there is more.
func (s *supervisor) lines() ([]string, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log[:len(s.log):len(s.log)], s.more
}

func (s *supervisor) text() string {
	lines, _ := s.lines()
	return strings.Join(lines, "\n")
}

// tail is as much of the log as a failing test shows.
func (s *supervisor) tail() string {
	lines, _ := s.lines()
	if skip := len(lines) - 80; skip > 0 {
		lines = append([]string{fmt.Sprintf("(%d lines before)", skip)}, lines[skip:]...)
	}
	return strings.Join(lines, "\n")
}

// about are the lines of the log that name a job.
func (s *supervisor) about(jid string) string {
	lines, _ := s.lines()
	return strings.Join(slices.DeleteFunc(slices.Clone(lines), func(line string) bool { return !strings.Contains(line, jid) }), "\n")
}

// said waits for a line of the log that holds all the words, and returns it.
func (s *supervisor) said(t testing.TB, words ...string) string {
	t.Helper()
	late := time.After(patience)
	for seen := 0; ; {
		lines, more := s.lines()
		for ; seen < len(lines); seen++ {
			if containsAll(lines[seen], words) {
				return lines[seen]
			}
		}
		select {
		case <-more:
		case <-s.gone:
			if now, _ := s.lines(); len(now) == seen {
				t.Fatalf("supervisor %s ended without saying %q", s.name, words)
			}
		case <-late:
			t.Fatalf("supervisor %s did not say %q within %v", s.name, words, patience)
		}
	}
}

// saying counts the lines of the log that hold all the words.
func (s *supervisor) saying(words ...string) (n int) {
	lines, _ := s.lines()
	for _, line := range lines {
		if containsAll(line, words) {
			n++
		}
	}
	return n
}

// neverSaid fails the test if a line of the log holds all the words, and saidOnce unless one does.
func (s *supervisor) neverSaid(t testing.TB, words ...string) {
	t.Helper()
	if n := s.saying(words...); n > 0 {
		t.Errorf("the log of supervisor %s says %q %d times", s.name, words, n)
	}
}

func (s *supervisor) saidOnce(t testing.TB, words ...string) {
	t.Helper()
	if n := s.saying(words...); n != 1 {
		t.Errorf("the log of supervisor %s says %q %d times, want once", s.name, words, n)
	}
}

func containsAll(line string, words []string) bool {
	for _, word := range words {
		if !strings.Contains(line, word) {
			return false
		}
	}
	return true
}

func (s *supervisor) signal(t testing.TB, sig syscall.Signal) {
	t.Helper()
	if sig == syscall.SIGKILL || sig == syscall.SIGABRT {
		s.rig.killed[s.pid()] = math.Inf(1) // until it is gone
	}
	if err := s.cmd.Process.Signal(sig); err != nil {
		t.Fatalf("supervisor %s: %v", s.name, err)
	}
}

// kill ends the supervisor itself, and nothing else, with SIGKILL.
func (s *supervisor) kill(t testing.TB) {
	t.Helper()
	s.signal(t, syscall.SIGKILL)
	s.died(t)
}

// died waits until the supervisor has ended. Its children may live on.
func (s *supervisor) died(t testing.TB) {
	t.Helper()
	within(t, time.Second, func() error {
		if p, ok := readProcess(s.pid()); ok && p.state != 'Z' {
			return fmt.Errorf("supervisor %s is still there: %v", s.name, p)
		}
		return nil
	})
	s.rig.killed[s.pid()] = now()
}

// exit waits for the end of the supervisor and all who write to its log, and
// returns its exit code.
func (s *supervisor) exit(t testing.TB) int {
	t.Helper()
	select {
	case <-s.gone:
	case <-time.After(patience):
		t.Fatalf("supervisor %s has not ended after %v; left are %v", s.name, patience, marked(s.rig.mark))
	}
	return s.cmd.ProcessState.ExitCode()
}

// stop drains the supervisor and expects it to leave in order.
func (s *supervisor) stop(t testing.TB) {
	t.Helper()
	s.signal(t, syscall.SIGTERM)
	if code := s.exit(t); code != 0 {
		t.Errorf("supervisor %s ended with exit code %d after SIGTERM (%v)", s.name, code, s.cmd.ProcessState)
	}
	s.leftNothing(t)
	// I11, for this life and those before it.
	await(t, func() error {
		left, err := filepath.Glob(filepath.Join(s.rig.stateDir(s.name), "private", "*", "*"))
		if err == nil && len(left) > 0 {
			err = fmt.Errorf("I11: private directories are left: %v", left)
		}
		return err
	})
}

// leftNothing is invariant I6: no process that the supervisor started is alive.
func (s *supervisor) leftNothing(t testing.TB) {
	t.Helper()
	within(t, time.Second, func() error {
		others := make(map[int]bool)
		for _, other := range s.rig.supervisors {
			if _, alive := readProcess(other.pid()); alive && other != s {
				return nil // its children bear the same mark; the last one to leave is asked
			}
			others[other.pid()] = true
		}
		var left []process
		for _, p := range marked(s.rig.mark) {
			if !others[p.pid] {
				left = append(left, p)
			}
		}
		if len(left) > 0 {
			return fmt.Errorf("I6: supervisor %s left %v", s.name, left)
		}
		return nil
	})
}

// named counts the rig's processes with that name.
func (s *supervisor) named(name string) (n int) {
	for _, p := range marked(s.rig.mark) {
		if p.name == name {
			n++
		}
	}
	return n
}

// leftNone waits until no process of that name is left.
func (s *supervisor) leftNone(t testing.TB, name string) {
	t.Helper()
	within(t, time.Second, func() error {
		if left := s.named(name); left > 0 {
			return fmt.Errorf("%d processes %q are left", left, name)
		}
		return nil
	})
}

// end makes sure that the supervisor is gone, for the end of a test.
func (s *supervisor) end() {
	select {
	case <-s.gone:
		return
	default:
	}
	s.cmd.Process.Signal(syscall.SIGKILL)
	for _, p := range marked(s.rig.mark) {
		syscall.Kill(p.pid, syscall.SIGKILL)
	}
	<-s.gone
}

// status is what `oarlock status --json` tells, to the user that the supervisor runs as.
func (s *supervisor) status(t testing.TB) map[string]any {
	t.Helper()
	var out, words bytes.Buffer
	ask := exec.Command(s.cmd.Path, "status", "--json", "-c", s.config)
	ask.Stdout, ask.Stderr = &out, &words
	if err := ask.Run(); err != nil {
		t.Fatalf("status: %v\n%s", err, words.String())
	}
	var snapshot map[string]any
	if err := json.Unmarshal(out.Bytes(), &snapshot); err != nil {
		t.Fatalf("status: %v\n%s", err, out.String())
	}
	return snapshot
}
