package rollcall

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"oarlock/queue"
	"oarlock/supervisor"
)

// mostUnheard is how many supervisors are told of that did not answer.
const mostUnheard = 100

// Unheard is a supervisor that did not answer, as the names tell by which it takes jobs: its roll call is switched off, it is of
// an older version, it stands still, or it died and nobody came after it. Of its children, its rules, and whether it lives,
// nothing is known. One that has taken nothing for a day, or works lists alone, leaves no such names.
type Unheard struct {
	Name    string   `json:"name"`
	PID     int      `json:"pid"`
	Pools   []string `json:"pools"`   // that have taken jobs
	Workers []string `json:"workers"` // by which Redis knows these pools
	Jobs    int      `json:"jobs"`    // that it holds by locks that are good: it was there when these were renewed last
	Stalled int      `json:"stalled"` // that it holds by locks that ran out
	Seen    float64  `json:"seen"`    // when it last took or renewed, in seconds since the epoch
}

// NoteUnheard sets Unheard to the supervisors that workers of Redis tell of and that are not among Items, who was seen last first, a
// hundred at most. While the roll is Pending it is nil.
func (r *Roll) NoteUnheard(workers []queue.WorkerCounts) {
	if r.Unheard = nil; r.Pending {
		return
	}
	r.Unheard = []Unheard{}
	for _, w := range workers {
		who, pool := WhoseWorker(w.Name)
		if who.Name == "" || slices.ContainsFunc(r.Items, func(a Answer) bool {
			return strings.HasPrefix(w.Name, fmt.Sprintf("%s-%d-", a.Status.Name, a.Status.PID))
		}) {
			continue
		}
		i := slices.IndexFunc(r.Unheard, func(u Unheard) bool { return u.Name == who.Name && u.PID == who.PID })
		if i < 0 {
			i = len(r.Unheard)
			r.Unheard = append(r.Unheard, Unheard{Name: who.Name, PID: who.PID})
		}
		u := &r.Unheard[i]
		u.Workers = append(u.Workers, w.Name)
		if !slices.Contains(u.Pools, pool) { // one that was dropped and came again has another worker
			u.Pools = append(u.Pools, pool)
		}
		u.Jobs, u.Stalled, u.Seen = u.Jobs+w.Jobs, u.Stalled+w.Stalled, max(u.Seen, w.Seen)
	}
	slices.SortStableFunc(r.Unheard, func(a, b Unheard) int { return cmp.Compare(b.Seen, a.Seen) })
	r.Unheard = r.Unheard[:min(len(r.Unheard), mostUnheard)]
}

// Only leaves of Items and Unheard those that have, or took jobs for, a pool that one of globs matches, and of their pools and sums what is of
// such. Who told of so much that it was cut stays whole, for nobody knows which of its children are of which pool. It reports whether there are any.
func (r *Roll) Only(globs []string) bool {
	named := func(pool string) bool { return queue.MatchAny(globs, pool) }
	items := r.Items[:0:0]
	for _, a := range r.Items {
		pools := slices.DeleteFunc(slices.Clone(a.Status.Pools), func(p supervisor.PoolSnapshot) bool { return !named(p.Name) })
		if len(pools) == 0 && !a.Cut {
			continue
		}
		if !a.Cut {
			a.Status.Pools = pools
			a.Sums = Sum(&a.Status)
		}
		items = append(items, a)
	}
	r.Items = items
	r.Unheard = slices.DeleteFunc(r.Unheard, func(u Unheard) bool { return !slices.ContainsFunc(u.Pools, named) })
	return len(r.Items)+len(r.Unheard) > 0
}

// Working is how many of Unheard hold jobs by locks that are good.
func (r *Roll) Working() (n int) {
	for _, u := range r.Unheard {
		if u.Jobs > 0 {
			n++
		}
	}
	return n
}

// Says is in words what is known of it, beside when it was seen.
func (u *Unheard) Says() string {
	switch {
	case u.Jobs == 1:
		return "holds a job"
	case u.Jobs > 0:
		return fmt.Sprintf("holds %d jobs", u.Jobs)
	case u.Stalled > 0:
		return "its locks ran out: it stands still, is cut off, or died"
	}
	return "idle, or gone"
}

// WhoseWorker is whose worker one is, by its name as our supervisors make it, and of which pool: supervisor, process, pool, and ten
// digits that nobody else has. All but the process may have dashes and numbers in them, so of several numbers the last
// counts that is large enough for a process, as in a-2-4711-mail-2; where none is, the last. It is Who{} of a name that is another's.
func WhoseWorker(worker string) (who Who, pool string) {
	parts := strings.Split(worker, "-")
	last := len(parts) - 1
	if len(parts[last]) != 10 || strings.Trim(parts[last], "0123456789abcdef") != "" {
		return Who{}, ""
	}
	at, pid := 0, 0
	for i := last - 2; i > 0; i-- {
		n, err := strconv.Atoi(parts[i])
		if err == nil && n > 0 && strconv.Itoa(n) == parts[i] && (at == 0 || pid < 100 && n >= 100) {
			at, pid = i, n
		}
	}
	if at == 0 {
		return Who{}, ""
	}
	return Who{strings.Join(parts[:at], "-"), pid}, strings.Join(parts[at+1:last], "-")
}
