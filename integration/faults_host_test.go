package integration

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// under makes the next supervisors start under a shell command, which ends with exec.
func (r *rig) under(t testing.TB, script string) {
	t.Helper()
	wrapper := filepath.Join(r.dir, "under.sh")
	text := "#!/bin/sh\n" + script + "\nexec " + oarlock(t) + " \"$@\"\n"
	if err := os.WriteFile(wrapper, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	r.binary = wrapper
}

func TestG1DescriptorsExhausted(t *testing.T) {
	row(t, "G1", rigOptions{}, func(t *testing.T, r *rig) {
		r.under(t, "ulimit -n 40")
		r.put(t, 100, work{MS: 5})
		a := r.start(t, "a", pool{children: 20})
		jobs := r.settled(t, 40*time.Second)
		allDone(t, jobs)
		r.uncounted(t, jobs)
		r.note("children", len(pidsOf(r.ledger.all(t))))
		a.stop(t)
		r.check(t, allowed{})
	})
}

func TestG6Overload(t *testing.T) {
	row(t, "G6", rigOptions{lock: 10 * time.Second}, func(t *testing.T, r *rig) {
		r.put(t, 4, work{MS: scaled(12_000, 30_000), Beat: 500})
		a := r.start(t, "a", pool{})
		r.ledger.await(t, 20*time.Second, "4 begun jobs", begun(4))
		var stop atomic.Bool
		done := make(chan struct{})
		for range scaled(1, 4) * runtime.NumCPU() {
			go func() { // ends with stop, and reports on done
				for !stop.Load() {
				}
				done <- struct{}{}
			}()
		}
		jobs := r.settled(t, time.Minute)
		stop.Store(true)
		for range scaled(1, 4) * runtime.NumCPU() {
			<-done
		}
		allDone(t, jobs)
		r.uncounted(t, jobs)
		if n := a.saying("lock lost"); n > 0 {
			t.Errorf("%d locks were lost on a busy machine", n)
		}
		r.check(t, allowed{})
	})
}

func TestG9NoCgroup(t *testing.T) {
	row(t, "G9", rigOptions{}, func(t *testing.T, r *rig) {
		for _, strength := range []string{"guard", "group"} {
			r.put(t, 1, work{MS: 5})
			a := r.startConfig(t, strength, strings.Replace(r.config(t, strength, pool{}),
				"[pools.work.sandbox]", "[pools.work.sandbox]\nkill = \""+strength+"\"", 1))
			a.said(t, 5*time.Second, strength)
			allDone(t, r.settled(t, 10*time.Second))
			a.stop(t)
		}
		r.check(t, allowed{})
	})
}
