package pool

import (
	"context"
	"time"

	"oarlock/queue"
	"oarlock/supervisor/outcome"
	"oarlock/supervisor/report"
)

const (
	// AskTime is how long a retry_command has for its answer.
	AskTime = 5 * time.Second
	// mostAsked is how many of them a pool runs at a time.
	mostAsked = 8
)

// asking are the attempts about whose endings a command is asked, oldest first. They are settled when it has answered, or by the rules if
// it does not. The loop goes on meanwhile; but a pool takes nothing while many wait.
type asking struct {
	of      []*attempt
	out     int    // commands that run
	trouble string // what was wrong with the last answer; "" for nothing
}

// asked is an attempt's part in that.
type asked struct {
	outcome *outcome.Outcome // what the rules say
	command []string
	cancel  context.CancelFunc // nil: it has not been asked yet
	then    func()             // settles by outcome
}

// consult asks a command what becomes of an attempt, and calls then when outcome says it. It reports whether it will: else nobody is
// to be asked, and nothing has happened.
func (p *Pool) consult(a *attempt, o *outcome.Outcome, then func()) bool {
	command := p.cfg.AskOf(a.job.Klass)
	if !o.Open || len(command) == 0 || p.Ask == nil || p.listed != nil || p.life.stopped || p.life.killed {
		return false
	}
	p.advance(a, ended)
	a.asked = &asked{outcome: o, command: command, then: then}
	p.asking.of = append(p.asking.of, a)
	p.inquire()
	return true
}

// inquire starts commands for those that wait for one.
func (p *Pool) inquire() {
	for _, a := range p.asking.of {
		if p.asking.out >= mostAsked {
			return
		}
		q := a.asked
		if q.cancel != nil {
			continue
		}
		var ctx context.Context
		ctx, q.cancel = context.WithTimeout(p.ctx, 2*AskTime) // whoever asks keeps to AskTime
		p.asking.out++
		p.count.Asked++
		input := outcome.Question(a.wire, &a.job, a.ending, &q.outcome.Settlement)
		go func() { // reports to the loop
			printed, err := p.Ask(ctx, p.name, q.command, input)
			q.cancel()
			p.post(func() { p.replied(a, q, printed, err) })
		}()
	}
}

// replied hears what a command printed, or why it did not answer.
func (p *Pool) replied(a *attempt, q *asked, printed []byte, err error) {
	p.asking.out--
	if a.asked == q { // else its lock was lost, or it was settled without
		if err == nil {
			err = q.outcome.Answered(printed, &a.job)
		}
		p.noteTrouble(a, q, err)
		for _, wish := range q.outcome.Refused {
			p.log.Warn("what a retry_command wants is refused", "jid", a.job.JID, "queue", a.job.Queue, "why", wish)
		}
		p.decided(a)
	}
	p.inquire()
}

// noteTrouble notes whether a command answered, and logs it where that is new.
func (p *Pool) noteTrouble(a *attempt, q *asked, err error) {
	trouble := ""
	if err != nil {
		p.count.Unanswered++
		trouble = err.Error()
	}
	if trouble != p.asking.trouble && trouble != "" {
		p.log.Warn("a retry_command decides nothing: the rules of pool and class do", "command", q.command[0], "jid", a.job.JID, "queue", a.job.Queue, "why", trouble)
	} else if trouble == "" && p.asking.trouble != "" {
		p.log.Info("a retry_command decides again", "command", q.command[0])
	}
	p.asking.trouble = trouble
}

// decided settles an attempt by what its outcome says now.
func (p *Pool) decided(a *attempt) {
	q := a.asked
	p.unasked(a)
	q.then()
}

// unasked takes an attempt out of those about which somebody is asked.
func (p *Pool) unasked(a *attempt) {
	if a.asked == nil {
		return
	}
	if a.asked.cancel != nil {
		a.asked.cancel()
	}
	a.asked = nil
	p.asking.of = without(p.asking.of, a)
}

// askNoMore lets the rules decide about all that wait.
func (p *Pool) askNoMore() {
	for len(p.asking.of) > 0 {
		p.decided(p.asking.of[0])
	}
}

// askedTooMuch reports whether too many attempts wait for an answer, or soon will, to begin more jobs.
func (p *Pool) askedTooMuch() bool {
	n := len(p.asking.of)
	for _, a := range p.withheld {
		if len(p.cfg.AskOf(a.job.Klass)) > 0 {
			n++
		}
	}
	_, most := p.cfg.bounds()
	return n >= max(most, mostAsked)
}

// unworked settles a job that no child is to be given.
func (p *Pool) unworked(a *attempt, s *queue.Settlement) {
	o := &outcome.Outcome{Settlement: *s, Open: s.Action == queue.Retry}
	settle := func() {
		s := o.Settlement
		a.counts = true
		p.event(report.Event{Kind: report.SetAside, Job: a.wire, Action: s.Action, Fails: s.Fails(&a.job), Group: s.Group, Message: s.Message})
		p.submit(a, s)
	}
	if !p.consult(a, o, settle) {
		settle()
	}
}
