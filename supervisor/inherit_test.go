package supervisor

import (
	"bytes"
	"log/slog"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"oarlock/queue"
	"oarlock/runner"
	"oarlock/supervisor/internal/statedir"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// sleeper starts a process group of its own, with env in its environment.
func sleeper(t *testing.T, env ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("sleep", "60")
	cmd.Env = append([]string{"PATH=/usr/bin:/bin"}, env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	must(t, cmd.Start())
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	return cmd
}

const childMark = "OARLOCK_PROTOCOL=1"

func TestJobsOfADeadSupervisorGoBackAtOnce(t *testing.T) {
	w := newWorld(t)
	dir := t.TempDir()
	w.put(3, `{}`)
	must(t, w.client.Set(t.Context(), "heartbeat", "600")) // nothing ends by itself while the test waits
	// A supervisor that took two jobs and was killed, as its successor finds it.
	l, err := statedir.Begin(dir)
	must(t, err)
	must(t, l.Write([]statedir.Workers{{Name: "dead", Queues: []string{"q"}, MaxCrashes: 3}}))
	session := w.client.Session("dead")
	must(t, errOf(session.Exchange(t.Context(), nil, queue.Take{Queues: []string{"q"}, Count: 2})))
	session.Close()
	l.Close()

	w.run(Config{StateDir: dir, Pools: []Pool{w.pool(runner.Reuse, "loop.py", 2)}})
	w.await(3, "complete")
	redis := w.client.Redis()
	for _, jid := range []string{"j0", "j1"} {
		got, err := redis.HMGet(t.Context(), "ql:j:"+jid, "remaining").Result()
		if err != nil || got[0] != "5" {
			t.Errorf("%s has %v remaining, %v; want 5", jid, got[0], err)
		}
	}
}

// Where a child may live on, and nothing proves it, none of the jobs is given back: they wait
// for their locks.
func TestJobsWaitForTheirLocksWhereAChildMayLive(t *testing.T) {
	for _, proven := range []bool{true, false} {
		var mark []string
		if proven {
			mark = []string{childMark}
		}
		left := sleeper(t, mark...)
		synctest.Test(t, func(t *testing.T) {
			w := newFakeWorld(t)
			var log bytes.Buffer
			w.cfg.Logger = slog.New(slog.NewTextHandler(&log, nil))
			w.cfg.StateDir = t.TempDir()
			w.redis.put(1)
			j := w.redis.jobs["j0"]
			j.pop("dead", 0, time.Hour)
			j.Expires = w.redis.Now() + 3600
			w.redis.order = nil
			l, err := statedir.Begin(w.cfg.StateDir)
			must(t, err)
			must(t, l.Write([]statedir.Workers{{Name: "dead", Queues: []string{"q"}, MaxCrashes: 3}}))
			_, err = l.Enter(left.Process.Pid, left.Process.Pid)
			must(t, err)
			l.Close()
			w.host.work = lasting(time.Hour)
			w.run()
			w.s.Quiet()
			time.Sleep(10 * time.Second)
			if back := w.redis.job("j0").Deaths == 1; back != proven || runner.Alive(left.Process.Pid) == proven {
				t.Errorf("proven %t: given back %t, alive %t", proven, back, runner.Alive(left.Process.Pid))
			}
			w.end()
			if said := strings.Contains(log.String(), "nothing proves it"); said == proven {
				t.Errorf("proven %t, and the log says\n%s", proven, &log)
			}
		})
	}
}
