package supervisor

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"oarlock/queue"
	"oarlock/supervisor/internal/pool"
)

// slowRedis is the fake whose calls take time for the data that they carry, and which heeds Take.Bytes.
type slowRedis struct {
	*fakeRedis
	perMiB time.Duration // what a MiB costs a take
	asked  []int64       // Take.Bytes of the takes that brought something
}

func (f *slowRedis) Session(worker string) pool.Store {
	return &slowSession{fakeSession: &fakeSession{f.fakeRedis, worker}, slow: f}
}

type slowSession struct {
	*fakeSession
	slow *slowRedis
}

// Exchange hands out one job after the other, at most 4 MiB or what is asked for, or a single one, as the scripts do.
func (s *slowSession) Exchange(ctx context.Context, settlements []queue.Settlement, take queue.Take) (queue.Reply, error) {
	most := int64(4 << 20)
	if take.Bytes > 0 {
		most = min(most, take.Bytes)
	}
	s.mu.Lock()
	n, bytes := 0, int64(0)
	for _, jid := range s.order {
		size := s.jobs[jid].Size
		if n == take.Count || n > 0 && bytes+size > most {
			break
		}
		n, bytes = n+1, bytes+size
	}
	if n > 0 && take.Count > 0 {
		s.slow.asked = append(s.slow.asked, take.Bytes)
	}
	takes := s.slow.perMiB * time.Duration(bytes) >> 20
	s.mu.Unlock()
	take.Count = min(take.Count, n)
	reply, err := s.fakeSession.Exchange(ctx, settlements, take)
	if take.Count > 0 {
		time.Sleep(takes)
	}
	return reply, err
}

// last is what the last take asked for; 0 if there was none.
func (f *slowRedis) last() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.asked) == 0 {
		return 0
	}
	return f.asked[len(f.asked)-1]
}

// slowly makes a world whose Redis is one of locks so long, that needs so much time for a MiB, with n jobs of so many bytes.
func slowly(t *testing.T, lock, perMiB time.Duration, n int, size int64) (*fakeWorld, *slowRedis, *lockedBuffer) {
	t.Helper()
	w := newFakeWorld(t)
	w.redis.lock = lock
	slow := &slowRedis{fakeRedis: w.redis, perMiB: perMiB}
	w.cfg.Pools[0].Children = 8
	w.redis.put(n)
	for _, j := range w.redis.jobs {
		j.Size = size
	}
	log := new(lockedBuffer)
	w.cfg.Logger = slog.New(slog.NewTextHandler(log, nil))
	return w, slow, log
}

// TestATakeThatIsSlowForItsLockAsksForLess has takes of 4 MiB that need a half of a lock: the next ask for less, down to one job, and every job is
// done at its first attempt. When the calls are fast again, they bring more again.
func TestATakeThatIsSlowForItsLockAsksForLess(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w, slow, log := slowly(t, 2*time.Second, 300*time.Millisecond, 64, 1<<20)
		w.runOn(slow)
		time.Sleep(5 * time.Second)
		least := slow.last()
		locked(&slow.mu, func() { slow.perMiB = 0 })
		if least == 0 || least >= 2<<20 {
			t.Errorf("takes of 4 MiB last 1.2 s of a lock of 2 s, and the last asked for %d bytes", least)
		}
		w.after(time.Minute, "complete", 64)
		for jid, j := range w.redis.jobs {
			if w.host.begun(jid) != 1 || j.Interruptions+j.Standstill > 0 || j.Remaining != 5 {
				t.Errorf("%s was begun %d times: %+v", jid, w.host.begun(jid), j.Taken)
			}
		}
		w.putFor(time.Minute, 200)
		same(t, slow.last(), 0, "the calls are fast again, and still ask for %d bytes")
		if n := strings.Count(log.String(), "asking for less data"); n == 0 || n > 3 {
			t.Errorf("the log says it %d times:\n%s", n, log)
		}
	})
}

// TestAJobThatComesWithoutALeaseIsRenewedFirst has single jobs of which each needs as long as nearly the whole lock, or longer: it does not begin before its
// lock is renewed, and no child is stopped for it.
func TestAJobThatComesWithoutALeaseIsRenewedFirst(t *testing.T) {
	for _, took := range []time.Duration{900 * time.Millisecond, 1700 * time.Millisecond, 3 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			w, slow, log := slowly(t, 2*time.Second, took/16, 4, 16<<20)
			w.host.work = lasting(500 * time.Millisecond)
			// The first answers to renewals are late as well: who begins at once is stopped in the meantime.
			w.redis.faults(func(call string) fault {
				if call == "renew" {
					return fault{delay: 300 * time.Millisecond}
				}
				return fault{}
			})
			w.runOn(slow)
			w.after(time.Minute, "complete", 4)
			for jid, j := range w.redis.jobs {
				if w.host.begun(jid) != 1 || j.Interruptions+j.Standstill > 0 {
					t.Errorf("calls of %v: %s was begun %d times: %+v", took, jid, w.host.begun(jid), j.Taken)
				}
			}
			if strings.Contains(log.String(), "drain_timeout") || strings.Contains(log.String(), "lease runs out") {
				t.Errorf("calls of %v: the log says\n%s", took, log)
			}
			w.end()
		})
	}
}

// TestALateCallIsNamed has renewals that take longer than the lock: a child has to be stopped, and log and job say that it was for the calls. The
// job is not said to need a longer drain_timeout.
func TestALateCallIsNamed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w, slow, log := slowly(t, 2*time.Second, 0, 1, 100)
		w.host.work = lasting(time.Minute)
		w.redis.faults(func(call string) fault {
			if call == "renew" {
				return fault{delay: 3 * time.Second}
			}
			return fault{}
		})
		w.runOn(slow)
		time.Sleep(30 * time.Second)
		j := w.redis.job("j0")
		const cause = "a call to Redis takes longer than its lock allows"
		if j.Interruptions == 0 || !strings.Contains(j.settlement.Message, cause) || j.settlement.Group != "lease-expired" {
			t.Errorf("the job was released so: %+v", j.settlement)
		}
		if j.settlement.Standstill > 0 || strings.Contains(log.String(), "drain_timeout") || !strings.Contains(log.String(), cause) {
			t.Errorf("the job is blamed (%d), or the calls are not:\n%s", j.settlement.Standstill, log)
		}
		w.redis.faults(nil)
		time.Sleep(2 * time.Minute)
	})
}

// TestATakeInDoubtForItsSizeAsksForLess has a Redis that answers no take of more than 1 MiB in time: what such a take has brought is found, and less is asked for.
func TestATakeInDoubtForItsSizeAsksForLess(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w, slow, _ := slowly(t, time.Minute, 0, 40, 1<<19)
		w.redis.faults(func(call string) fault {
			if call == "exchange" && len(slow.asked) > 0 && (slow.asked[len(slow.asked)-1] == 0 || slow.asked[len(slow.asked)-1] > 1<<20) {
				return fault{after: 3 * time.Second, lost: errDoubt}
			}
			return fault{}
		})
		w.runOn(slow)
		w.after(time.Minute, "complete", 40)
		w.end()
		late := 0
		for _, asked := range slow.asked {
			if asked == 0 || asked > 1<<20 {
				late++
			}
		}
		if late > len(slow.asked)/2 {
			t.Errorf("of %d takes %d asked for more than Redis answers in time: %v", len(slow.asked), late, slow.asked)
		}
	})
}
