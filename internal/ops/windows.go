package ops

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"oarlock/internal/accord"
	"oarlock/internal/cron"
	"oarlock/internal/rules"
	clock "oarlock/internal/window"
	"oarlock/queue"
)

// NextWindow is a window, and when it opens or shuts next.
type NextWindow struct {
	Name   string  `json:"name,omitempty"` // "" of one that has none
	Spec   string  `json:"spec"`
	Zone   string  `json:"zone"`
	Open   bool    `json:"open"` // now
	Change float64 `json:"change,omitempty"`
	Margin float64 `json:"margin,omitempty"` // seconds before it shuts, in which nothing starts
	After  []Span  `json:"next"`             // the spans that come, the present one first

	// Of one that has a name: of which queues jobs start in it alone, or in another that is named beside it, and of which classes.
	Queues  []string `json:"queues,omitempty"`
	Klasses []string `json:"klasses,omitempty"`

	read float64 // when this was so
}

// closing reports whether it is open, and so near its end that nothing starts in it.
func (w NextWindow) closing() bool { return w.Open && w.Change > 0 && w.Change-w.read <= w.Margin }

// Span is from one moment to another, in seconds since the epoch; To is 0 if that is more than 400 days ahead.
type Span struct {
	From float64 `json:"from"`
	To   float64 `json:"to,omitempty"`
}

// comingSpans is how many spans of a window are told.
const comingSpans = 3

// nextWindow tells of a window of the rules, or of one that a job has of its own, as Set.Window has them.
func nextWindow(name string, set rules.Set, now time.Time) (NextWindow, error) {
	rule, _ := set.Window(name)
	out, err := nextOfSpec(rule.Spec(), now)
	if _, named := set.Windows[name]; !named {
		return out, err
	}
	out.Name, out.Margin = name, rule.Margin
	for queue, rule := range set.Queues {
		if slices.Contains(rule.Windows, name) {
			out.Queues = append(out.Queues, queue)
		}
	}
	for klass, rule := range set.Klass {
		if slices.Contains(rule.Windows, name) {
			out.Klasses = append(out.Klasses, klass)
		}
	}
	slices.Sort(out.Queues)
	slices.Sort(out.Klasses)
	return out, err
}

// NextOfSpans tells of spans in a zone, UTC if that is "".
func NextOfSpans(open []string, zone string, now time.Time) (NextWindow, error) {
	return nextOfSpec(clock.Spec{Zone: zone, Open: open}, now)
}

// nextOfSpec tells of a window that has no name.
func nextOfSpec(spec clock.Spec, now time.Time) (NextWindow, error) {
	w, err := clock.Parse(spec)
	if err != nil {
		return NextWindow{}, &Wrong{Why: err.Error()}
	}
	out := NextWindow{Spec: spec.Text(), Zone: w.Zone().String(), Open: w.Inside(now), After: []Span{}, read: seconds(now)}
	from := now
	changes := w.Changes(now, now, 2*comingSpans)
	if len(changes) > 0 {
		out.Change = float64(changes[0].Unix())
	}
	inside := out.Open
	for _, at := range append(changes, time.Time{}) {
		if inside && len(out.After) < comingSpans {
			span := Span{From: seconds(from)}
			if !at.IsZero() {
				span.To = seconds(at)
			}
			out.After = append(out.After, span)
		}
		from, inside = at, !inside
	}
	return out, nil
}

func seconds(at time.Time) float64 { return float64(at.UnixMilli()) / 1e3 }

// Windows lists the windows of the rules.
func Windows(ctx context.Context, q *queue.Client) ([]NextWindow, error) {
	set, _, err := accord.ReadSet(ctx, q)
	if err != nil {
		return nil, err
	}
	all := []NextWindow{}
	for _, name := range slices.Sorted(maps.Keys(set.Windows)) {
		w, err := nextWindow(name, set, cron.At(q.Now()))
		if err != nil {
			return nil, err
		}
		all = append(all, w)
	}
	return all, nil
}

// WindowOf tells of a window of the rules by its name, or of the spans themselves in that zone.
func WindowOf(ctx context.Context, q *queue.Client, spec []string, zone string) (NextWindow, error) {
	set, _, err := accord.ReadSet(ctx, q)
	if err != nil {
		return NextWindow{}, err
	}
	now := cron.At(q.Now())
	if len(spec) == 1 {
		if rule, ok := set.Windows[spec[0]]; ok && zone == "" {
			return nextWindow(spec[0], set, now)
		} else if ok {
			return NextWindow{}, wrong("window %s has a zone of its own, %s; a zone is said of spans only", spec[0], cmp.Or(rule.Zone, "UTC"))
		}
		if !queue.IsSpan(spec[0]) {
			return NextWindow{}, missing("there is no window %s%s (spans are written as \"Mon-Fri 22:00-06:00\")", spec[0], Nearest(spec[0], slices.Collect(maps.Keys(set.Windows))))
		}
	}
	return NextOfSpans(spec, zone, now)
}
