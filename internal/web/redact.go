package web

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"oarlock/internal/ops"
	"oarlock/internal/redact"
	"oarlock/internal/rollcall"
	"oarlock/supervisor"
)

// redactor blanks what is secret in what is told. Child and Redis keep all.
type redactor struct{ *redact.Redactor }

// text blanks what is secret in a text of others, line by line.
func (r redactor) text(text string) string {
	told, _ := r.Lines(text)
	return told
}

// any blanks what is secret in a text which may be a document, be it cut, and reports whether there was something.
func (r redactor) any(text string) (string, bool) {
	if begins := strings.TrimLeft(text, " \t\r\n"); begins == "" || begins[0] != '{' && begins[0] != '[' {
		return r.Lines(text)
	}
	told, did := r.Data([]byte(text))
	return string(told), did
}

// data blanks what is secret in a document.
func (r redactor) data(text json.RawMessage) json.RawMessage {
	told, _ := r.Data(text)
	return told
}

// job blanks what is secret in what is told of a job.
func (r redactor) job(j ops.Job) ops.Job { return ops.Blank(r.Redactor, j) }

// blanked is a supervisor that tells no secrets of children and jobs.
type blanked struct {
	Supervisor
	r redactor
}

func (b blanked) Snapshot() supervisor.Snapshot { return b.r.snapshot(b.Supervisor.Snapshot()) }

// snapshot is what a supervisor says of itself, without what is secret in what children and jobs said.
func (r redactor) snapshot(shot supervisor.Snapshot) supervisor.Snapshot {
	shot.Pools = slices.Clone(shot.Pools)
	for i := range shot.Pools {
		r.pool(&shot.Pools[i])
	}
	return shot
}

// blankedOthers are supervisors of which no secrets of children and jobs are told.
type blankedOthers struct {
	Others
	r redactor
}

func (b blankedOthers) Call(ctx context.Context) (rollcall.Roll, error) {
	roll, err := b.Others.Call(ctx)
	roll.Items = slices.Clone(roll.Items) // others are told of it, too
	for i := range roll.Items {
		item := &roll.Items[i]
		item.Status, item.Disagrees = b.r.snapshot(item.Status), slices.Clone(item.Disagrees)
		for n, text := range item.Disagrees {
			item.Disagrees[n] = b.r.text(text)
		}
	}
	return roll, err
}

func (b blankedOthers) Tail(ctx context.Context, of rollcall.Who, pool string, slot, lines int) (rollcall.Tail, error) {
	tail, err := b.Others.Tail(ctx, of, pool, slot, lines)
	for i := range tail.Lines { // whoever told it has blanked what is secret by its own rules
		tail.Lines[i].Text = b.r.text(tail.Lines[i].Text)
	}
	return tail, err
}

// pool blanks what is secret in what is told of a pool.
func (r redactor) pool(p *supervisor.PoolSnapshot) {
	p.Breaker, p.Barren = r.text(p.Breaker), r.text(p.Barren)
	if p.GivenUp != nil {
		given := *p.GivenUp
		given.Message = r.text(given.Message)
		p.GivenUp = &given
	}
	p.LastRolls = slices.Clone(p.LastRolls)
	for i := range p.LastRolls {
		p.LastRolls[i].Message = r.text(p.LastRolls[i].Message)
	}
	p.Slots = slices.Clone(p.Slots)
	for i := range p.Slots {
		slot := &p.Slots[i]
		slot.Runs = slices.Clone(slot.Runs)
		for j := range slot.Runs {
			slot.Runs[j].Progress = r.text(slot.Runs[j].Progress)
		}
	}
}
