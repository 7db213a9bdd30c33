package explain

import (
	"context"
	"strings"
	"time"

	"oarlock/internal/accord"
	"oarlock/internal/rules"
	"oarlock/internal/screen"
	"oarlock/internal/window"
)

// outside tells of windows that are shut to a job which waits, for then no take starts it.
func (w *why) outside(ctx context.Context) error { return w.outsideAt(ctx, w.q.Now()) }

// outsideAt tells of windows that are shut at a moment, now or when the job is due.
func (w *why) outsideAt(ctx context.Context, moment float64) error {
	if !w.ruled {
		return nil
	}
	set, _, err := accord.ReadSet(ctx, w.q)
	if err != nil {
		return nil // damagedRules tells of what cannot be read
	}
	at, opens := clockAt(moment), time.Time{}
	for _, name := range set.Needs(w.asks()).Windows {
		rule, _ := set.Window(name)
		one, err := window.Parse(rule.Spec())
		switch {
		case err != nil:
			w.shut(set, moment, moment) // which says so
			return nil
		case one.Starts(at, margin(rule)):
			return nil
		}
		if next, some := one.NextStart(at, margin(rule)); some && (opens.IsZero() || next.Before(opens)) {
			opens = next
		}
	}
	if opens.IsZero() {
		return nil
	}
	w.shut(set, moment, float64(opens.Unix()))
	return nil
}

// clockAt is a moment to the second, as windows know it.
func clockAt(moment float64) time.Time { return time.Unix(int64(moment), 0) }

// margin is how long before it shuts nothing starts in a window any more.
func margin(rule rules.Window) time.Duration {
	return time.Duration(rule.Margin * float64(time.Second))
}

// asks is the job as rules ask about it, but for what counts for its places.
func (w *why) asks() rules.Job {
	wanted := w.job.Kept.Wanted
	return rules.Job{Queue: w.job.Queue, Klass: w.job.Klass, Bypass: wanted.Bypass, Windows: wanted.Windows}
}

// window tells which windows hold the job, and until when.
func (w *why) window(ctx context.Context, due float64) error {
	set, _, err := accord.ReadSet(ctx, w.q)
	if err == nil {
		w.shut(set, w.q.Now(), due)
	}
	return err
}

// shut tells of the windows of the job, by rules, that they are shut at a moment, now or later, and until the job is due.
func (w *why) shut(set rules.Set, moment, due float64) {
	names := set.Needs(w.asks()).Windows
	var texts []string
	zone, then := "", ""
	if moment > w.q.Now() {
		then = " then"
	}
	state := "is shut"
	for _, name := range names {
		rule, _ := set.Window(name)
		spec := rule.Spec()
		zone = spec.Zone
		words := "(" + strings.Join(spec.Open, "; ") + " " + zoneWord(zone) + ")"
		if _, named := set.Windows[name]; named {
			words = screen.InShell(name) + " " + words
		} else {
			words += " of its own"
		}
		switch one, err := window.Parse(spec); {
		case err != nil:
			words += ", which cannot be read: " + err.Error() + ","
		case one.Inside(clockAt(moment)):
			state = "shuts too soon"
		}
		texts = append(texts, words)
	}
	switch {
	case len(texts) == 0:
		w.because("A window held it that is not of the rules any more; it is due %s.", DueWords(w.q.Now(), due))
	case len(texts) == 1:
		w.because("Window %s %s%s; it opens %s, %s.", texts[0], state, then, onTheWall(due, zone), distance(w.q.Now(), due))
	default:
		w.because("Windows %s are shut, or shut too soon%s; the first opens %s, %s.", strings.Join(texts, ", "), then, onTheWall(due, zone), distance(w.q.Now(), due))
	}
	w.is(OutsideWindow)
}

func zoneWord(zone string) string {
	if zone == "" {
		return "UTC"
	}
	return zone
}

// onTheWall is a moment as a clock on the wall shows it there.
func onTheWall(at float64, zone string) string {
	where, err := time.LoadLocation(zone)
	if err != nil {
		where = time.UTC
	}
	return time.Unix(int64(at), 0).In(where).Format("Mon 2006-01-02 15:04 MST")
}
