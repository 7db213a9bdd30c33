package pool

import (
	"oarlock/protocol"
	"oarlock/runner"
	"oarlock/supervisor/report"
)

// reporter is the sink of a member: it hears what happens to the child, from whatever goroutine,
// and tells the loop.
type reporter struct{ m *member }

func (r reporter) Ready() {
	p := r.m.pool
	p.post(r.m.becameReady)
}

func (r reporter) Bye(reason string) {
	r.m.pool.post(func() { r.m.tires(reason) })
}

func (r reporter) Ended(job *protocol.Job, ending *runner.Ending) {
	p := r.m.pool
	p.inbox.Slip(func() {
		if a := r.attempt(job); a != nil {
			p.ended(a, ending)
		}
	})
}

func (r reporter) Exited(exit runner.Exit) {
	p := r.m.pool
	p.Places.Leave(p.place(r.m.slot)) // not by the loop, which may be over
	p.post(func() {
		short := exit.Short() && r.m.gen.spec.Sandbox.Limits.Memory == nil
		if short {
			r.m.ranOut(exit)
		}
		r.m.exit(exit, short)
	})
}

func (r reporter) Checkpoint(job *protocol.Job, data []byte) {
	p := r.m.pool
	p.post(func() {
		if a := r.attempt(job); a != nil && !a.again {
			a.checkpoint = data
			p.renewals.hasten(a.checkpointed + checkpointPause)
		}
	})
}

func (r reporter) Wished(job *protocol.Job) {
	p := r.m.pool
	p.post(func() {
		if a := r.attempt(job); a != nil && !a.again {
			p.wishes(a)
		}
	})
}

func (r reporter) Progress(job *protocol.Job, progress protocol.Progress) {
	p := r.m.pool
	p.post(func() {
		if a := r.attempt(job); a != nil {
			a.progress = &progress
			p.event(report.Event{Kind: report.Progressed, Job: job, Slot: r.m.slot.n, PID: r.m.pid(), Progress: &progress})
		}
	})
}

// Log does not take the way through the loop: a child that floods its output must
// not delay anything.
func (r reporter) Log(job *protocol.Job, line runner.LogLine) {
	l := report.Line{Pool: r.m.pool.name, Slot: r.m.slot.n, LogLine: line}
	if job != nil {
		l.JID, l.Queue, l.Attempt, l.TraceID = job.JID, job.Queue, job.Attempt, job.Trace.ID()
	}
	r.m.pool.ChildLog(l)
}

// Refused counts a verdict that does not count, and warns: the job may end as if nothing
// had been said. Like log it does not take the way through the loop.
func (r reporter) Refused(job *protocol.Job, verdict, why string) {
	p := r.m.pool
	n, warn := p.unheard.Add(p.Clock())
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
func (r reporter) attempt(job *protocol.Job) *attempt {
	for _, a := range r.m.runs {
		if a.wire == job {
			return a
		}
	}
	return nil
}
