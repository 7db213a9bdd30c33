package explain

import (
	"encoding/json"
	"fmt"

	"oarlock/internal/screen"
	"oarlock/queue"
	"oarlock/supervisor"
)

// Entry is one line of a job's history.
type Entry struct {
	When   float64 `json:"when"`
	What   string  `json:"what"`
	Queue  string  `json:"queue,omitempty"`
	Worker string  `json:"worker,omitempty"`
	Group  string  `json:"group,omitempty"`
	Says   string  `json:"says"` // in words
	// Inferred says that Redis has no such entry.
	Inferred bool                       `json:"inferred,omitempty"`
	More     map[string]json.RawMessage `json:"more,omitempty"`
}

// History says in words what happened to a job. What the keys hold is for other clients to
// read, too: there a crash is a timeout, and a retry leaves no entry at all; it is inferred
// from a job that was taken twice, or waits though it was taken.
func History(job queue.Job) []Entry {
	told := []Entry{}
	var taken *queue.Entry // the last entry, if it is that the job was taken
	for i, e := range job.History {
		says := entryWords(e)
		switch {
		case e.What == "popped" && taken != nil:
			told = append(told, inferredRetry(e.When, *taken, ""))
			taken = &job.History[i]
		case e.What == "popped":
			taken = &job.History[i]
		case e.What == "failed", e.What == "failed-retries", e.What == "done", e.What == "put", e.What == "timed-out", e.What == "parked":
			taken = nil
			// The job keeps the last failure only.
			if f := job.Failure; e.Group != "" && f.Group == e.Group && f.When == e.When && f.Message != "" {
				says += ": " + screen.Shorten(f.Message, 300)
			}
		}
		told = append(told, Entry{When: e.When, What: e.What, Queue: e.Queue, Worker: e.Worker, Group: e.Group, More: e.More, Says: says})
	}
	if taken == nil || job.State == "running" || job.State == "complete" || job.State == "failed" {
		return told
	}
	if f := job.Failure; f.Group != "" && f.When >= taken.When {
		return append(told, inferredRetry(f.When, *taken, fmt.Sprintf(" (%s: %s)", f.Group, screen.Shorten(f.Message, 300))))
	}
	return append(told, inferredRetry(taken.When, *taken, ""))
}

// inferredRetry is the entry that a retry does not leave. It was at the moment when, or, if
// nothing tells, before. why is in brackets, after a blank, or "".
func inferredRetry(when float64, taken queue.Entry, why string) Entry {
	return Entry{When: when, What: "retried", Worker: taken.Worker, Inferred: true,
		Says: fmt.Sprintf("ended badly on %s%s, which used a retry", taken.Worker, why)}
}

// entryWords says what an entry of a history means.
func entryWords(e queue.Entry) string {
	switch e.What {
	case "put":
		return "put into " + e.Queue
	case "popped":
		return "taken by " + e.Worker
	case "done":
		return "done"
	case "throttled":
		return "told to wait for a throttle"
	case "failed", "failed-retries":
		if e.Worker == "" {
			return "failed, with no retry left: " + e.Group
		}
		return fmt.Sprintf("failed on %s: %s", e.Worker, e.Group)
	case "timed-out":
		return givenBackWords(e)
	case "replaced":
		return replacedWords(e)
	case "parked":
		return parkedWords(e)
	case "window":
		return windowWords(e)
	}
	return "noted: " + e.What
}

// parkedWords says what a job began to wait for.
func parkedWords(e queue.Entry) string {
	var correlation string
	var until float64
	if json.Unmarshal(e.More["correlation"], &correlation) != nil || json.Unmarshal(e.More["until"], &until) != nil {
		return "noted: parked"
	}
	return fmt.Sprintf("parked, to wait for an answer to %s until %s", screen.InShell(correlation), screen.Moment(until))
}

// windowWords says until when a window holds a job.
func windowWords(e queue.Entry) string {
	var until float64
	if json.Unmarshal(e.More["until"], &until) != nil {
		return "noted: window"
	}
	return "came outside of its windows, held until " + screen.Moment(until)
}

// replacedWords says how a job had failed before it was put again.
func replacedWords(e queue.Entry) string {
	var r supervisor.Record
	if json.Unmarshal(e.More["record"], &r) != nil {
		return "noted: replaced"
	}
	return fmt.Sprintf("it had failed before (attempt %d on %s, %s: %s)", r.Attempt, r.Worker, r.Group, screen.Shorten(r.Message, 300))
}

// givenBackWords says how a job left its worker without an end.
func givenBackWords(e queue.Entry) string {
	var how string
	if json.Unmarshal(e.More["oarlock"], &how) != nil {
		return "its lock ran out, or it was taken from its worker"
	}
	group := ""
	if e.Group != "" {
		group = " (" + e.Group + ")"
	}
	switch queue.Counter(how) {
	case queue.CountCrash:
		return fmt.Sprintf("crashed on %s%s, which uses no retry", e.Worker, group)
	case queue.CountInterruption:
		return fmt.Sprintf("interrupted on %s%s and given back, which uses no retry", e.Worker, group)
	case queue.CountSpared:
		return fmt.Sprintf("ended badly on %s%s, as all else in its pool, which uses no retry", e.Worker, group)
	case queue.CountBatch:
		return fmt.Sprintf("its message, with other jobs, came to grief on %s%s; it comes again with half as many, which uses no retry", e.Worker, group)
	case queue.CountDeath:
		return fmt.Sprintf("given back, because its supervisor died with %s, which uses no retry", e.Worker)
	case "taken-back":
		return fmt.Sprintf("taken from %s by hand", e.Worker)
	}
	return fmt.Sprintf("given back by %s%s, which uses no retry", e.Worker, group)
}
