package ops

import (
	"context"

	"oarlock/queue"
)

// FailureGroup is how many jobs have failed in a group, and what the newest of them said.
type FailureGroup struct {
	Group  string   `json:"group"`
	Jobs   int      `json:"jobs"`
	Newest *Failing `json:"newest,omitempty"` // nil where there is none to be read
	Damage string   `json:"damage,omitempty"`
}

// Failing is a job that failed, in short.
type Failing struct {
	JID     string  `json:"jid"`
	Klass   string  `json:"klass"`
	Queue   string  `json:"queue"`
	When    float64 `json:"when"` // seconds since the epoch
	Message string  `json:"message"`
}

// FailureGroups are a part of the groups. The largest come first; where there are more than a thousand they
// are in no order, and Sorted says so.
type FailureGroups struct {
	Part[FailureGroup]
	Sorted bool `json:"sorted"`
}

// Failures lists the groups in which jobs have failed.
func Failures(ctx context.Context, q *queue.Client, w Window) (FailureGroups, error) {
	found, err := q.FailureGroups(ctx, w.Cursor, w.limit(), queue.Brief)
	if err != nil {
		return FailureGroups{}, cursorError(err)
	}
	f := FailureGroups{Part[FailureGroup]{[]FailureGroup{}, found.Next, found.Total, found.Now}, found.Sorted}
	for _, g := range found.Groups {
		v := FailureGroup{Group: g.Name, Jobs: g.Jobs}
		if g.Newest != "" {
			v.Newest = &Failing{g.Newest, g.Klass, g.Queue, g.When, g.Message}
		}
		if g.Jobs < 0 {
			v.Jobs, v.Damage = 0, q.FailedGroupDamage(g.Name)
		}
		f.Items = append(f.Items, v)
	}
	return f, nil
}
