package pool

import (
	"slices"
	"time"

	"oarlock/supervisor/internal/breaker"
	"oarlock/supervisor/report"
)

// mostPastRolls is how many rolls are remembered that ended.
const mostPastRolls = 10

// pastRolls are the last rolls that ended, newest first.
type pastRolls []pastRoll

type pastRoll struct {
	report.EndedRoll
	at time.Duration // when it ended
}

// rollEnded notes how a roll ended, and tells the observer. The way back of one that was given up is no
// roll of its own, and one that was done before is told again only if it was taken back after all.
func (p *Pool) rollEnded(r *roll, result, message string) {
	if r.back || r.over && result != report.RollGivenUp {
		return
	}
	if r.over { // it was done, and is not any more
		p.pastRolls = slices.DeleteFunc(p.pastRolls, func(e pastRoll) bool { return e.To == r.to.n })
	}
	message = breaker.LastLine(message)
	took := p.now - r.began
	p.event(report.Event{Kind: report.RollEnded, From: r.from.n, To: r.to.n, Reason: result, Message: message, Took: took})
	ended := pastRoll{report.EndedRoll{From: r.from.n, To: r.to.n, Result: result, Message: message, Took: took.Seconds()}, p.now}
	p.pastRolls = slices.Insert(p.pastRolls, 0, ended)
	p.pastRolls = p.pastRolls[:min(len(p.pastRolls), mostPastRolls)]
}

// snapshots describes them.
func (e pastRolls) snapshots(now time.Duration) []report.EndedRoll {
	if len(e) == 0 {
		return nil
	}
	shots := make([]report.EndedRoll, len(e))
	for i, past := range e {
		shots[i] = past.EndedRoll
		shots[i].Ago = (now - past.at).Seconds()
	}
	return shots
}
