// Package output keeps what jobs printed, for a while and within bounds, in files of the
// state directory. Nothing that happens to those files is ever waited for by who hands it
// over: a goroutine of its own writes, and what it has no room for is dropped and counted.
package output

import (
	"crypto/sha256"
	"encoding/hex"

	"oarlock/protocol"
	"oarlock/runner"
)

const (
	// MaxJobs is of how many jobs a pool keeps the output; the oldest goes first.
	MaxJobs = 1000
	// MaxBytes is how much room the files of a pool take.
	MaxBytes = 64 << 20
	// MaxWell is how many jobs a second that ended well are kept of a pool.
	MaxWell = 100
)

// Attempt is what is known of an attempt beside what it printed.
type Attempt struct {
	JID      string  `json:"jid"`
	Klass    string  `json:"klass"`
	Queue    string  `json:"queue"`
	Pool     string  `json:"pool"`
	Attempt  int     `json:"attempt"`
	Run      string  `json:"run"`
	Outcome  string  `json:"outcome"`
	Kind     string  `json:"kind"`     // a runner.EndingKind by name
	Ended    float64 `json:"ended"`    // seconds since the epoch
	Duration float64 `json:"duration"` // seconds
}

// Line is a line that was printed, made visible.
type Line struct {
	Stream string `json:"stream"` // stdout, stderr, or status for a log record
	Text   string `json:"text"`
}

// Printed is an attempt with what it printed.
type Printed struct {
	Attempt
	Lost  int64  `json:"lost"` // bytes before Lines that were too many
	Lines []Line `json:"lines"`
}

// Entry is what is handed over to be kept.
type Entry struct {
	Attempt
	Well   bool // it ended well: such are left out where there are too many
	Output *runner.Output
}

// printed makes of an entry what stands in its file.
func (e *Entry) printed() Printed {
	p := Printed{Attempt: e.Attempt, Lost: e.Output.Lost, Lines: []Line{}}
	for stream, text := range e.Output.Lines() {
		p.Lines = append(p.Lines, Line{Stream: stream.String(), Text: string(protocol.Visible(nil, text))})
	}
	return p
}

// mark is the part of a file's name that says whose it is. A jid may be anything, so nothing
// of it stands there itself.
func mark(jid string) string {
	sum := sha256.Sum256([]byte(jid))
	return hex.EncodeToString(sum[:16])
}
