package runner

import (
	"testing"
	"testing/synctest"
	"time"
)

// A process that stood still reads what its children told it before it judges them; but only
// for a moment, were it late again and again.
func TestAClockThatStoodStillLetsOthersReadFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var looks []time.Time
		k := newClock(func(now time.Time) time.Time {
			looks = append(looks, now)
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
		if len(looks) != 0 {
			t.Error("it looked at once")
		}
		time.Sleep(readFirst)
		synctest.Wait()
		if len(looks) != 1 || looks[0].Sub(began) != time.Minute+readFirst {
			t.Fatalf("it looked at %v, want once, %v after it stood still", looks, readFirst)
		}
		late(30 * time.Second)
		if len(looks) != 2 {
			t.Error("it put off again what it had just put off")
		}
		time.Sleep(time.Minute)
		late(stoodStill / 2)
		if len(looks) != 3 {
			t.Error("it put off what was hardly late")
		}
		k.stop()
	})
}
