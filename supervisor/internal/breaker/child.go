package breaker

import (
	"math"
	"time"
)

// A child that is kept from job to job may go bad by itself: its connection is gone, a file it had opened, a lock was never given back.
// It ends jobs sooner than those that do them, and so is given most. A row of bad endings is its own doing, and not that of its jobs,
// where it has leastRow of them, of minJobs jobs at least, and as many in a row were less likely than chance.
//
// Jobs that are bad come in rows, too: those that somebody put together, or all while a service is away, and there chance says nothing. Such
// a row goes on with the next child. So who was blamed is judged by how its successor begins: where that begins badly, rows have to be
// four times as long from then on, and half as long again where it begins well.
const (
	leastRow = 10
	chance   = 1e-6
	mostWary = 6 // doublings of leastRow
)

// Usual is how jobs end in a pool on children that are not in the middle of a row: what one that went bad burns says nothing of the
// others. The zero value is ready. It belongs to the pool's loop.
type Usual struct {
	well, bad float64       // of some hundreds of endings
	at        time.Duration // when the last one went well

	successors int           // of children that were blamed, which have ended nothing yet
	wary       int           // how often leastRow is doubled
	waryAt     time.Duration // at, when that was last more: what all children meet at once makes it more once
}

const usualOf = 500

// note adds a bad row that is over, and the good ending that ended it.
func (u *Usual) note(bad int, now time.Duration) {
	u.bad += float64(bad)
	u.well++
	u.at = now
	if u.well+u.bad > usualOf {
		u.well /= 2
		u.bad /= 2
	}
}

// begins hears how a child ended its first job, badly or not.
func (u *Usual) begins(bad bool) {
	switch {
	case u.successors == 0:
		return
	case !bad:
		u.wary = max(u.wary-1, 0)
	case u.wary == 0 || u.at != u.waryAt:
		u.wary, u.waryAt = min(u.wary+2, mostWary), u.at
	}
	u.successors--
}

// Row is what a child ended badly since it last ended a job otherwise. The zero value is that of one that has ended none. It belongs to
// its pool's loop.
type Row struct {
	n     int
	jobs  map[string]struct{} // they were about, up to minJobs
	began time.Duration
	well  bool // the child ended a job otherwise before
}

// Ended records an ending that was not bad.
func (r *Row) Ended(u *Usual, now time.Duration) {
	if r.n == 0 && !r.well {
		u.begins(false)
	}
	u.note(r.n, now)
	r.n, r.well = 0, true
	clear(r.jobs)
}

// Bad records an ending of the job jid that went badly. It reports whether the child is to blame: it ended jobs well before, or others do
// meanwhile, for else it is all jobs, or the code, and another child would do no better.
func (r *Row) Bad(jid string, u *Usual, now time.Duration) (own bool) {
	if r.n == 0 {
		r.began = now
		if !r.well {
			u.begins(true)
		}
	}
	r.n++
	if r.jobs == nil {
		r.jobs = map[string]struct{}{}
	}
	if len(r.jobs) < minJobs {
		r.jobs[jid] = struct{}{}
	}
	if r.n < leastRow<<u.wary || len(r.jobs) < minJobs || !r.well && u.at <= r.began {
		return false
	}
	own = float64(r.n)*math.Log((u.bad+1)/(u.bad+u.well+2)) < math.Log(chance)
	if own {
		u.successors++
	}
	return own
}

// Len is how long the row is.
func (r *Row) Len() int { return r.n }
