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
			w.runFor(10*time.Second, 1000)
			w.want("complete", 1000)
			for i := range 1000 {
				same(t, w.host.begun(fmt.Sprintf("j%d", i)), 1, "j%d was begun %d times", i)
			}
			n = int(w.s.Snapshot().Pools[0].Counters.Exchanges)
		})
		return n
	}
	if none, auto := calls(0), calls(AutoPrefetch); auto*5 > none {
		t.Errorf("%d calls with prefetch = \"auto\", %d without", auto, none)
	}
}

// Jobs that take as long as a few calls are taken when there is a child for them, and no sooner.
func TestNothingIsTakenAheadOfLongJobs(t *testing.T) {
	faked(t, func(t *testing.T, w *fakeWorld) {
		w.cfg.Pools[0].Children, w.cfg.Pools[0].Prefetch = 1, AutoPrefetch
		w.tripping(500 * time.Microsecond)
		w.host.work = func(*protocol.Job, <-chan runner.Cause) *runner.Ending {
			w.after(time.Millisecond, "running", 1)
			time.Sleep(time.Millisecond)
			return said(protocol.Ack)
		}
		w.runFor(5*time.Second, 50)
		w.want("complete", 50)
	})
}

// What waits behind jobs that turn out to be long goes back to Redis 20 ms after it was taken, where others may have it, and pays nothing.
func TestWhatWaitsBehindALongJobGoesBackToRedis(t *testing.T) {
	for _, children := range []int{1, 10, 50} {
		runFaked(t, fmt.Sprint(children), func(t *testing.T, w *fakeWorld) {
			w.cfg.Pools[0].Children, w.cfg.Pools[0].Prefetch = children, AutoPrefetch
			w.tripping(500 * time.Microsecond)
			jobs, short := 60*children, 20*children
			var long, most, late atomic.Int64 // that have begun; jobs in hand when the last of these had, and a little later
			w.host.work = func(job *protocol.Job, _ <-chan runner.Cause) *runner.Ending {
				var n int
				fmt.Sscanf(job.JID, "j%d", &n)
				if short <= n && n < short+children {
					if long.Add(1) == int64(children) {
						most.Store(int64(w.redis.states()["running"]))
						time.Sleep(30 * time.Millisecond) // to the 20 come what was taken meanwhile, and the call that says so
						late.Store(int64(w.redis.states()["running"]))
					}
					time.Sleep(10 * time.Second)
				}
				time.Sleep(100 * time.Microsecond)
				return said(protocol.Ack)
			}
			w.runFor(5*time.Second, jobs)
			w.want("running", children)
			w.after(20*time.Second, "complete", jobs)
			if most.Load() <= int64(children) {
				t.Error("nothing waited behind the long jobs: the test shows nothing")
			}
			if late.Load() != int64(children) {
				t.Errorf("after 30ms %d jobs were in the hands of %d children at long ones", late.Load(), children)
			}
			for i := range jobs {
				jid := fmt.Sprintf("j%d", i)
				if j := w.redis.job(jid); w.host.begun(jid) != 1 || j.Remaining != 5 || j.Interruptions+j.Crashes != 0 {
					t.Errorf("%s was begun %d times, and paid for the long one: %+v", jid, w.host.begun(jid), j)
				}
			}
		})
	}
}

// Where a pool has children enough, none has a job waiting: calls are full without.
func TestManyChildrenHaveNothingAhead(t *testing.T) {
	faked(t, func(t *testing.T, w *fakeWorld) {
		w.cfg.Pools[0].Children, w.cfg.Pools[0].Prefetch = 200, AutoPrefetch
		w.tripping(500 * time.Microsecond)
		var most atomic.Int64
		w.host.work = func(*protocol.Job, <-chan runner.Cause) *runner.Ending {
			time.Sleep(100 * time.Microsecond)
			most.Store(max(most.Load(), int64(w.redis.states()["running"])))
			return said(protocol.Ack)
		}
		w.runFor(5*time.Second, 4000)
		w.want("complete", 4000)
		if most.Load() > 200 {
			t.Errorf("%d jobs were in the hands of 200 children", most.Load())
		}
	})
}

// An urgent job begins when what was taken before is done: that is 2 ms of work at each child, and what is on its way.
func TestAnUrgentJobWaitsForLittleThatWasTakenAhead(t *testing.T) {
	for _, children := range []int{1, 10} {
		synctest.Test(t, func(t *testing.T) {
			const trip, length = 500 * time.Microsecond, 100 * time.Microsecond
			w := newFakeWorld(t)
			w.cfg.Pools[0].Children, w.cfg.Pools[0].Prefetch = children, AutoPrefetch
			w.tripping(trip)
			var put, began atomic.Int64
			w.host.work = func(job *protocol.Job, _ <-chan runner.Cause) *runner.Ending {
				switch n := w.redis.states()["complete"]; {
				case job.JID == "j2000":
					began.Store(time.Now().UnixNano())
				case n > 800 && put.CompareAndSwap(0, time.Now().UnixNano()):
					w.redis.putFirst()
				}
				time.Sleep(length)
				return said(protocol.Ack)
			}
			w.runFor(10*time.Second, 2000)
			w.want("complete", 2001)
			late := time.Duration(began.Load() - put.Load())
			if most := 2*time.Millisecond + 3*trip + length; late > most { // a call that is out, one that waits for more, and its own
				t.Errorf("of %d children none began the urgent job within %v, but after %v", children, most, late)
			}
		})
	}
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
		runFaked(t, name, func(t *testing.T, w *fakeWorld) {
			w.cfg.Pools[0].Children, w.cfg.Pools[0].Prefetch = 1, AutoPrefetch
			w.tripping(500 * time.Microsecond)
			w.host.work = func(*protocol.Job, <-chan runner.Cause) *runner.Ending {
				w.after(100*time.Microsecond, "running", 1)
				return said(protocol.Ack)
			}
			w.redis.put(50)
			harm(w)
			w.runFor(5*time.Second, 0)
			w.want("complete", 50)
		})
	}
}

// What waits behind short jobs is little where each has much data, however many there are.
func TestLittleDataIsTakenAhead(t *testing.T) {
	faked(t, func(t *testing.T, w *fakeWorld) {
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
		w.runFor(5*time.Second, 0)
		w.want("complete", 200)
		if most < 2 || most > 10 { // one at work, four behind it, and as many that are settled meanwhile
			t.Errorf("%d jobs of 16 KiB were in hand", most)
		}
	})
}
