package decider

import (
	"encoding/json"
	"fmt"
	"math"
	"time"
	"unicode/utf8"

	"oarlock/internal/asked"
	"oarlock/queue"
)

// What a command reads: one line of JSON.
type question struct {
	Tag        string      `json:"@"` // ask
	About      string      `json:"about"`
	Throttle   string      `json:"throttle"`
	Candidates []candidate `json:"candidates"`
	Running    []running   `json:"running"`
	More       int         `json:"more"` // running jobs that are not listed
	Places     int         `json:"places"`
}

type candidate struct {
	JID      string          `json:"jid"`
	Klass    string          `json:"klass"`
	Queue    string          `json:"queue"`
	Priority float64         `json:"priority"`
	Tags     []string        `json:"tags"`
	Waited   float64         `json:"waited"` // seconds since it was put
	Attempt  int             `json:"attempt"`
	Places   int             `json:"places"`
	Data     json.RawMessage `json:"data"` // null where it is longer than 4 KiB
	Size     int             `json:"size"` // of the data, in bytes
}

type running struct {
	JID      string          `json:"jid"`
	Klass    string          `json:"klass"`
	Queue    string          `json:"queue"`
	Priority float64         `json:"priority"`
	Tags     []string        `json:"tags"`
	Places   int             `json:"places"`
	For      *float64        `json:"for"`  // seconds; null: it may start, and has not yet
	Data     json.RawMessage `json:"data"` // null where it is longer than 4 KiB
	Size     int             `json:"size"` // of the data, in bytes
}

// lineOf is a question as the command reads it.
func lineOf(throttle string, q queue.Question, now float64) ([]byte, error) {
	line := question{"ask", "throttle", throttle, []candidate{}, []running{}, q.More, q.Places}
	for _, c := range q.Candidates {
		line.Candidates = append(line.Candidates, candidate{c.JID, c.Klass, c.Queue, c.Priority, append([]string{}, c.Tags...), rounded(now - c.Put), c.Attempt, c.Places, asked.JSON(c.Data), c.Size})
	}
	for _, r := range q.Running {
		out := running{r.JID, r.Klass, r.Queue, r.Priority, append([]string{}, r.Tags...), r.Places, nil, asked.JSON(r.Data), r.Size}
		if r.Since > 0 {
			since := rounded(now - r.Since)
			out.For = &since
		}
		line.Running = append(line.Running, out)
	}
	text, err := json.Marshal(line)
	return append(text, '\n'), err
}

func rounded(seconds float64) float64 { return math.Round(max(0, seconds)*1000) / 1000 }

// answer is what a command prints; see asked.Answer.
type answer struct {
	Start []string           `json:"start"`
	Hold  map[string]float64 `json:"hold"`
	Delay map[string]float64 `json:"delay"`
	Shut  float64            `json:"shut"`
	Why   map[string]string  `json:"why"`
}

// Between which times answers are used.
const (
	leastTime  = 0.1     // seconds
	mostHold   = 3600.0  // for longer a job is put off
	mostDelay  = 31536e4 // ten years
	mostShut   = 3600.0
	mostReason = 200 // bytes
	usualHold  = 5 * time.Second
	permitTime = 10 * time.Second
)

// decisionOf is what an answer says of each candidate: one that it does not name is held for a while. unknown is how many jobs it
// named that were none. The error is a sentence; then nothing is decided.
func decisionOf(printed []byte, q queue.Question) (d queue.Decision, unknown int, err error) {
	var a answer
	if err := asked.Answer(printed, "start, hold, delay, shut and why", &a); err != nil {
		return d, 0, err
	}
	seconds := func(what string, n, most float64) (time.Duration, error) {
		if !(n >= 0) || n > most {
			return 0, fmt.Errorf("%s is %v; it goes from 0 to %v seconds", what, n, most)
		}
		return time.Duration(max(n, leastTime) * float64(time.Second)), nil
	}
	if a.Shut != 0 {
		if d.Pause, err = seconds("shut", a.Shut, mostShut); err != nil {
			return queue.Decision{}, 0, err
		}
	}
	named := len(a.Hold) + len(a.Delay)
	started := map[string]bool{}
	for _, jid := range a.Start {
		if !started[jid] {
			started[jid], named = true, named+1
		}
	}
	for _, c := range q.Candidates {
		v := queue.Verdict{JID: c.JID, Queue: c.Queue, Verb: queue.VerdictHold, For: usualHold, Why: short(a.Why[c.JID])}
		hold, held := a.Hold[c.JID]
		delay, delayed := a.Delay[c.JID]
		for _, said := range []bool{held, delayed, started[c.JID]} {
			if said {
				named--
			}
		}
		switch {
		case delayed:
			v.Verb = queue.VerdictDelay
			v.For, err = seconds("delay of "+asked.Excerpt(c.JID), delay, mostDelay)
		case held:
			v.For, err = seconds("hold of "+asked.Excerpt(c.JID), hold, mostHold)
		case started[c.JID]:
			v.Verb, v.For = queue.VerdictStart, permitTime
		}
		if err != nil {
			return queue.Decision{}, 0, err
		}
		d.Verdicts = append(d.Verdicts, v)
	}
	return d, named, nil
}

// short is a reason as it is kept.
func short(why string) string {
	if len(why) <= mostReason {
		return why
	}
	cut := mostReason
	for cut > 0 && !utf8.RuneStart(why[cut]) {
		cut--
	}
	return why[:cut] + "…"
}
