package outcome

import (
	"encoding/json"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"oarlock/protocol"
	"oarlock/runner"
)

// keptBytes is what Redis keeps of ours with a job: its checkpoint and its record.
const keptBytes = 64 << 10

// recordTail is what a record keeps of each stream, in bytes of JSON.
const recordTail = 8 << 10

// Record is the black box of an attempt that did not end well: what was seen of it,
// kept with the job as JSON until it is acknowledged or another attempt ends badly.
type Record struct {
	Ending  string    `json:"ending"` // a runner.EndingKind by name
	At      time.Time `json:"at"`
	Worker  string    `json:"worker"`
	Attempt int       `json:"attempt"`
	Run     string    `json:"run"`
	PID     int       `json:"pid,omitempty"`
	TraceID string    `json:"trace_id,omitempty"` // of which it was part

	Verdict  string `json:"verdict,omitempty"` // what the child said, if it did
	ExitCode *int   `json:"exit_code,omitempty"`
	Signal   string `json:"signal,omitempty"`  // "SIGSEGV"
	SentBy   string `json:"sent_by,omitempty"` // why we sent it, if we did
	OOM      string `json:"oom,omitempty"`     // how the kernel proves that memory ran out
	Group    string `json:"group,omitempty"`
	Message  string `json:"message,omitempty"`

	WallMS     int64 `json:"wall_ms"`
	CPUMS      int64 `json:"cpu_ms"`
	PeakMemory int64 `json:"peak_memory,omitempty"` // bytes; 0 if nobody looked

	Percent  *float64 `json:"percent,omitempty"` // the last progress
	Progress string   `json:"progress,omitempty"`
	Stdout   string   `json:"stdout,omitempty"` // the last that was printed
	Stderr   string   `json:"stderr,omitempty"`
	Dir      string   `json:"dir,omitempty"` // the private directory, if it was kept
}

// RecordOf writes the black box of an attempt of a job, by the child pid, 0 if there was none,
// of a worker. Beside so many kept bytes of its checkpoint it may be no longer than Redis keeps:
// it is without the tails if there is no room for them, and nil if there is none for it.
func RecordOf(job *protocol.Job, pid int, worker string, e *runner.Ending, kept int) []byte {
	space := keptBytes - kept
	r := Record{
		Ending:     e.Kind.String(),
		At:         time.Now().UTC().Truncate(time.Millisecond),
		Worker:     worker,
		Attempt:    job.Attempt,
		Run:        job.Run,
		PID:        pid,
		TraceID:    job.Trace.ID(),
		OOM:        e.OOM,
		Group:      e.Group,
		Message:    Fit(e.Message, recordTail),
		WallMS:     e.Wall.Milliseconds(),
		CPUMS:      e.CPU.Milliseconds(),
		PeakMemory: e.PeakMemory,
		Stdout:     Fit(string(e.StdoutTail), recordTail),
		Stderr:     Fit(string(e.StderrTail), recordTail),
		Dir:        e.Dir,
	}
	if e.Verdict != nil {
		r.Verdict = e.Verdict.Kind.String()
		r.Group, r.Message = e.Verdict.Group, Fit(e.Verdict.Message, recordTail)
	}
	switch {
	case e.Signal != 0:
		r.Signal = unix.SignalName(e.Signal)
	case e.ExitCode >= 0 && e.Kind == runner.Exited:
		r.ExitCode = &e.ExitCode
	}
	if e.SentByUs != runner.CauseNone {
		r.SentBy = e.SentByUs.String()
	}
	if e.LastProgress != nil {
		r.Percent, r.Progress = e.LastProgress.Percent, Fit(e.LastProgress.Message, 1<<10)
	}
	text, _ := json.Marshal(r) // strings and numbers that came out of JSON: nothing can fail
	if len(text) > space {
		r.Stdout, r.Stderr, r.Message = "", "", Fit(r.Message, 1<<10)
		text, _ = json.Marshal(r)
	}
	if len(text) > space {
		return nil
	}
	return text
}

// Fit returns the end of s whose JSON has at most limit bytes.
func Fit(s string, limit int) string {
	for i := len(s); i > 0; {
		r, size := utf8.DecodeLastRuneInString(s[:i])
		if limit -= jsonWidth(r, size); limit < 0 {
			return s[i:]
		}
		i -= size
	}
	return s
}

// jsonWidth is at least what encoding/json needs for a character of size bytes.
func jsonWidth(r rune, size int) int {
	switch {
	case r < 0x20, r == '<', r == '>', r == '&', r == '\u2028', r == '\u2029', r == utf8.RuneError:
		return len(`\u0000`)
	case r == '"', r == '\\':
		return 2
	}
	return size
}
