package pool

import (
	"fmt"
	"slices"
	"time"

	"oarlock/protocol"
	"oarlock/queue"
	"oarlock/runner"
	"oarlock/supervisor/internal/clock"
	"oarlock/supervisor/internal/trace"
	"oarlock/supervisor/internal/wire"
	"oarlock/supervisor/report"
)

// stage is how far an attempt has come; stageMoves says what may follow what.
type stage uint8

const (
	waiting  stage = iota // taken, no child yet
	running               // a child has it
	stopping              // a child has it and was asked to stop
	ended                 // concluded, to be settled
	settling              // the settlement is on its way
	over                  // settled, or not ours any more
)

var stageNames = [...]string{"waiting", "running", "stopping", "ended", "settling", "over"}

func (s stage) String() string { return stageNames[s] }

// stageMoves are the stages that may follow each stage.
var stageMoves = [...][]stage{
	waiting: {
		running, // a child was found
		ended,   // no child is to have it: it cannot be worked, or goes back
		over,    // its lock is lost, or its job came back
	},
	running: {
		waiting,  // its child left before it could begin, or gives it back
		stopping, // its child is to stop it
		ended,    // its child has ended it
		over,     // likewise, and nothing is to be settled
	},
	stopping: {
		waiting,  // its child left before it could begin
		stopping, // its child is to stop it sooner
		ended,    // its child has ended it
		over,     // likewise, and nothing is to be settled
	},
	ended: {
		waiting,  // judged after a while: its child had not begun it
		ended,    // judged after a while, or to be settled otherwise
		settling, // its settlement is sent
		over,     // its lock is lost, or its job came back
	},
	settling: {
		ended, // the call did not run, or Redis refused the settlement
		over,  // Redis has answered
	},
	over: {}, // nothing more is to be done
}

// advance brings an attempt to its next stage. Nothing else writes the stage.
func (p *Pool) advance(a *attempt, to stage) {
	if !slices.Contains(stageMoves[a.stage], to) {
		p.misstep("attempt", a.stage, to)
	}
	a.stage = to
}

// misstep tells of a change that its table does not allow. It is a mistake of ours, which the
// tests of this package fail for.
func (p *Pool) misstep(of string, from, to fmt.Stringer) {
	p.log.Error(Mistake, "of", of, "from", from.String(), "to", to.String())
}

// Mistake is the message of the log line that tells of one: tests of whatever has pools fail for it.
const Mistake = "mistake in oarlock: a change that cannot be"

// attempt is one job once in our hands, from its take to its settlement. It belongs
// to its pool's loop.
type attempt struct {
	job   queue.Taken
	wire  *protocol.Job // what the child is told; its address names the run
	lease clock.Lease
	stage stage
	took  time.Duration // how long the call took that brought it; never: it was found by an audit
	late  bool          // much of its lock had run out when it came: it does not begin before its lock is renewed
	turn  int64         // its place among all that the pool took, in the order of the queue

	member    *member       // the child that has it; nil before
	run       Run           // nil until the child was given it
	told      bool          // the observer knows that its child was told of it
	counted   bool          // and for how long it had waited for the first that was
	began     time.Duration // when the child was chosen
	wellAt    time.Duration // when a job of the pool had last ended well before that; 0: none had
	cause     runner.Cause  // why it was asked to stop
	grace     time.Duration // and how much time it was given for that
	warned    bool          // it was asked to stop because its lease runs out
	lapse     string        // why that was not renewed in time
	gap       time.Duration // when to kill it unless a renewal is granted first; 0: no gap
	hint      bool          // a notice said that it was canceled
	closes    time.Duration // when it is to be given back, for its window shuts; 0: it may end
	accused   bool          // it is a suspect, and no other may run
	heldUntil time.Duration // when to give it back if no turn of a suspect's has come
	early     bool          // a child left before it could begin with it
	came      time.Duration // when it began to wait for a child
	company   *company      // the message that it went in with others; nil: none

	ending     *runner.Ending // how it ended; nil before
	endedAt    time.Duration  // when
	met        bool           // it was heard that its class is not known
	asked      *asked         // a command is to say what becomes of it; nil: nobody is
	settlement queue.Settlement
	untold     *report.Event // its end, of which the observer hears once Redis has said whether its job is parked; nil: it has heard
	counts     bool          // what becomes of the job is counted, once Redis has it: it was not only given back by us
	refused    int           // how many settlements of it were refused
	objection  string        // why the first was
	settleAt   time.Duration // when to send the next, or the first, if it waits among the pool's refused or withheld
	lost       bool          // the lock is gone: nothing is to be settled
	again      bool          // job and lease are those of a later take, to run when this one was stopped

	progress     *protocol.Progress // the last; nil if none
	checkpoint   []byte             // not yet stored; nil if none
	checkpointed time.Duration      // when one was last sent

	wishes  []protocol.Wish // what it wants done and Redis has not answered yet; it is settled after them
	wishing bool            // it is among those of the pool's wishing
}

// newAttempt makes an attempt of a job that was just locked.
func (p *Pool) newAttempt(t queue.Taken, l clock.Lease) *attempt {
	a := &attempt{job: t, lease: l}
	p.prepare(a)
	p.closeLater(a)
	return a
}

// hold notes that the job's lock was renewed; the child lives no longer than the lease.
func (a *attempt) hold(l clock.Lease) {
	a.lease, a.late = l, false
	if a.run != nil {
		a.run.Renew(l.End())
	}
}

// slot is the number of the slot whose child has the attempt, or had it; -1 if none ever did.
func (a *attempt) slot() int {
	if a.member == nil {
		return -1
	}
	return a.member.slot.n
}

// prepare makes what the child is told of the job, under a new run id.
func (p *Pool) prepare(a *attempt) {
	untraced := a.job.Trace == (queue.Trace{})
	if untraced && p.cfg.TracePath != nil {
		a.job.Trace = trace.Named(a.job.Data, p.cfg.TracePath)
		untraced = a.job.Trace == (queue.Trace{})
	}
	a.wire = wire.Job(a.job, p.cfg.TimeoutOf(a.job.Klass, p.cfg.Timeout))
	if p.Callback != nil {
		a.wire.Callback = p.Callback(a.job.Klass, a.job.JID)
	}
	if untraced && p.cfg.TraceBegin > 0 {
		a.wire.Trace = trace.Begin(p.cfg.TraceBegin)
	}
}

// inherit lets what the attempt puts be part of its trace; and the job itself, where it goes on and the attempt began one.
func (a *attempt) inherit(s *queue.Settlement) {
	if a.wire.Trace == nil {
		return
	}
	for i := range s.Puts {
		s.Puts[i].Trace = trace.Of(a.wire.Trace)
	}
	if over := s.Action == queue.Cancel || s.Action == queue.Complete && s.Next == ""; !over && a.wire.Trace.Producer == "" {
		s.Trace = trace.Of(a.wire.Trace)
	}
}
