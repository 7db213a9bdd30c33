package pool

import (
	"slices"
	"time"

	"oarlock/runner"
)

// closeLater notes until when the window is open in which a job began, if it is to end then.
func (p *Pool) closeLater(a *attempt) {
	if a.job.Closes > a.job.Popped {
		a.closes = p.now + time.Duration((a.job.Closes-a.job.Popped)*float64(time.Second))
		p.closing = append(p.closing, a)
	}
}

// shutWindows gives jobs back whose window has shut, uncounted: when they are taken again they are held until it opens.
func (p *Pool) shutWindows() {
	left := p.closing[:0]
	for _, a := range p.closing {
		switch {
		case a.stage != waiting && a.stage != running: // it ends anyhow
			continue
		case p.now < a.closes:
			p.alert(a.closes)
		case a.stage == running:
			p.log.Info("stopping a job because its window has shut", "jid", a.job.JID, "queue", a.job.Queue)
			p.stop(a, runner.CauseShutdown, p.cfg.Child.KillGrace)
		default:
			at := slices.Index(p.waiting, a)
			if at < 0 {
				break // a suspect, whose turn comes
			}
			p.waiting = slices.Delete(p.waiting, at, at+1)
			p.giveBack(a, 0)
			continue
		}
		left = append(left, a)
	}
	clear(p.closing[len(left):])
	p.closing = left
}
