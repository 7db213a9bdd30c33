package trial

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"oarlock/internal/screen"
)

// Finding is what became of one rule.
type Finding struct {
	Rule     string  `json:"rule"`
	Must     bool    `json:"must"` // else it is advice
	Kept     bool    `json:"kept"`
	Left     bool    `json:"left"`          // it says nothing about programs of this mode
	Why      string  `json:"why,omitempty"` // of a broken one: what happened
	Duration float64 `json:"seconds"`
}

// errLeft says that a rule does not concern the program.
var errLeft = errors.New("left out")

// ErrNoProgram says that the command cannot be run at all.
var ErrNoProgram = errors.New("the program cannot be run")

// Torture tries every rule, each on fresh children, and tells report as it goes, from this goroutine. It returns
// whether all obligatory rules are kept; the error is that of ctx, or ErrNoProgram before
// anything was reported.
//
// The first rule is that it works a job. What a program that does not seems to keep of the
// others says nothing: one that ends at once is quick to leave, too.
func (t *Trial) Torture(ctx context.Context, report func(Finding)) (good bool, err error) {
	good = true
	for i, r := range rules {
		began := time.Now()
		err := errLeft
		if r.modes == nil || r.modes[t.Spec.Mode] {
			err = r.try(ctx, t)
		}
		switch {
		case ctx.Err() != nil:
			return false, ctx.Err()
		case i == 0 && errors.Is(err, ErrNoProgram):
			return false, err
		case i == 0:
			t.works = err == nil
		case err == nil && !t.works:
			err = errLeft
		}
		f := Finding{Rule: r.says, Must: r.must, Kept: err == nil, Left: errors.Is(err, errLeft), Duration: time.Since(began).Seconds()}
		if err != nil && !f.Left {
			f.Why = err.Error()
			good = good && !r.must
		}
		report(f)
	}
	return good, nil
}

// Print shows the rule on w, and what became of it.
func (f Finding) Print(w io.Writer) {
	switch {
	case f.Left:
		screen.PrintLine(w, screen.Paint(w, screen.Dim, "  –  "+f.Rule+": says nothing of this program"))
	case f.Kept:
		screen.Printf(w, "%s%s\n", screen.Paint(w, screen.Green, "  ✓  "), f.Rule)
	case f.Must:
		screen.Printf(w, "%s%s\n%s\n", screen.Paint(w, screen.Red, "  ✗  "), f.Rule, f.why())
	default:
		screen.Printf(w, "%s%s\n%s\n", screen.Paint(w, screen.Yellow, "  ○  "), f.Rule, f.why())
	}
}

// PrintSum sums up findings on w.
func PrintSum(w io.Writer, findings []Finding) {
	all, broken, advice := 0, 0, 0
	for _, f := range findings {
		switch {
		case f.Left:
		case !f.Must && !f.Kept:
			advice++
		case f.Must:
			all++
			if !f.Kept {
				broken++
			}
		}
	}
	if broken > 0 {
		screen.Printf(w, "\n%s\n", screen.Paint(w, screen.Red, fmt.Sprintf("It breaks %d of %d obligatory rules.", broken, all)))
		return
	}
	screen.Printf(w, "\n%s", screen.Paint(w, screen.Green, fmt.Sprintf("It keeps all %d obligatory rules", all)))
	if advice > 0 {
		screen.Printf(w, "; %d more would be good", advice)
	}
	screen.PrintLine(w, ".")
}

// why is what happened to a broken rule, indented.
func (f Finding) why() screen.Lines {
	return screen.Lines("    " + strings.ReplaceAll(strings.TrimRight(f.Why, "\n"), "\n", "\n    "))
}
