package queue

import (
	"encoding/json"
	"slices"
)

// standingNames is how many names a Standing keeps.
const standingNames = 32

// Standing is something that stands in the way of a job without being its fault: since
// when, how often it was met, and by whom last. The zero value is nothing.
type Standing struct {
	First float64  `json:"first"` // seconds since the epoch
	Count int      `json:"count"`
	Names []string `json:"names,omitempty"` // who met it: the last 32, each once
}

// Met returns s as it is after it was met once more, at the time now, by name; "" is
// nobody. s itself stays as it is.
func (s Standing) Met(now float64, name string) *Standing {
	if s.Count == 0 || s.First > now {
		s = Standing{First: now}
	}
	s.Count++
	if name != "" {
		s.Names = append(slices.DeleteFunc(slices.Clone(s.Names), func(have string) bool { return have == name }), name)
		s.Names = s.Names[max(len(s.Names)-standingNames, 0):]
	}
	return &s
}

// text is s as it is kept with a job.
func (s *Standing) text() []byte {
	text, _ := json.Marshal(s) // numbers that came from a clock, and strings
	return text
}

// readStanding reads what is kept with a job; what cannot be read is nothing.
func readStanding(text []byte) Standing {
	var s Standing
	if len(text) == 0 || json.Unmarshal(text, &s) != nil || s.Count < 0 {
		return Standing{}
	}
	return s
}
