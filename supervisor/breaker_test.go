package supervisor

import (
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"oarlock/protocol"
	"oarlock/runner"
)

func TestBreakerOpensAfterManyFailuresOfSeveralJobs(t *testing.T) {
	tests := []struct {
		name     string
		endings  int
		jobs     int
		wantOpen bool
	}{
		{"too few endings", breakerEndings - 1, breakerJobs, false},
		{"too few jobs", 10 * breakerEndings, breakerJobs - 1, false},
		{"enough of both", breakerEndings, breakerJobs, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBreaker()
			for i := range tt.endings {
				b.failed(fmt.Sprint(i%tt.jobs), "died", 0)
			}
			if open := b.reason != ""; open != tt.wantOpen {
				t.Errorf("open = %v, want %v", open, tt.wantOpen)
			}
		})
	}
}

func TestAnAckBetweenFailuresKeepsTheBreakerClosed(t *testing.T) {
	b := newBreaker()
	for i := range 10 * breakerEndings {
		if i%(breakerEndings-1) == 0 {
			b.acked()
		}
		if b.failed(fmt.Sprint(i), "died", 0) {
			t.Fatalf("open after ending %d", i)
		}
	}
}

func TestAnOpenBreakerProbesWithSingleJobs(t *testing.T) {
	b := newBreaker()
	b.open("died", 0)
	if n := b.allows(10, 0); n != 0 {
		t.Errorf("%d jobs allowed at once", n)
	}
	now := b.until
	if n := b.allows(10, now); n != 1 {
		t.Errorf("%d jobs allowed when a probe is due, want 1", n)
	}
	b.probing()
	if n := b.allows(10, now); n != 0 {
		t.Errorf("%d jobs allowed while a probe is out", n)
	}
	b.failed("j", "died", now)
	if b.until <= now {
		t.Error("no wait after a probe that failed")
	}
	now = b.until
	b.probing()
	if !b.acked() {
		t.Error("an ack did not close it")
	}
	if n := b.allows(10, now); n != 10 {
		t.Errorf("%d jobs allowed when closed, want 10", n)
	}
}

func TestABrokenPoolBurnsNoQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFakeWorld(t)
		var sick atomic.Bool
		sick.Store(true)
		w.host.work = func(*protocol.Job, <-chan runner.Cause) *runner.Ending {
			time.Sleep(10 * time.Millisecond)
			if sick.Load() {
				return said(protocol.Fail)
			}
			return said(protocol.Ack)
		}
		w.redis.put(1000)
		w.run()
		time.Sleep(10 * time.Minute)
		if n := w.redis.states()["failed"]; n < breakerEndings || n > 60 {
			t.Errorf("%d jobs failed in 10 minutes, want %d and some probes", n, breakerEndings)
		}
		if s := w.s.Snapshot().Pools[0]; s.Breaker == "" {
			t.Error("the snapshot does not say that the breaker is open")
		}
		sick.Store(false)
		time.Sleep(2 * time.Minute)
		if n := w.redis.states()["waiting"]; n != 0 {
			t.Errorf("%d jobs still wait after the pool is well again", n)
		}
		w.end()
	})
}

func TestChildrenThatDoNotStartTakeNoJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFakeWorld(t)
		w.cfg.Pools[0].Children = 1
		w.host.boot = func(*runner.Spec) error {
			time.Sleep(10 * time.Millisecond)
			return errBoot
		}
		w.redis.put(3)
		w.run()
		time.Sleep(time.Minute)
		if n := w.host.starts(); n > 15 {
			t.Errorf("%d starts in a minute", n)
		}
		w.want("waiting", 3)
		if s := w.s.Snapshot().Pools[0]; s.Breaker == "" {
			t.Error("the breaker is closed")
		}
		w.host.boots(nil)
		time.Sleep(100 * time.Second) // the longest wait of a start and of a probe
		w.want("complete", 3)
		w.end()
	})
}

func TestFreshChildrenThatDoNotStartBurnNoJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFakeWorld(t)
		w.cfg.Pools[0].Child.Mode = runner.Once
		w.host.boot = func(*runner.Spec) error { return errBoot }
		w.redis.put(5)
		w.run()
		time.Sleep(10 * time.Second)
		w.host.boots(nil)
		time.Sleep(2 * time.Minute)
		w.want("complete", 5)
		for i := range 5 {
			if j := w.redis.job(fmt.Sprintf("j%d", i)); j.Remaining != 5 {
				t.Errorf("%s has %d remaining, want 5", j.JID, j.Remaining)
			}
		}
		w.end()
	})
}

func TestChildrenThatOnlySayByeAreNotStartedOnAndOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFakeWorld(t)
		w.cfg.Pools[0].Children = 1
		w.host.tired = true
		w.redis.put(1)
		w.run()
		time.Sleep(time.Minute)
		if n := w.host.starts(); n > 15 {
			t.Errorf("%d starts in a minute", n)
		}
		w.end()
	})
}
