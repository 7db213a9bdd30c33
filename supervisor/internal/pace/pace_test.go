package pace

import (
	"testing"
	"time"
)

// A call waits for more endings only where they come much faster than calls are answered, and no
// longer than a call takes.
func TestACallWaitsWhereItPays(t *testing.T) {
	const call = 10 * time.Millisecond
	for name, c := range map[string]struct {
		every time.Duration // how fast endings follow each other
		after time.Duration // the first, when the next call could be sent
		want  bool
	}{
		"fast":               {time.Millisecond, 5 * time.Millisecond, true},
		"fast, but for long": {time.Millisecond, 10 * time.Millisecond, false},
		"slow":               {8 * time.Millisecond, 5 * time.Millisecond, false},
	} {
		p := New()
		now := time.Second
		if _, wait := p.Gather(now); wait {
			t.Errorf("%s: it waits though no call was answered yet", name)
		}
		for range 100 {
			now += c.every
			p.Ended(now, false)
		}
		p.Tripped(call, now)
		p.Ended(now, true)
		until, wait := p.Gather(now + c.after)
		if wait != c.want || wait && until != now+call {
			t.Errorf("%s: waits=%t until %v after the first, want %t", name, wait, until-now, c.want)
		}
	}
}
