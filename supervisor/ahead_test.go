package supervisor

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"oarlock/protocol"
	"oarlock/runner"
)

// tripping makes each call to the fake Redis take so long.
func (w *fakeWorld) tripping(long time.Duration) {
	w.redis.faults(func(string) fault { return fault{delay: long / 2, after: long - long/2} })
}

// Jobs far shorter than a call are taken ahead by themselves, so that their child does not wait for each, and others have none less.
func TestShortJobsAreTakenAhead(t *testing.T) {
	calls := func(prefetch int) (n int) {
		synctest.Test(t, func(t *testing.T) {
			w := newFakeWorld(t)
			w.cfg.Pools[0].Prefetch = prefetch
			w.tripping(500 * time.Microsecond)
			w.host.work = lasting(100 * time.Microsecond)
			w.redis.put(1000)
			w.run()
			time.Sleep(10 * time.Second)
			w.want("complete", 1000)
			for i := range 1000 {
				if n := w.host.begun(fmt.Sprintf("j%d", i)); n != 1 {
					t.Errorf("j%d was begun %d times", i, n)
				}
			}
			n = int(w.s.Snapshot().Pools[0].Counters.Exchanges)
			w.end()
		})
		return n
	}
	if none, auto := calls(0), calls(AutoPrefetch); auto*5 > none {
		t.Errorf("%d calls with prefetch = \"auto\", %d without", auto, none)
	}
}

// Jobs that take as long as a few calls are taken when there is a child for them, and no sooner.
func TestNothingIsTakenAheadOfLongJobs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFakeWorld(t)
		w.cfg.Pools[0].Children, w.cfg.Pools[0].Prefetch = 1, AutoPrefetch
		w.tripping(500 * time.Microsecond)
		w.host.work = func(*protocol.Job, <-chan runner.Cause) *runner.Ending {
			time.Sleep(time.Millisecond)
			w.want("running", 1)
			time.Sleep(time.Millisecond)
			return said(protocol.Ack)
		}
		w.redis.put(50)
		w.run()
		time.Sleep(5 * time.Second)
		w.want("complete", 50)
		w.end()
	})
}

// What waits behind a job that turns out to be long goes back to Redis in a moment, where others may have it, and pays nothing.
func TestWhatWaitsBehindALongJobGoesBackToRedis(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFakeWorld(t)
		w.cfg.Pools[0].Children, w.cfg.Pools[0].Prefetch = 1, AutoPrefetch
		w.tripping(500 * time.Microsecond)
		var most atomic.Int64 // that were in hand when the long one began
		w.host.work = func(job *protocol.Job, _ <-chan runner.Cause) *runner.Ending {
			if job.JID == "j100" {
				most.Store(int64(w.redis.states()["running"]))
				time.Sleep(10 * time.Second)
			}
			time.Sleep(100 * time.Microsecond)
			return said(protocol.Ack)
		}
		w.redis.put(300)
		w.run()
		time.Sleep(5 * time.Second)
		w.want("running", 1)
		w.want("waiting", 199)
		if most.Load() < 2 {
			t.Error("nothing waited behind the long job: the test shows nothing")
		}
		time.Sleep(10 * time.Second)
		w.want("complete", 300)
		for i := range 300 {
			jid := fmt.Sprintf("j%d", i)
			if j := w.redis.job(jid); w.host.begun(jid) != 1 || j.Remaining != 5 || j.Interruptions+j.Crashes != 0 {
				t.Errorf("%s was begun %d times, and paid for the long one: %+v", jid, w.host.begun(jid), j)
			}
		}
		w.end()
	})
}

// However short its jobs are, a child has one at a time if it need not name its runs, for of a second word on one nobody could
// say that it is not about the next; and if they take places of throttles, which others could have.
func TestNothingIsTakenAheadWhereItCouldHarm(t *testing.T) {
	for name, harm := range map[string]func(*fakeWorld){
		"who need not name its runs": func(w *fakeWorld) { w.host.nameless = true },
		"jobs that take places": func(w *fakeWorld) {
			for _, j := range w.redis.jobs {
				j.Places = "smtp"
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newFakeWorld(t)
				w.cfg.Pools[0].Children, w.cfg.Pools[0].Prefetch = 1, AutoPrefetch
				w.tripping(500 * time.Microsecond)
				w.host.work = func(*protocol.Job, <-chan runner.Cause) *runner.Ending {
					time.Sleep(100 * time.Microsecond)
					w.want("running", 1)
					return said(protocol.Ack)
				}
				w.redis.put(50)
				harm(w)
				w.run()
				time.Sleep(5 * time.Second)
				w.want("complete", 50)
				w.end()
			})
		})
	}
}

// What waits behind short jobs is little where each has much data, however many there are.
func TestLittleDataIsTakenAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFakeWorld(t)
		w.cfg.Pools[0].Children, w.cfg.Pools[0].Prefetch = 1, AutoPrefetch
		w.tripping(500 * time.Microsecond)
		most := 0
		w.host.work = func(*protocol.Job, <-chan runner.Cause) *runner.Ending {
			time.Sleep(10 * time.Microsecond)
			most = max(most, w.redis.states()["running"])
			return said(protocol.Ack)
		}
		w.redis.put(200)
		w.redis.mu.Lock()
		for _, j := range w.redis.jobs {
			j.Data = []byte(`"` + strings.Repeat("x", 16<<10-2) + `"`)
		}
		w.redis.mu.Unlock()
		w.run()
		time.Sleep(5 * time.Second)
		w.want("complete", 200)
		if most < 2 || most > 10 { // one at work, four behind it, and as many that are settled meanwhile
			t.Errorf("%d jobs of 16 KiB were in hand", most)
		}
		w.end()
	})
}
