package putline

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"oarlock/queue"
)

// Plan says when a job is to run: text is a time such as 2026-07-01T12:00:00Z, or so long from now as 90s. A time that is past is now.
// What the job said of that before is forgotten.
func Plan(job *queue.Put, text string) error {
	if long, err := time.ParseDuration(text); err == nil {
		if long < 0 {
			return fmt.Errorf("is negative: %s", text)
		}
		if long > longest*time.Second {
			return errors.New("is more than 100 years from now")
		}
		job.Delay, job.At = long, time.Time{}
		return nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return fmt.Errorf("is no time: %q; write it as 2026-07-01T12:00:00Z, or so long from now as 90s", text)
	}
	job.Delay, job.At = 0, at
	return nil
}

// moment is when a job is to run: a text as Plan has it, or seconds since the epoch.
type moment struct {
	text    string
	seconds float64
}

// latest is the end of the year 9999, in seconds since the epoch.
const latest = 253402300799

// UnmarshalJSON reads a text or a number.
func (m *moment) UnmarshalJSON(text []byte) error {
	if text[0] == '"' {
		return json.Unmarshal(text, &m.text)
	}
	if err := json.Unmarshal(text, &m.seconds); err != nil || m.seconds < 0 || m.seconds > latest {
		return fmt.Errorf("at is no time: %s; write it as 2026-07-01T12:00:00Z, as 90s from now, or in seconds since the epoch", text)
	}
	return nil
}

// plan says when a job is to run; nil leaves that as it is.
func (m *moment) plan(job *queue.Put) error {
	switch {
	case m == nil:
		return nil
	case m.text != "":
		if err := Plan(job, m.text); err != nil {
			return fmt.Errorf("at %w", err)
		}
		return nil
	}
	whole, part := math.Modf(m.seconds)
	job.Delay, job.At = 0, time.Unix(int64(whole), int64(part*1e9)).UTC()
	return nil
}
