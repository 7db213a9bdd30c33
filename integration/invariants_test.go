package integration

import (
	"fmt"
	"slices"
	"testing"
)

// allowed is how much of what must not be a row has to put up with.
type allowed struct {
	twice   int     // I4: jobs begun more than once
	overlap float64 // I5: seconds that two runs of one job may live side by side

	starved map[string]string // runs after which a job may begin again beyond that; by id
}

// breaches returns what is wrong between the ledger and Redis: invariants I1 to I5
// of FAULTS.md, one sentence each.
func breaches(jobs []job, entries []entry, may allowed) []string {
	var wrong []string
	breach := func(id, format string, args ...any) {
		wrong = append(wrong, id+": "+fmt.Sprintf(format, args...))
	}
	byJob := runs(entries)
	for _, j := range jobs {
		listed := j.state
		if listed == "stalled" {
			listed = "waiting" // the protocol's word for a swept job in the work set
		}
		if len(j.places) != 1 || j.places[0] != listed {
			breach("I1", "job %s says it is %q and is listed in %q", j.jid, j.state, j.places)
		}
		rs := byJob[j.jid]
		if j.state == "complete" {
			if len(rs) == 0 {
				breach("I1", "job %s is complete, and no run of it ever began", j.jid)
			} else if last := rs[len(rs)-1]; !last.ended && !(may.overlap > 0 && slices.ContainsFunc(rs, last.before)) {
				breach("I2", "job %s is complete, and its last run %s never ended: an earlier run settled it", j.jid, last.run)
			}
		}
		if popped, settled := j.settlements(); settled > popped {
			breach("I3", "job %s was popped %d times and settled %d times", j.jid, popped, settled)
		}
	}
	twice := 0
	for _, rs := range byJob {
		if slices.ContainsFunc(rs[:len(rs)-1], func(run ledgerRun) bool { return may.starved[run.run] == "" }) {
			twice++
		}
	}
	if twice > may.twice {
		breach("I4", "%d jobs were begun more than once, %d may", twice, may.twice)
	}
	if over, jid := overlap(entries); over > may.overlap {
		breach("I5", "two runs of job %s lived side by side for %.3f s, %.3f s may be", jid, over, may.overlap)
	}
	slices.Sort(wrong)
	return wrong
}

// before reports whether another run is of a later attempt and ended: where two may live side by side, whoever took a job over may begin first.
func (r ledgerRun) before(other ledgerRun) bool { return other.attempt > r.attempt && other.ended }

// A checker that finds nothing proves nothing: each kind of breach is made once.
func TestBreaches(t *testing.T) {
	good := job{jid: "a", state: "complete", places: []string{"complete"},
		history: []event{{what: "put"}, {what: "popped"}, {what: "done"}}}
	line := func(run, what string, at float64) entry {
		return entry{jid: "a", attempt: 1, run: run, what: what, at: at}
	}
	once := []entry{line("r1", "begin", 1), line("r1", "end", 2)}
	tests := []struct {
		name    string
		change  func(j *job)
		entries []entry
		want    string // the invariant; "" for none
	}{
		{"all is well", func(*job) {}, once, ""},
		{"lost", func(j *job) { j.places = nil }, once, "I1"},
		{"in two places", func(j *job) { j.places = append(j.places, "waiting") }, once, "I1"},
		{"in the wrong place", func(j *job) { j.state = "failed" }, once, "I1"},
		{"done by nobody", func(*job) {}, nil, "I1"},
		{"settled by a run that had lost it", func(*job) {},
			[]entry{line("r1", "begin", 1), line("r1", "end", 2), line("r2", "begin", 3)}, "I2"},
		{"settled twice", func(j *job) { j.history = append(j.history, event{what: "done"}) }, once, "I3"},
		{"begun twice", func(*job) {},
			[]entry{line("r1", "begin", 1), line("r2", "begin", 3), line("r2", "end", 4)}, "I4"},
		{"alive twice", func(*job) {},
			[]entry{line("r1", "begin", 1), line("r2", "begin", 3), line("r1", "beat", 3.5), line("r2", "end", 4)}, "I5"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			j := good
			j.places = slices.Clone(good.places)
			j.history = slices.Clone(good.history)
			tt.change(&j)
			may := allowed{}
			if tt.want == "I5" || tt.want == "I2" {
				may.twice = 1
			}
			got := breaches([]job{j}, tt.entries, may)
			if tt.want == "" && len(got) > 0 || tt.want != "" && (len(got) != 1 || got[0][:2] != tt.want) {
				t.Errorf("breaches = %q, want one of %q", got, tt.want)
			}
		})
	}
}
