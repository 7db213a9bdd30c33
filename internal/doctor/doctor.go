// Package doctor looks at a Redis, at what is kept in it and at the host, and tells what
// could lose jobs, hold them up, or puzzle somebody. It owns the findings until they are reported, and changes
// nothing but contradictions of keys, if it is to. It must not know the command line, nor how a finding is shown.
package doctor

import (
	"context"
	"fmt"
	"strings"

	"oarlock/queue"
	"oarlock/queue/admin"
)

// Level is how bad a finding is.
type Level string

// The levels.
const (
	OK      Level = "ok"
	Note    Level = "note"    // good to know
	Warning Level = "warning" // will hurt some day
	Bad     Level = "bad"     // hurts, or loses jobs
	Fixed   Level = "fixed"   // was bad
)

// Finding is one thing that was looked at.
type Finding struct {
	Subject string `json:"subject"`
	Level   Level  `json:"level"`
	Text    string `json:"text"`
	Advice  string `json:"advice,omitempty"`
}

// Doctor examines one Redis, and keeps what it finds. It is for one goroutine.
type Doctor struct {
	Client *queue.Client
	Fix    bool          // repair inconsistencies between keys
	Report func(Finding) // is told of each finding as it is made
}

// Needs looks whether this version knows all that the key space has; if not, nothing is repaired.
func (d *Doctor) Needs(ctx context.Context) error {
	words, err := d.Client.Needs(ctx)
	if err != nil {
		return readable(err) // types tells of it
	}
	if unknown := queue.Unknown(words); len(unknown) > 0 {
		d.Fix = false
		d.found(Bad, "versions", "Upgrade it. It takes no jobs here and repairs nothing: what it does not know would look damaged to it.",
			"This version does not know what the key space needs: %s.", strings.Join(unknown, ", "))
	}
	return nil
}

func (d *Doctor) found(level Level, subject, advice, format string, args ...any) {
	d.Report(Finding{Subject: subject, Level: level, Text: fmt.Sprintf(format, args...), Advice: advice})
}

// hidden tells that something could not be looked at. It returns err if that is not for
// want of permission or because the server does not know the command, else nil.
func (d *Doctor) hidden(subject string, err error) error {
	text := err.Error()
	if queue.Class(err) == queue.Denied {
		d.found(Note, subject, "", "Redis does not let us see this: %s", text)
		return nil
	}
	for _, answer := range []string{"NOPERM", "ERR unknown", "unknown command", "not supported", "unsupported"} {
		if strings.Contains(text, answer) {
			d.found(Note, subject, "", "Redis does not let us see this: %s", text)
			return nil
		}
	}
	return err
}

// readable makes nothing of an error that a key is of a wrong type: Keys tells of it.
func readable(err error) error {
	if admin.IsWrongType(err) {
		return nil
	}
	return err
}
