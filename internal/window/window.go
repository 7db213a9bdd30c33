// Package window tells when jobs may start: at times of the day that a clock on the wall shows in some time zone. It
// knows no clock of its own and owns nothing: callers say of which instant they speak.
//
// An instant is inside a window if and only if the clock of its zone then shows a time that a span of the window
// names. So an hour that occurs twice is inside twice, and one that does not occur never.
package window

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"oarlock/internal/schedule"
)

// Horizon is how far ahead a window is searched for its next change.
const Horizon = 400 * 24 * time.Hour

const day = 24 * time.Hour

// Spec is a window as people write it.
type Spec struct {
	Zone   string   // a name of the time zone database; "" is UTC
	Open   []string // each [days] HH:MM[:SS]-HH:MM[:SS], such as "Mon-Fri 22:00-06:00"
	Except []string // local dates, such as 2026-12-24, on which no span begins
}

// Text is the spec in one line, as a name for it: zone|span|span|-date. ParseText reads it.
func (s Spec) Text() string {
	text := cmp.Or(s.Zone, "UTC")
	for _, span := range s.Open {
		text += "|" + strings.Join(strings.Fields(span), " ")
	}
	for _, date := range s.Except {
		text += "|-" + date
	}
	return text
}

// ParseText reads what Spec.Text wrote, or somebody else.
func ParseText(text string) (*Window, error) { return Parse(ReadText(text)) }

// ReadText is the spec of which Spec.Text is the text.
func ReadText(text string) Spec {
	parts := strings.Split(text, "|")
	s := Spec{Zone: parts[0]}
	for _, part := range parts[1:] {
		if date, except := strings.CutPrefix(part, "-"); except {
			s.Except = append(s.Except, date)
		} else {
			s.Open = append(s.Open, part)
		}
	}
	return s
}

// Window is a set of instants, made of whole seconds of a clock on the wall. It does not change, and is safe for
// concurrent use.
type Window struct {
	zone   *time.Location
	spans  []span
	except map[date]bool
}

// span is from a time of the listed days to the next such time as its end.
type span struct {
	on         [7]bool // by time.Weekday, of the day on which it begins
	start, end int     // seconds since midnight as the wall shows them; where end < start it is on the next day
}

type date struct {
	year  int
	month time.Month
	day   int
}

// Parse reads a window. The error says which of its texts is wrong, and how it should be.
func Parse(s Spec) (*Window, error) {
	zone, err := schedule.Zone(s.Zone)
	if err != nil {
		return nil, err
	}
	w := &Window{zone: zone, except: map[date]bool{}}
	if len(s.Open) == 0 {
		return nil, fmt.Errorf(`it is never open; write when, as in open = ["Mon-Fri 22:00-06:00"]`)
	}
	for _, text := range s.Open {
		sp, err := parseSpan(text)
		if err != nil {
			return nil, err
		}
		w.spans = append(w.spans, sp)
	}
	for _, text := range s.Except {
		on, err := time.Parse(time.DateOnly, text)
		if err != nil {
			return nil, fmt.Errorf("%q is no date as 2026-12-24", text)
		}
		w.except[dateOf(on)] = true
	}
	return w, nil
}

// parseSpan reads "Mon-Fri 22:00-06:00".
func parseSpan(text string) (sp span, err error) {
	days, times, named := strings.Cut(strings.TrimSpace(text), " ")
	if !named {
		days, times = "Mon-Sun", days
	}
	if sp.on, err = parseDays(days); err != nil {
		return span{}, fmt.Errorf("%q: %w", text, err)
	}
	start, end, ranged := strings.Cut(strings.TrimSpace(times), "-")
	if !ranged {
		return span{}, fmt.Errorf("%q has no times as 22:00-06:00", text)
	}
	if sp.start, err = parseTime(start); err == nil {
		sp.end, err = parseTime(end)
	}
	switch {
	case err != nil:
	case sp.start == sp.end:
		err = errors.New("is empty; the whole day is 00:00-24:00")
	case sp.start == int(day/time.Second):
		err = errors.New("no day begins at 24:00; write 00:00")
	}
	if err != nil {
		return span{}, fmt.Errorf("%q: %w", text, err)
	}
	return sp, nil
}

var weekdays = []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}

// parseDays reads "Mon-Fri" or "Sat,Sun".
func parseDays(text string) (on [7]bool, err error) {
	for part := range strings.SplitSeq(strings.ToLower(text), ",") {
		first, last, ranged := strings.Cut(part, "-")
		if !ranged {
			last = first
		}
		from, to := slices.Index(weekdays, first), slices.Index(weekdays, last)
		if from < 0 || to < 0 {
			return on, fmt.Errorf("%q is no day; the days are Mon, Tue, Wed, Thu, Fri, Sat, Sun, as Mon-Fri or Sat,Sun", part)
		}
		for ; from != to; from = (from + 1) % 7 {
			on[from] = true
		}
		on[to] = true
	}
	return on, nil
}

// parseTime reads "22:00" or "22:00:30" as seconds since midnight; 24:00 is allowed.
func parseTime(text string) (int, error) {
	parts := strings.Split(text, ":")
	seconds, limits := 0, []int{24, 59, 59}
	for i, limit := range limits {
		n := 0
		if i < len(parts) {
			two, err := strconv.ParseUint(parts[i], 10, 8)
			if n = int(two); err != nil || len(parts[i]) != 2 || n > limit {
				return 0, notATime(text)
			}
		}
		seconds = 60*seconds + n
	}
	if len(parts) < 2 || len(parts) > 3 || seconds > int(day/time.Second) {
		return 0, notATime(text)
	}
	return seconds, nil
}

func notATime(text string) error {
	return fmt.Errorf("%q is no time of a day as 06:30 or 06:30:15, from 00:00 to 24:00", text)
}

// Zone is the zone whose clock counts.
func (w *Window) Zone() *time.Location { return w.zone }

// Longest is the longest of its spans by the clock on the wall.
func (w *Window) Longest() (most time.Duration) {
	for _, s := range w.spans {
		length := time.Duration(s.end-s.start) * time.Second
		if length <= 0 {
			length += day
		}
		most = max(most, length)
	}
	return most
}

// Inside reports whether t is inside.
func (w *Window) Inside(t time.Time) bool {
	t = t.In(w.zone)
	today := dateOf(t)
	clock := t.Hour()*3600 + t.Minute()*60 + t.Second()
	yesterday := dateOf(time.Date(today.year, today.month, today.day-1, 0, 0, 0, 0, time.UTC))
	weekday := t.Weekday()
	begins := func(s span, on time.Weekday, of date) bool { return s.on[on] && !w.except[of] }
	for _, s := range w.spans {
		switch {
		case s.end > s.start:
			if begins(s, weekday, today) && s.start <= clock && clock < s.end {
				return true
			}
		case begins(s, weekday, today) && clock >= s.start, begins(s, (weekday+6)%7, yesterday) && clock < s.end:
			return true
		}
	}
	return false
}

// Changes returns the instants after t, in order, at which one gets inside or outside: those until then, and if those
// are fewer than least, further ones; none is more than Horizon after t.
func (w *Window) Changes(t, until time.Time, least int) (changes []time.Time) {
	inside, end := w.Inside(t), t.Add(Horizon)
	for week := t.UTC().Truncate(day); !week.After(end); week = week.AddDate(0, 0, 7) {
		for _, edge := range w.edges(week, week.AddDate(0, 0, 7)) {
			if !edge.After(t) || w.Inside(edge) == inside {
				continue
			}
			if edge.After(end) || edge.After(until) && len(changes) >= least {
				return changes
			}
			inside = !inside
			changes = append(changes, edge)
		}
	}
	return changes
}

// tableSpan is how far ahead a Table tells of changes.
const tableSpan = 8 * day

// Table tells when the window opens and shuts from t on, for those who know no time zones: "o" if it is open at t, or
// "s"; until when the table is true, whole seconds since the epoch; and its changes, two at least if there are any
// within Horizon.
func (w *Window) Table(t time.Time) string {
	changes := w.Changes(t, t.Add(tableSpan), 2)
	until := t.Add(tableSpan)
	if n := len(changes); n < 2 {
		until = t.Add(Horizon)
	} else if changes[n-1].After(until) {
		until = changes[n-1]
	}
	text := "s"
	if w.Inside(t) {
		text = "o"
	}
	text += " " + strconv.FormatInt(until.Unix(), 10)
	for _, change := range changes {
		text += " " + strconv.FormatInt(change.Unix(), 10)
	}
	return text
}

// NextOpening returns the first instant from t on that is inside; false if there is none within Horizon.
func (w *Window) NextOpening(t time.Time) (time.Time, bool) {
	if w.Inside(t) {
		return t, true
	}
	if changes := w.Changes(t, t, 1); len(changes) > 0 {
		return changes[0], true
	}
	return time.Time{}, false
}

// Starts reports whether something may start at t: t is inside, and no end of that is within margin.
func (w *Window) Starts(t time.Time, margin time.Duration) bool {
	if !w.Inside(t) {
		return false
	}
	changes := w.Changes(t, t, 1)
	return len(changes) == 0 || changes[0].Sub(t) > margin
}

// NextStart returns the first instant from t on at which something may start, or, where it opens for no longer than margin then, may be looked at again;
// false if there is none within Horizon.
func (w *Window) NextStart(t time.Time, margin time.Duration) (time.Time, bool) {
	if !w.Inside(t) || w.Starts(t, margin) {
		return w.NextOpening(t)
	}
	if changes := w.Changes(t, t, 2); len(changes) > 1 {
		return changes[1], true
	}
	return time.Time{}, false
}

// edges are the instants of [from, to) at which the clock of the zone shows a start or an end, or is put on or back,
// in order. Both are midnights of UTC.
func (w *Window) edges(from, to time.Time) (edges []time.Time) {
	add := func(edge time.Time) {
		if !edge.Before(from) && edge.Before(to) {
			edges = append(edges, edge)
		}
	}
	offsets := map[time.Duration]bool{} // that the zone has then, of the wall to UTC
	for at := from.Add(-2 * day); ; {
		_, offset := at.In(w.zone).Zone()
		offsets[time.Duration(offset)*time.Second] = true
		_, change := at.In(w.zone).ZoneBounds()
		if change.IsZero() || change.After(to.Add(2*day)) {
			break
		}
		add(change)
		at = change
	}
	for midnight := from.Add(-2 * day); midnight.Before(to.Add(2 * day)); midnight = midnight.Add(day) {
		for offset := range offsets {
			for _, s := range w.spans {
				for _, clock := range []int{s.start, s.end} {
					edge := midnight.Add(time.Duration(clock)*time.Second - offset)
					if _, shown := edge.In(w.zone).Zone(); time.Duration(shown)*time.Second == offset {
						add(edge)
					}
				}
			}
		}
	}
	slices.SortFunc(edges, time.Time.Compare)
	return slices.CompactFunc(edges, time.Time.Equal)
}

func dateOf(t time.Time) date {
	year, month, day := t.Date()
	return date{year, month, day}
}
