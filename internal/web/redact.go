package web

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"oarlock/internal/explain"
	"oarlock/internal/ops"
	"oarlock/internal/redact"
	"oarlock/internal/rollcall"
	"oarlock/supervisor"
)

// redactor blanks what is secret in what is told. Child and Redis keep all.
type redactor struct{ *redact.Redactor }

// text blanks what is secret in a text of others, line by line.
func (r redactor) text(text string) string {
	told, _ := r.lines(text)
	return told
}

func (r redactor) lines(text string) (string, bool) {
	var all strings.Builder
	did := false
	for line := range strings.Lines(text) {
		told, blanked := r.Line(strings.TrimSuffix(line, "\n"))
		all.WriteString(told)
		if strings.HasSuffix(line, "\n") {
			all.WriteByte('\n')
		}
		did = did || blanked
	}
	if !did {
		return text, false
	}
	return all.String(), true
}

// any blanks what is secret in a text which may be a document, be it cut, and reports whether there was something.
func (r redactor) any(text string) (string, bool) {
	if begins := strings.TrimLeft(text, " \t\r\n"); begins == "" || begins[0] != '{' && begins[0] != '[' {
		return r.lines(text)
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
func (r redactor) job(j ops.Job) ops.Job {
	var did bool
	note := func(blanked bool) { did = did || blanked }
	document := func(text json.RawMessage) json.RawMessage {
		told, blanked := r.Data(text)
		note(blanked)
		return told
	}
	if begins := ""; j.Size > 0 && json.Unmarshal(j.Data, &begins) == nil { // the beginning of a document, as a text
		told, blanked := r.Data([]byte(begins))
		note(blanked)
		if blanked {
			j.Data, _ = json.Marshal(string(told)) // of a string: cannot fail
		}
	} else {
		j.Data = document(j.Data)
	}
	j.Checkpoint, j.Record = document(j.Checkpoint), document(j.Record)
	if j.Failure != nil {
		failure := *j.Failure
		var blanked bool
		failure.Message, blanked = r.lines(failure.Message)
		note(blanked)
		j.Failure = &failure
	}
	j.History = slices.Clone(j.History)
	for i := range j.History {
		note(r.entry(&j.History[i]))
	}
	j.Redacted = did
	return j
}

// entry blanks what is secret in an entry of a history.
func (r redactor) entry(e *explain.Entry) (did bool) {
	var noted bool
	e.Says, did = r.lines(e.Says)
	e.What, noted = r.lines(e.What) // of a note it is the note
	did = did || noted
	text, err := json.Marshal(e.More)
	if err != nil {
		e.More = nil // what cannot be written cannot be looked through
		return true
	}
	if told, blanked := r.Data(text); blanked {
		var more map[string]json.RawMessage
		_ = json.Unmarshal(told, &more) // what it makes of a document is one
		e.More, did = more, true
	}
	return did
}

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
		roll.Items[i].Status = b.r.snapshot(roll.Items[i].Status)
	}
	return roll, err
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
