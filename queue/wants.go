package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"oarlock/internal/window"
)

// Wants is what a job says itself of what it needs to run in a queue that has rules, in place of what these say of its class. The zero
// value says nothing.
type Wants struct {
	Weight int  // places that it takes of each of its throttles, 1 to MaxWeight; 0: as many as its class
	Bypass bool // it needs none, whatever is full; false: as its class

	// Windows are when it may start, one or the other: names of windows of the rules, and spans as "05:00-07:00" or
	// "Mon-Fri 22:00-06:00". None: as its class or queue.
	Windows []string
	Zone    string // of the spans, as Europe/Berlin; "" is UTC
}

// MaxWeight is the most places of a throttle that a job may take.
const MaxWeight = 100

// maxWindow is how long a name or all spans may be, in bytes.
const maxWindow = 1024

// IsSpan reports whether text is a span of a window rather than the name of one.
func IsSpan(text string) bool { return strings.Contains(text, ":") }

// Check finds what no rules would make right.
func (w Wants) Check() error {
	if w.Weight < 0 || w.Weight > MaxWeight {
		return fmt.Errorf("weight must be from 1 to %d: %d", MaxWeight, w.Weight)
	}
	for _, name := range w.Windows {
		if name == "" || strings.Contains(name, "|") {
			return fmt.Errorf("windows have no window %q: name one of the rules, or a span as \"Mon-Fri 22:00-06:00\"", name)
		}
	}
	spec, some := w.spec()
	if !some {
		if w.Zone != "" {
			return errors.New("zone is of spans, as \"22:00-06:00\", and there are none; a window of the rules has its own")
		}
		return nil
	}
	if len(spec.Text()) > maxWindow {
		return fmt.Errorf("windows have more than %d bytes together", maxWindow)
	}
	if _, err := window.Parse(spec); err != nil {
		return fmt.Errorf("windows: %w", err)
	}
	return nil
}

// spec is the window that the spans are, if there are any.
func (w Wants) spec() (window.Spec, bool) {
	spec := window.Spec{Zone: w.Zone}
	for _, text := range w.Windows {
		if IsSpan(text) {
			spec.Open = append(spec.Open, text)
		}
	}
	return spec, len(spec.Open) > 0
}

// Wanted is what is kept of it with a job.
func (w Wants) Wanted() Wanted {
	kept := Wanted{w.Weight, w.Bypass, slices.DeleteFunc(slices.Clone(w.Windows), IsSpan)}
	if spec, some := w.spec(); some {
		kept.Windows = append(kept.Windows, spec.Text())
	}
	return kept
}

// Wanted is what is kept of Wants with a job.
type Wanted struct {
	Weight  int
	Bypass  bool
	Windows []string // names of windows of the rules, and spans with their zone, as Europe/Berlin|05:00-07:00|22:00-23:00
}

// readWanted reads the field oarlock-wants, and says what is wrong with it.
func readWanted(text []byte) (w Wanted, damage string) {
	if len(text) > 0 && json.Unmarshal(text, &w) != nil {
		return Wanted{}, fmt.Sprintf("its field oarlock-wants is %.60q, and counts for nothing", text)
	}
	return w, ""
}

// tellOpenings says when the windows open that puts have of their own, so that no take has to hold a job until somebody has said it.
func (c *Client) tellOpenings(ctx context.Context, puts []Put) {
	var specs []any
	for i := range puts {
		if spec, some := puts[i].Wants.spec(); some {
			specs = append(specs, spec.Text())
		}
	}
	if len(specs) > 0 {
		c.learn(ctx, specs)
	}
}
