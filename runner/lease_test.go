package runner

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"oarlock/internal/nowait"
	"oarlock/runner/internal/proc"
	"oarlock/runner/internal/runnertest"
	"oarlock/runner/internal/tree"
)

// sinceBoot is the clock of leases.
func sinceBoot() time.Duration {
	now, _ := nowait.Clock(unix.CLOCK_BOOTTIME)
	return now
}

// ended tells whether a process has ended, reaped or not.
func ended(pid int) bool {
	return !proc.Alive(pid)
}

// escaping returns how a child of a mode is started that, given its job, lets processes escape and waits,
// and the data of that job.
func escaping(mode Mode, file string) (command []string, data string) {
	script := fmt.Sprintf("exec %s testdata/leaves-escapees.py %s %d wait", python(), file, escapees)
	switch mode {
	case Once:
		return shell(script), `{}`
	case Reuse:
		return shell("read -r job; " + script), `{}`
	}
	return []string{python(), "testdata/preloaded.py"}, fmt.Sprintf(`{"do":"escape","file":%q,"count":%d,"then":"wait"}`, file, escapees)
}

// TestLeaseEndsTheTree holds the lock without which nothing of a child happens in this process, from before
// the lease ends until the child is dead.
func TestLeaseEndsTheTree(t *testing.T) {
	for _, strength := range strengths(t) {
		for _, mode := range []Mode{Once, Reuse, Preload} {
			if testing.Short() && mode == Once && strength != KillGroup {
				continue // to be ended is the same for a child that reads several jobs
			}
			t.Run(fmt.Sprintf("%v/%v", strength, mode), func(t *testing.T) {
				t.Parallel()
				h, w := newHost(t), newWitness()
				file := filepath.Join(t.TempDir(), "pids")
				command, data := escaping(mode, file)
				c := start(t, h, &Spec{Mode: mode, Command: command, Kill: strength}, w)
				r := mustRun(t, c, dataJob("r1", data), RunLimits{Lease: sinceBoot() + time.Hour})
				until(t, "line from the child", func() bool { return w.text("r1") != "" })
				end := sinceBoot() + 200*time.Millisecond
				r.Renew(end)
				c.mu.Lock()
				until(t, "end of the child", func() bool { return ended(c.PID()) })
				if early := end - sinceBoot(); early > 0 {
					t.Errorf("the child ended %v before its lease", early)
				}
				checkLeft(t, strength, file)
				c.mu.Unlock()

				e := await(t, w.endings, "ending")
				exit := await(t, w.exits, "exit")
				if e.Kind != LockLost || e.SentByUs != CauseLockLost || exit.Signal != syscall.SIGKILL || exit.Cause != CauseLockLost {
					t.Errorf("the run ends as %v by %v, its child by %v because of %v", e.Kind, e.SentByUs, exit.Signal, exit.Cause)
				}
			})
		}
	}
}

// TestLeaseOfAChildThatIsBorn ends before Run was called.
func TestLeaseOfAChildThatIsBorn(t *testing.T) {
	for _, strength := range strengths(t) {
		t.Run(strength.String(), func(t *testing.T) {
			h, w := newHost(t), newWitness()
			spec := &Spec{Command: shell("sleep 600"), Kill: strength, Env: []string{"PATH=/usr/bin:/bin"}}
			c, err := h.StartLeased(t.Context(), spec, 1, newJob("r1"), sinceBoot()+50*time.Millisecond, w)
			must(t, err)
			until(t, "end of the child", func() bool { return ended(c.PID()) })
			if e := endOf(t, c, w, newJob("r1"), RunLimits{Lease: sinceBoot() + time.Hour}); e.Kind != LockLost {
				t.Errorf("the run ends as %v", e.Kind)
			}
		})
	}
}

// TestLeaseLetsLive: what was renewed, what has ended, and who has no job lives on when the guard looks at
// the time that it was told before. A run that waits for its turn counts when it has come to it.
func TestLeaseLetsLive(t *testing.T) {
	for _, strength := range strengths(t) {
		t.Run(strength.String(), func(t *testing.T) {
			h, w := newHost(t), newWitness()
			script := `while read -r job; do case $job in *wait*) read -r go < "$FIFO";; *sleep*) sleep 60;; esac; run=${job#*'"run":"'}; echo '{"@":"ack","run":"'${run%%'"'*}'"}'; done`
			fifo := filepath.Join(t.TempDir(), "fifo")
			must(t, unix.Mkfifo(fifo, 0o600))
			c := start(t, h, &Spec{Mode: Reuse, Status: StatusLines, Command: shell(script), Kill: strength, Env: []string{"PATH=/usr/bin:/bin", "FIFO=" + fifo}}, w)
			give := func(run, data string, lease time.Duration) *Run {
				r := mustRun(t, c, dataJob(run, data), RunLimits{Lease: lease})
				return r
			}
			// looks has the guard look, and waits until it has found that nothing ends before at.
			looks := func(at time.Duration) {
				next := tree.Watcher(c.proc, sinceBoot())
				until(t, "look of the guard", func() bool { return next() >= at })
				if ended(c.PID()) {
					t.Fatal("the child is dead")
				}
			}
			give("r1", `{}`, sinceBoot()+time.Hour)
			await(t, w.endings, "first ending")
			looks(sinceBoot() + 10*time.Hour) // which is never

			r := give("r2", `"wait"`, sinceBoot()+time.Hour)
			later := sinceBoot() + 2*time.Hour
			r.Renew(later)
			looks(later)

			soon := sinceBoot() + 100*time.Millisecond
			give("r3", `"sleep"`, soon)
			until(t, "end of the lease of the run that waits", func() bool { return sinceBoot() > soon })
			looks(later)
			must(t, os.WriteFile(fifo, []byte("go\n"), 0)) // as soon as the child reads it
			if e := await(t, w.endings, "ending"); e.Kind != Said {
				t.Errorf("the run at work ends as %v", e.Kind)
			}
			until(t, "end of the child", func() bool { return ended(c.PID()) })
			if e := await(t, w.endings, "ending"); e.Kind != LockLost {
				t.Errorf("the run whose lease had ended ends as %v", e.Kind)
			}
		})
	}
}

// TestLeaseOutlivesItsGuard: who kills a guard that serves many children does not free them.
func TestLeaseOutlivesItsGuard(t *testing.T) {
	for _, strength := range strengths(t) {
		if strength == KillGuard {
			continue // the child dies with its guard
		}
		t.Run(strength.String(), func(t *testing.T) {
			c, w := startOne(t, &Spec{Mode: Reuse, Command: shell("read -r job; exec sleep 600"), Kill: strength})
			r := mustRun(t, c, newJob("r1"), RunLimits{Lease: sinceBoot() + time.Hour})
			for _, pid := range proc.Children(nil, os.Getpid()) {
				if runnertest.IsWarden(pid) {
					syscall.Kill(pid, syscall.SIGKILL)
				}
			}
			r.Renew(sinceBoot() + 10*time.Millisecond)
			if e := await(t, w.endings, "ending"); e.Kind != LockLost {
				t.Errorf("the run ends as %v", e.Kind)
			}
		})
	}
}
