package runner

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// A process that stood still reads what its children told it before it judges them; but only
// for a moment, were it late again and again.
func TestAClockThatStoodStillLetsOthersReadFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var count, last atomic.Int64 // of looks, and when, in nanoseconds since the epoch
		k := newClock(func(now time.Time) time.Time {
			count.Add(1)
			last.Store(now.UnixNano())
			return time.Time{}
		})
		began := time.Now()
		// Here no timer is late: what was due is said to have been long ago.
		late := func(by time.Duration) {
			k.looking.Add(1)
			k.next.Store(int64(time.Since(k.epoch) - by))
			k.ring()
		}
		time.Sleep(time.Minute)
		late(30 * time.Second)
		k.arm(time.Now().Add(readFirst / 2))
		late(stoodStill)
		if count.Load() != 0 {
			t.Error("it looked at once")
		}
		time.Sleep(readFirst)
		synctest.Wait()
		if n, at := count.Load(), time.Unix(0, last.Load()).Sub(began); n != 1 || at != time.Minute+readFirst {
			t.Fatalf("it looked %d times, last after %v, want once, %v after it stood still", n, at, readFirst)
		}
		late(30 * time.Second)
		if count.Load() != 2 {
			t.Error("it put off again what it had just put off")
		}
		time.Sleep(time.Minute)
		late(stoodStill / 2)
		if count.Load() != 3 {
			t.Error("it put off what was hardly late")
		}
		k.stop()
	})
}
