package ops

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"oarlock/internal/screen"
	"oarlock/queue"
)

// Seen is a job as somebody saw it in a list.
type Seen struct {
	JID string
	As  If
}

// bulkDone are the deeds of a Bulk as they are told when they are done.
var bulkDone = map[string]string{
	"retry": "retried", "move": "moved", "drop": "dropped", "cancel": "canceled", "priority": "reprioritised", "tag": "tagged", "untag": "untagged", "now": "made due",
	"kill": "killed", "take_back": "taken back",
}

// DoSeen does the deed, for which no plan is wanted, to jobs that somebody chose one by one: to each only if it is still as it was
// seen. Those that are not are among Changed.
func (b Bulk) DoSeen(ctx context.Context, q *queue.Client, seen []Seen) (Amended, error) {
	a := Amended{Deed: bulkDone[b.Action]}
	if err := b.check(); err != nil {
		return a, err
	}
	as := map[string]If{}
	var jids []string
	for _, s := range seen {
		as[s.JID], jids = s.As, append(jids, s.JID)
	}
	jids = sorted(jids)
	found, err := q.Glances(ctx, queue.Brief, jids...)
	if err != nil {
		return a, err
	}
	var changes []queue.Amendment
	for _, g := range found {
		if g.Row == queue.RowGone || tagOf(g.Job) != string(as[g.JID]) {
			a.Changed = append(a.Changed, g.JID)
			continue
		}
		changes = append(changes, b.amendment(g.Job))
	}
	done, err := amendAll(ctx, q, changes, a.Deed)
	done.Changed = slices.Concat(a.Changed, done.Changed)
	return done, err
}

// Says is what became of the jobs, in a sentence.
func (a Amended) Says() string {
	told := []string{fmt.Sprintf("%s %s", screen.Some(len(a.Done), "job"), a.Deed)}
	if n := len(a.Changed); n > 0 {
		told = append(told, fmt.Sprintf("%s left alone: changed meanwhile, or gone", screen.Some(n, "job")))
	}
	if n := len(a.Refused); n > 0 {
		told = append(told, fmt.Sprintf("%s refused: %s", screen.Some(n, "job"), a.Refused[0]))
	}
	return strings.Join(told, "; ")
}
