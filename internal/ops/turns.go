package ops

import (
	"context"
	"fmt"
	"strings"

	"oarlock/internal/accord"
	"oarlock/internal/screen"
	"oarlock/queue"
)

// Fair describes how the turns of a fair queue go on.
type Fair struct {
	By         string  `json:"by"`               // what a value is, as in fair_by
	Values     int     `json:"values"`           // that wait
	AtLeast    bool    `json:"at_least"`         // more values may wait: they were not all read, or some jobs are not sorted yet
	Next       string  `json:"next"`             // the value with the next turn; "" if that is not known
	Longest    string  `json:"longest"`          // the value that has waited longest for a start; "" if none waits
	LongestFor float64 `json:"longest_for"`      // seconds
	Unsorted   int     `json:"unsorted"`         // jobs that wait and are not sorted by their values yet
	Damage     string  `json:"damage,omitempty"` // why it cannot be read
}

// FairOf describes the turns of a queue; nil if it is not fair.
func FairOf(ctx context.Context, q *queue.Client, name string) (*Fair, error) {
	fair, now, err := q.Fairness(ctx, name)
	if err != nil || len(fair) == 0 {
		return nil, err
	}
	f := fair[0]
	if f.Damage != "" {
		return &Fair{Damage: f.Damage}, nil
	}
	set, _, err := accord.ReadSet(ctx, q)
	by := ""
	if err == nil { // else the doctor says what cannot be read
		by, _ = set.FairBy(name)
	}
	return &Fair{
		By: by, Values: f.Values, AtLeast: f.More || f.Unsorted > 0 && f.Values > 0, Next: f.Next, Longest: f.Longest, LongestFor: f.WaitedFor(now), Unsorted: f.Unsorted,
	}, nil
}

// valueWord is a value in a sentence: a value that is missing is '-'.
func valueWord(value string) string { return strings.TrimPrefix(screen.InShell(value), "-- ") }

// Words describes it in one sentence.
func (f *Fair) Words() string {
	if f.Damage != "" {
		return "turns cannot be read: " + f.Damage
	}
	text := "values take turns"
	if f.By != "" {
		text = fmt.Sprintf("values of %s take turns", screen.InShell(f.By))
	}
	switch {
	case f.Values == 0:
		return text + "; none waits"
	case f.AtLeast:
		text += fmt.Sprintf("; at least %s", screen.Some(f.Values, "value"))
	default:
		text += "; " + screen.Some(f.Values, "value")
	}
	if f.Values == 1 {
		text += " waits"
	} else {
		text += " wait"
	}
	if f.Next != "" {
		text += ", next " + valueWord(f.Next)
	}
	if f.Longest != "" {
		text += fmt.Sprintf(", longest %s for %s", valueWord(f.Longest), screen.Seconds(f.LongestFor))
	}
	if f.Unsorted > 0 {
		text += fmt.Sprintf("; %s not sorted by value yet", screen.Some(f.Unsorted, "job"))
	}
	return text
}
