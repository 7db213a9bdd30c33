package supervisor

import (
	"fmt"
	"testing"
	"time"

	"oarlock/protocol"
	"oarlock/runner"
)

// Jobs that were taken ahead do not wait behind a long one while other children have
// nothing to do, and none is begun twice.
func TestWhatWaitsBehindALongJobGoesToIdleChildren(t *testing.T) {
	for _, prefetch := range []int{1, 4, 16} {
		runFaked(t, fmt.Sprint(prefetch), func(t *testing.T, w *fakeWorld) {
			w.cfg.Pools[0].Children, w.cfg.Pools[0].Prefetch = 3, prefetch
			w.host.work = func(job *protocol.Job, _ <-chan runner.Cause) *runner.Ending {
				if job.JID == "j0" || job.JID == "j7" {
					time.Sleep(6 * time.Second)
				} else {
					time.Sleep(10 * time.Millisecond)
				}
				return said(protocol.Ack)
			}
			w.runFor(time.Second, 0)
			w.redis.put(40)
			w.after(time.Second, "complete", 38)
			w.after(6*time.Second, "complete", 40)
			for i := range 40 {
				same(t, w.host.begun(fmt.Sprintf("j%d", i)), 1, "j%d was begun %d times", i)
			}
		})
	}
}

// What was taken ahead is given back untouched as soon as the pool drains, and at
// most what is at work is finished.
func TestADrainGivesBackWhatWaitsBehindAnother(t *testing.T) {
	faked(t, func(t *testing.T, w *fakeWorld) {
		w.cfg.Pools[0].Prefetch = 4
		w.host.work = lasting(3 * time.Second)
		w.runFor(time.Second, 10)
		w.s.Drain()
		began := time.Now()
		w.wait()
		if took := time.Since(began); took > 3*time.Second {
			t.Errorf("the drain took %v, with jobs of 3s", took)
		}
		w.want("complete", 2)
		w.want("waiting", 8)
		for i := range 10 {
			if j := w.redis.job(fmt.Sprintf("j%d", i)); j.Remaining != 5 || j.Interruptions+j.Crashes != 0 {
				t.Errorf("j%d paid for the drain: %+v", i, j)
			}
		}
	})
}

// A snapshot tells what a child is at work on, and since when, from what is kept ready for it.
func TestASnapshotTellsWhatIsKeptReady(t *testing.T) {
	faked(t, func(t *testing.T, w *fakeWorld) {
		w.cfg.Pools[0].Children, w.cfg.Pools[0].Prefetch = 1, 4
		w.host.work = lasting(10 * time.Second)
		w.runFor(13*time.Second, 3)
		slot := w.s.Snapshot().Pools[0].Slots[0]
		if slot.AtWork() != 1 || slot.Kept() != 1 || len(slot.Runs) != 2 || slot.Runs[0].Kept || !slot.Runs[1].Kept {
			t.Fatalf("it tells of %+v", slot.Runs)
		}
		first, kept := slot.Runs[0], slot.Runs[1]
		if first.Age > 4 || kept.Age < 12 {
			t.Errorf("the second job has been at work for %vs, and the third has been ready for %vs", first.Age, kept.Age)
		}
		w.s.Drain()
		w.wait()
	})
}

// A job that was cancelled while it waited behind another costs that one nothing.
func TestCancelledBehindAnother(t *testing.T) {
	faked(t, func(t *testing.T, w *fakeWorld) {
		w.cfg.Pools[0].Children, w.cfg.Pools[0].Prefetch = 1, 4
		w.host.work = lasting(50 * time.Second)
		w.runFor(time.Second, 3)
		w.redis.steal("j1", "somebody else")
		time.Sleep(55 * time.Second) // the other one's lock holds for longer
		for jid, want := range map[string]int{"j0": 1, "j1": 0, "j2": 1} {
			same(t, w.host.begun(jid), want, "%s was begun %d times", jid)
		}
		same(t, w.host.starts(), 1, "%d children were started")
		w.after(2*time.Minute, "complete", 3)
	})
}

// Children that die, jobs that are cancelled, drains: whatever happens to children that
// have jobs waiting behind others, each job is completed, and never by two at once.
func TestSharingLosesNothing(t *testing.T) {
	faked(t, func(t *testing.T, w *fakeWorld) {
		w.cfg.Pools[0].Children, w.cfg.Pools[0].Prefetch = 4, 8
		w.cfg.Pools[0].MaxJobs, w.cfg.Pools[0].MaxCrashes = 20, 100
		n := 0
		w.host.work = func(job *protocol.Job, _ <-chan runner.Cause) *runner.Ending {
			w.host.mu.Lock()
			n++
			i := n
			w.host.mu.Unlock()
			time.Sleep(time.Duration(i%7*i%11+1) * 3 * time.Millisecond)
			if i%17 == 0 {
				time.Sleep(time.Second)
				return &runner.Ending{Kind: runner.Died, ExitCode: -1, Group: "signal-KILL"}
			}
			return said(protocol.Ack)
		}
		w.run()
		for range 20 {
			w.putFor(200*time.Millisecond, 50)
		}
		w.after(20*time.Minute, "complete", 1000)
		paid := 0
		for i := range 1000 {
			if w.redis.job(fmt.Sprintf("j%d", i)).Remaining != 5 {
				paid++
			}
		}
		if paid > 0 {
			t.Errorf("%d jobs paid with a retry", paid)
		}
	})
}
