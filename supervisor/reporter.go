package supervisor

import (
	"oarlock/protocol"
	"oarlock/runner"
)

// ear hears what happens to a member, from whatever goroutine, and tells the loop. It
// is the member's sink.
type ear struct{ m *member }

func (e ear) ready() {
	p := e.m.pool
	p.post(e.m.becameReady)
}

func (e ear) bye(reason string) {
	e.m.pool.post(func() {
		e.m.tires(reason)
	})
}

func (e ear) ended(job *protocol.Job, ending *runner.Ending) {
	p := e.m.pool
	p.inbox.slip(func() {
		if a := e.attempt(job); a != nil {
			p.ended(a, ending)
		}
	})
}

func (e ear) exited(exit runner.Exit) {
	p := e.m.pool
	p.places.leave(p.place(e.m.slot)) // not by the loop, which may be over
	p.post(func() {
		short := exit.Short() && e.m.gen.spec.Sandbox.Limits.Memory == nil
		if short {
			e.m.ranOut(exit)
		}
		e.m.exit(exit, short)
	})
}

func (e ear) checkpoint(job *protocol.Job, data []byte) {
	p := e.m.pool
	p.post(func() {
		if a := e.attempt(job); a != nil && !a.again {
			a.checkpoint = data
			p.renewals.hasten(a.checkpointed + checkpointPause)
		}
	})
}

func (e ear) wished(job *protocol.Job) {
	p := e.m.pool
	p.post(func() {
		if a := e.attempt(job); a != nil && !a.again {
			p.wishes(a)
		}
	})
}

func (e ear) progress(job *protocol.Job, progress protocol.Progress) {
	p := e.m.pool
	p.post(func() {
		if a := e.attempt(job); a != nil {
			a.progress = &progress
			p.event(Event{Kind: Progressed, Job: job, Slot: e.m.slot.n, PID: e.m.pid(), Progress: &progress})
		}
	})
}

// log does not take the way through the loop: a child that floods its output must
// not delay anything.
func (e ear) log(job *protocol.Job, line runner.LogLine) {
	l := Line{Pool: e.m.pool.name, Slot: e.m.slot.n, LogLine: line}
	if job != nil {
		l.JID, l.Queue, l.Attempt = job.JID, job.Queue, job.Attempt
	}
	e.m.pool.childLog(l)
}

// refused counts a verdict that does not count, and warns: the job may end as if nothing
// had been said. Like log it does not take the way through the loop.
func (e ear) refused(job *protocol.Job, verdict, why string) {
	p := e.m.pool
	n, warn := p.unheard.add(p.clock())
	if !warn {
		return
	}
	jid := ""
	if job != nil {
		jid = job.JID
	}
	p.log.Warn("a line that looks like a verdict was refused", "verdict", verdict, "jid", jid, "why", why, "refused_so_far", n,
		"advice", "if it is the program's own word, let it name its run ($OARLOCK_RUN) or say it by `oarlock say`")
}

// attempt finds the attempt that a job was made for.
func (e ear) attempt(job *protocol.Job) *attempt {
	for _, a := range e.m.runs {
		if a.wire == job {
			return a
		}
	}
	return nil
}
