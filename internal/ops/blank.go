package ops

import (
	"encoding/json"
	"slices"

	"oarlock/internal/explain"
	"oarlock/internal/redact"
)

// Blank is what is told of a job without what r finds secret in it; Redacted tells whether there was anything. What j shares with others is
// left alone.
func Blank(r *redact.Redactor, j Job) Job {
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
	if told, blanked := r.Data(j.payload); blanked {
		j.payload = told
	}
	j.Checkpoint, j.Record = document(j.Checkpoint), document(j.Record)
	if j.Failure != nil {
		failure := *j.Failure
		var blanked bool
		failure.Message, blanked = r.Lines(failure.Message)
		note(blanked)
		j.Failure = &failure
	}
	j.History = slices.Clone(j.History)
	for i := range j.History {
		note(BlankEntry(r, &j.History[i]))
	}
	j.Redacted = did
	return j
}

// BlankEntry blanks what r finds secret in an entry of a history, and reports whether there was anything.
func BlankEntry(r *redact.Redactor, e *explain.Entry) (did bool) {
	var noted bool
	e.Says, did = r.Lines(e.Says)
	e.What, noted = r.Lines(e.What) // of a note it is the note
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
