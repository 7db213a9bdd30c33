package proof

import (
	"fmt"
	"testing"

	"oarlock/supervisor/outcome"
)

// New code that neither ends a job well nor has many jobs to show is judged by what came before.
func TestNewCodeIsNoWorseThanWhatWasBefore(t *testing.T) {
	for name, c := range map[string]struct {
		before, of int // bad endings of the old code
		bad        int // of the first endings on the new
		jobs       int
		want       outcome.Bearing
	}{
		"as bad as before":        {before: 50, of: 100, bad: 10, jobs: 20, want: outcome.Good},
		"worse":                   {before: 49, of: 100, bad: 10, jobs: 20, want: outcome.Bad},
		"bad from the first":      {bad: 1, jobs: 20, want: outcome.Bad},
		"one job again and again": {before: 50, of: 100, bad: 20, jobs: 4, want: outcome.Neutral},
		"long ago it was worse":   {before: 100, of: 200, bad: 1, jobs: 20, want: outcome.Bad},
	} {
		var before Past
		for i := range c.of {
			before.Note(i < c.before)
		}
		code := New()
		var got outcome.Bearing
		for i := range enoughEndings {
			b := outcome.Neutral
			if i < c.bad {
				b = outcome.Bad
			}
			if got != outcome.NoBearing && got != outcome.Neutral {
				t.Errorf("%s: it was judged after %d endings", name, i)
			}
			got, _ = code.Ended(fmt.Sprint(i%c.jobs), b, &before)
		}
		if got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// An acknowledged job is proof at once.
func TestAnAcknowledgedJobIsProof(t *testing.T) {
	code := New()
	if got, _ := code.Ended("a", outcome.Good, &Past{}); got != outcome.Good {
		t.Errorf("it is %v, want proven", got)
	}
}
