package runner

import (
	"os"
	"os/exec"
	"strconv"
	"sync"
	"testing"
	"time"

	"oarlock/runner/internal/proc"
	"oarlock/runner/internal/runnertest"
)

// TestReaperNeverStealsAStatus is row B16: while the orphans of many jobs are reaped, each job's own
// status arrives, and so do those of children that the reaper has never heard of.
func TestReaperNeverStealsAStatus(t *testing.T) {
	h := newHost(t)
	stop := make(chan struct{})
	var watch sync.WaitGroup
	watch.Go(func() { // I7: no zombie is older than two seconds
		since := map[int]time.Time{}
		for {
			select {
			case <-stop:
				return
			case <-time.After(100 * time.Millisecond):
			}
			zombies := map[int]time.Time{}
			for _, pid := range proc.Children(nil, os.Getpid()) {
				if s, ok := proc.Read(pid); ok && s.State == 'Z' {
					if zombies[pid] = since[pid]; zombies[pid].IsZero() {
						zombies[pid] = time.Now()
					}
					if age := time.Since(zombies[pid]); age > 2*time.Second {
						t.Errorf("zombie %d is %v old", pid, age)
						delete(zombies, pid)
					}
				}
			}
			since = zombies
		}
	})
	const atOnce = 4
	jobs := scaled(100, 1000)
	var lost, foreign sync.Map
	var workers sync.WaitGroup
	for worker := range atOnce {
		workers.Go(func() {
			for i := worker; i < jobs; i += atOnce {
				code := i % 50
				e, _ := runOnce(t, h, &Spec{Mode: Once, Status: StatusExit, Command: fixture("leaves-orphans.sh", strconv.Itoa(code))}, RunLimits{})
				if e.ExitCode != code {
					lost.Store(i, e)
				}
				if i%20 == 0 {
					err := exec.Command("/bin/sh", "-c", "exit 7").Run()
					if exit, ok := err.(*exec.ExitError); !ok || exit.ExitCode() != 7 {
						foreign.Store(i, err)
					}
				}
			}
		})
	}
	workers.Wait()
	until(t, "end of the orphans", func() bool {
		for _, pid := range proc.Children(nil, os.Getpid()) {
			if !runnertest.IsWarden(pid) {
				return false
			}
		}
		return true
	})
	close(stop)
	watch.Wait()
	count := func(m *sync.Map) (n int) {
		m.Range(func(k, v any) bool { n++; t.Logf("job %v: %+v", k, v); return true })
		return n
	}
	t.Logf("B16 %d jobs: %d statuses lost, %d of children unknown to the reaper", jobs, count(&lost), count(&foreign))
	if count(&lost)+count(&foreign) > 0 {
		t.Error("statuses are lost")
	}
}
