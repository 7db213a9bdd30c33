// Package schedule tells when something recurs: at the times of a cron expression in a time
// zone, or every so often. It knows no clock: callers say from when on.
package schedule

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // the zones are the same on every host, and there where a host has none

	"github.com/robfig/cron/v3"
)

// Schedule is a set of moments, all of whole seconds, without an end. Its zero value has none.
// It does not change, and is safe for concurrent use.
type Schedule struct {
	text  string // as it was given, blanks evened out
	zone  *time.Location
	every time.Duration // of @every; 0 for times of a clock

	wall *cron.SpecSchedule // the times as a clock on the wall shows them
	// byHours: they are of any hour, so that a clock that is put back shows them twice, and one that
	// is put on leaves out those that it does not show.
	byHours bool
}

// shorthands are the words that stand for five fields.
var shorthands = map[string]string{
	"@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0",
	"@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@hourly": "0 * * * *",
}

var fields = cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow)

// Parse reads an expression of five fields (minute, hour, day of the month, month, day of the
// week), one of the words @yearly, @annually, @monthly, @weekly, @daily, @midnight and @hourly, or
// @every with a duration such as 90s.
//
// zone is a name of the time zone database; "" is UTC. @every counts from the epoch, in whatever
// zone, so that all hosts mean the same moments. The error says what is wrong with the expression,
// or that it never comes, as 30 February.
func Parse(expression, zone string) (Schedule, error) {
	s := Schedule{text: strings.Join(strings.Fields(expression), " ")}
	var err error
	if s.zone, err = Zone(zone); err != nil {
		return Schedule{}, err
	}
	if span, ok := strings.CutPrefix(s.text, "@every "); ok {
		s.every, err = time.ParseDuration(span)
		return s, errors.Join(err, checkEvery(s.every))
	}
	five := s.text
	if strings.HasPrefix(five, "@") {
		if five = shorthands[five]; five == "" {
			return Schedule{}, fmt.Errorf("%q is none of @yearly, @monthly, @weekly, @daily, @hourly and @every DURATION", s.text)
		}
	}
	words := strings.Fields(five)
	if len(words) != 5 {
		return Schedule{}, fmt.Errorf("%q has %d fields; five are wanted: minute, hour, day of the month, month, day of the week (for seconds: @every 30s)", s.text, len(words))
	}
	if strings.Contains(words[0], "=") {
		return Schedule{}, fmt.Errorf("%q names a zone; that has a place of its own", s.text)
	}
	words[4] = sundayIs0(words[4])
	parsed, err := fields.Parse(strings.Join(words, " "))
	if err != nil {
		return Schedule{}, fmt.Errorf("%q: %w", s.text, err)
	}
	s.wall = parsed.(*cron.SpecSchedule)
	s.wall.Location = time.UTC
	const allHours = 1<<24 - 1
	s.byHours = strings.HasPrefix(words[1], "*") || s.wall.Hour&allHours == allHours
	if s.wall.Next(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)).IsZero() {
		return Schedule{}, fmt.Errorf("%q never comes: there is no such day", s.text)
	}
	return s, nil
}

// Every is the schedule @every interval.
func Every(interval time.Duration) (Schedule, error) {
	return Parse("@every "+interval.String(), "")
}

// checkEvery refuses intervals that are not of whole seconds, of which jids are made.
func checkEvery(interval time.Duration) error {
	if interval < time.Second || interval%time.Second != 0 {
		return fmt.Errorf("@every %v: whole seconds are wanted, one at least", interval)
	}
	return nil
}

// Zone is a zone of the database. What Go calls Local is another on each host.
func Zone(name string) (*time.Location, error) {
	if name == "Local" {
		return nil, errors.New(`the zone "Local" is another on each host; name it, such as Europe/Berlin`)
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("there is no time zone %q; they are named as Europe/Berlin or UTC", name)
	}
	return zone, nil
}

// sundayIs0 lets a 7 in the field of weekdays be Sunday, as most crons do; the parser knows 0 only.
func sundayIs0(weekdays string) string {
	list := strings.Split(weekdays, ",")
	for i, item := range list {
		if item == "7" {
			list[i] = "0"
		} else if from, ok := strings.CutSuffix(item, "-7"); ok {
			list[i] = from + "-6,0"
		}
	}
	return strings.Join(list, ",")
}

// String is the expression.
func (s Schedule) String() string { return s.text }

// Zone is the zone in which the schedule is told.
func (s Schedule) Zone() *time.Location { return s.zone }

// Next is the first moment after t, in the schedule's zone; the zero time if there is none.
//
// Where clocks are put on, a time of day that is left out comes at the moment when they are, once,
// and where they are put back, one that comes twice counts the first time only: a job of each day
// runs on each day, and once. Times of any hour (`*` or `*/2` for the hour) go by the clock that
// is shown, so that a job of each hour runs in each.
func (s Schedule) Next(t time.Time) time.Time {
	switch {
	case s.every > 0:
		step := int64(s.every / time.Second)
		n := t.Unix() / step
		if t.Unix() < 0 && t.Unix()%step != 0 {
			n--
		}
		return time.Unix((n+1)*step, 0).In(s.zone)
	case s.wall == nil:
		return time.Time{}
	case s.byHours:
		return s.nextShown(t.In(s.zone))
	}
	for w := s.wall.Next(shown(t.In(s.zone))); !w.IsZero(); w = s.wall.Next(w) {
		if at := s.first(w); at.After(t) {
			return at
		}
	}
	return time.Time{}
}

// shown is what a clock on the wall shows at t, as if that were UTC.
func shown(t time.Time) time.Time {
	_, offset := t.Zone()
	return t.UTC().Add(time.Duration(offset) * time.Second)
}

// mostChanges bounds for how many changes of the clock Next looks: many years.
const mostChanges = 100

// nextShown is the first moment after t at which the clock shows a time of the schedule.
func (s Schedule) nextShown(t time.Time) time.Time {
	from := shown(t)
	for range mostChanges {
		w := s.wall.Next(from)
		if w.IsZero() {
			return w
		}
		at := t.Add(w.Sub(shown(t)))
		_, end := t.ZoneBounds()
		if end.IsZero() || at.Before(end) {
			return at.In(s.zone)
		}
		t = end.In(s.zone)
		from = shown(t).Add(-1) // the moment of the change may be one
	}
	return time.Time{}
}

// first is when the clock shows w for the first time, or, if it never does, when it passes it by.
func (s Schedule) first(w time.Time) time.Time {
	near := time.Date(w.Year(), w.Month(), w.Day(), w.Hour(), w.Minute(), w.Second(), 0, s.zone)
	start, end := near.ZoneBounds()
	spans := []time.Time{near} // a moment of each span without a change, in order
	if !start.IsZero() {
		spans = []time.Time{start.Add(-1), near}
	}
	if !end.IsZero() {
		spans = append(spans, end)
	}
	for _, moment := range spans {
		at := moment.Add(w.Sub(shown(moment))) // if nothing changed in between
		from, to := moment.ZoneBounds()
		if !from.IsZero() && at.Before(from) {
			return from.In(s.zone) // the span before ended before it came
		}
		if to.IsZero() || at.Before(to) {
			return at.In(s.zone)
		}
	}
	return near
}

// Between lists the moments from from to to, both included, oldest first: the last most of them,
// and whether there were more.
func (s Schedule) Between(from, to time.Time, most int) (moments []time.Time, more bool) {
	// The last ones are looked for in spans before to that grow, because there is no way back.
	for span := time.Minute; ; span *= 4 {
		start := to.Add(-span)
		whole := span <= 0 || !start.After(from) // it grew beyond all bounds
		if whole {
			start = from.Add(-1)
		}
		moments = moments[:0]
		count := 0
		for at := s.Next(start); !at.IsZero() && !at.After(to); at = s.Next(at) {
			if moments = append(moments, at); len(moments) > 2*most {
				moments = slices.Delete(moments, 0, len(moments)-most)
			}
			count++
		}
		if whole || count > most {
			moments = moments[max(0, len(moments)-most):]
			return moments, count > most
		}
	}
}
