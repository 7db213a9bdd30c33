package pool

import (
	"testing"
	"time"
)

func TestRefusedCallsAreTriedAgainSoon(t *testing.T) {
	l := newExchanges(0)
	for n := range 100 {
		if wait := l.refusals.NextBackOff(); wait > 2*time.Second {
			t.Fatalf("after %d refusals the wait is %v, though what refused them may be over at once", n+1, wait)
		}
	}
}
