package pool

import "time"

// proofOfLife is how long a probe must have been fit for a job to prove that children start,
// if it is not given one.
const proofOfLife = time.Second

// tendBirths frees the barred slots when the probe has lived for long enough, and sees to it that
// there is a turn when the next may be started.
func (p *Pool) tendBirths() {
	b := &p.births
	probe := b.Probe()
	switch {
	case probe != nil && probe.fit():
		if at := probe.fitSince + proofOfLife; at > p.now {
			p.alert(at)
		} else {
			b.Free()
		}
	case probe == nil && b.Any() && b.After() > p.now:
		p.alert(b.After())
	}
}
