package supervisor

import (
	"slices"
	"testing"
	"time"

	"oarlock/protocol"
	"oarlock/runner"
)

// scalingWorld is a world with one pool between these bounds, whose children take boot
// to start and length for each job. What is put is taken newest first.
func scalingWorld(t *testing.T, least, most int, boot, length time.Duration) *fakeWorld {
	w := newFakeWorld(t)
	w.cfg.Pools[0].MinChildren, w.cfg.Pools[0].MaxChildren = least, most
	w.host.boot = func(*runner.Spec) error {
		time.Sleep(boot)
		return nil
	}
	w.host.work = lasting(length)
	return w
}

// putNewestFirst puts a job in front of all others.
func (w *fakeWorld) putNewestFirst() {
	w.redis.put(1)
	w.redis.mu.Lock()
	defer w.redis.mu.Unlock()
	for _, jid := range w.redis.order {
		w.redis.jobs[jid].Put = w.redis.Now() // whatever is next has just come
	}
	slices.Reverse(w.redis.order)
}

// The next job in turn is always a young one, and still the backlog is seen.
func TestAPoolGrowsByItsBacklogNotByItsHead(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := scalingWorld(t, 1, 8, 50*time.Millisecond, 100*time.Millisecond)
		w.runFor(5*time.Second, 0)
		worst := 0
		for range 30 * 15 {
			w.putNewestFirst()
			time.Sleep(time.Second / 15)
			worst = max(worst, w.redis.states()["waiting"])
		}
		if worst > 20 {
			t.Errorf("up to %d jobs waited, of 15 a second that take 100 ms each", worst)
		}
		between(t, w.host.living(), 2, 4, "%d children for 1.5 jobs at a time")
	})
}

// Children for a backlog are asked for within a second, all together.
func TestAPoolGrowsToABacklogAtOnce(t *testing.T) {
	for _, tt := range []struct {
		name         string
		least        int
		boot, length time.Duration
		before       int // jobs that were worked before, so that their length is known
	}{
		{"of jobs never seen", 1, 2 * time.Second, 10 * time.Second, 0},
		{"of jobs never seen, from nothing", 0, 2 * time.Second, 10 * time.Second, 0},
		{"of jobs of 100 ms", 1, 500 * time.Millisecond, 100 * time.Millisecond, 20},
		{"of long jobs", 1, 3 * time.Second, time.Minute, 0},
	} {
		runBubble(t, tt.name, func(t *testing.T) {
			const most = 20
			w := scalingWorld(t, tt.least, most, tt.boot, tt.length)
			w.run()
			w.putFor(time.Duration(tt.before)*tt.length+10*time.Second, tt.before)
			w.putFor(time.Second, 150)
			same(t, w.host.starts(), most, "%d children were started within a second")
			time.Sleep(2*tt.boot - time.Second + time.Second)
			if n := w.redis.states()["running"]; n != most && tt.length > tt.boot {
				t.Errorf("%d jobs run, want %d", n, most)
			}
			w.stopNow()
		})
	}
}

// A load that comes and goes starts no children again and again, and a burst that is
// over before a child could be ready starts none.
func TestScalingDoesNotThrash(t *testing.T) {
	for _, tt := range []struct {
		name               string
		jobs               int // of a burst
		boot, length, rest time.Duration
		starts             int // at most, in all
	}{
		{"short bursts", 40, time.Second, 100 * time.Millisecond, 5 * time.Second, 7},
		{"a burst in nearly every idle_timeout", 40, time.Second, 100 * time.Millisecond, 25 * time.Second, 7},
		{"bursts that are over soon", 30, 5 * time.Second, 100 * time.Millisecond, time.Minute, 0},
		{"single jobs", 1, time.Second, 2 * time.Second, 3 * time.Second, 0},
	} {
		runBubble(t, tt.name, func(t *testing.T) {
			w := scalingWorld(t, 1, 8, tt.boot, tt.length)
			w.run()
			w.putFor(time.Minute, 3)
			before := w.host.starts() // some for the first jobs, whose length was not known
			for range 20 {
				w.putFor(tt.rest, tt.jobs)
			}
			w.after(time.Minute, "waiting", 0)
			if n := w.host.starts() - before; n > tt.starts {
				t.Errorf("%d children were started for 20 bursts, want %d at most", n, tt.starts)
			}
		})
	}
}

// What cannot be taken calls for no children.
func TestAPoolDoesNotGrowForWhatItCannotTake(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := scalingWorld(t, 1, 8, time.Second, time.Second)
		w.host.work = func(*protocol.Job, <-chan runner.Cause) *runner.Ending {
			time.Sleep(time.Second)
			return said(protocol.Ack)
		}
		w.runFor(time.Minute, 0)
		w.s.Quiet()
		time.Sleep(time.Second)
		w.putFor(time.Minute, 100)
		same(t, w.host.starts(), 1, "%d children were started by a pool that takes nothing")
	})
}
