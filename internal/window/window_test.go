package window

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func open(t interface{ Fatal(...any) }, zone string, spans ...string) *Window {
	w, err := Parse(Spec{Zone: zone, Open: spans})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// What a window does on the days on which clocks are changed.
func TestClocksThatAreChanged(t *testing.T) {
	for _, tt := range []struct {
		span, from string
		want       []string // the changes within a day of it
	}{
		{"02:15-02:45", "2026-03-28T12:00:00Z", []string{"2026-03-30T02:15:00+02:00", "2026-03-30T02:45:00+02:00"}},
		{"01:30-02:30", "2026-03-28T12:00:00Z", []string{"2026-03-29T01:30:00+01:00", "2026-03-29T03:00:00+02:00"}},
		{"02:30-04:00", "2026-03-28T12:00:00Z", []string{"2026-03-29T03:00:00+02:00", "2026-03-29T04:00:00+02:00"}},
		{"02:15-02:45", "2026-10-24T12:00:00Z", []string{"2026-10-25T02:15:00+02:00", "2026-10-25T02:45:00+02:00",
			"2026-10-25T02:15:00+01:00", "2026-10-25T02:45:00+01:00"}},
		{"02:00-03:00", "2026-10-24T12:00:00Z", []string{"2026-10-25T02:00:00+02:00", "2026-10-25T03:00:00+01:00"}},
		{"01:00-02:30", "2026-10-24T12:00:00Z", []string{"2026-10-25T01:00:00+02:00", "2026-10-25T02:30:00+02:00",
			"2026-10-25T02:00:00+01:00", "2026-10-25T02:30:00+01:00"}},
	} {
		t.Run(tt.span+" "+tt.from[:10], func(t *testing.T) {
			from, _ := time.Parse(time.RFC3339, tt.from)
			var got []string
			for _, at := range open(t, "Europe/Berlin", tt.span).Changes(from, from, len(tt.want)) {
				got = append(got, at.In(open(t, "Europe/Berlin", tt.span).Zone()).Format(time.RFC3339))
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("it changes at %q, not at %q", got, tt.want)
			}
		})
	}
}

// The day of a span across midnight is that on which it begins.
func TestAcrossMidnight(t *testing.T) {
	w, err := Parse(Spec{Zone: "Europe/Berlin", Open: []string{"Fri 22:00-02:00"}, Except: []string{"2026-11-27"}})
	if err != nil {
		t.Fatal(err)
	}
	for at, want := range map[string]bool{
		"2026-11-20T21:59:59+01:00": false, "2026-11-20T22:00:00+01:00": true, "2026-11-21T01:59:59+01:00": true,
		"2026-11-21T02:00:00+01:00": false, "2026-11-21T23:00:00+01:00": false, "2026-11-20T01:00:00+01:00": false,
		"2026-11-27T23:00:00+01:00": false, "2026-11-28T01:00:00+01:00": false,
	} {
		instant, _ := time.Parse(time.RFC3339, at)
		if w.Inside(instant) != want {
			t.Errorf("at %s it is inside: %v", at, !want)
		}
	}
}

// Always open: no change; never, as its only days are excepted: neither.
func TestAlwaysAndNever(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	always := open(t, "", "00:00-24:00")
	if at, ok := always.NextOpening(now); !ok || !at.Equal(now) || len(always.Changes(now, now, 1)) > 0 {
		t.Errorf("always is next open at %v, %v, and changes at %v", at, ok, always.Changes(now, now, 1))
	}
	var except []string
	for on := now.AddDate(0, 0, -8); on.Before(now.Add(Horizon + 8*day)); on = on.AddDate(0, 0, 1) {
		except = append(except, on.Format(time.DateOnly))
	}
	never, err := Parse(Spec{Open: []string{"Mon 05:00-06:00"}, Except: except})
	if err != nil {
		t.Fatal(err)
	}
	if at, ok := never.NextOpening(now); ok {
		t.Errorf("never is open at %v", at)
	}
}

// zones of all kinds: both halves of the world, half hours, changes of half an hour and at midnight, a skipped day, none.
var zones = []string{
	"UTC", "Europe/Berlin", "Europe/London", "Europe/Dublin", "America/New_York", "America/St_Johns", "America/Santiago",
	"Asia/Kolkata", "Asia/Kathmandu", "Australia/Lord_Howe", "Africa/Casablanca", "Pacific/Apia", "Pacific/Chatham", "Asia/Beirut",
}

// Changes says the same as asking for each minute.
func TestChangesAreThoseThatAClockShows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		zone := rapid.SampledFrom(zones).Draw(t, "zone")
		clock := rapid.Custom(func(t *rapid.T) string {
			return fmt.Sprintf("%02d:%02d", rapid.IntRange(0, 23).Draw(t, "hour"), rapid.IntRange(0, 11).Draw(t, "five")*5)
		})
		days := rapid.SampledFrom([]string{"", "Mon-Fri ", "Sat,Sun ", "Sun ", "Fri-Mon "})
		var spans []string
		for range rapid.IntRange(1, 3).Draw(t, "spans") {
			start := clock.Draw(t, "start")
			end := clock.Filter(func(end string) bool { return end != start }).Draw(t, "end")
			spans = append(spans, days.Draw(t, "days")+start+"-"+end)
		}
		w := open(t, zone, spans...)
		from := time.Date(rapid.SampledFrom([]int{2011, 2024, 2026}).Draw(t, "year"), 1, 1, 0, 0, 0, 0, time.UTC).
			AddDate(0, 0, rapid.IntRange(0, 364).Draw(t, "day"))
		if _, change := from.In(w.Zone()).ZoneBounds(); !change.IsZero() && rapid.Bool().Draw(t, "at a change") {
			from = change.UTC().Truncate(day).AddDate(0, 0, -2)
		}
		until := from.AddDate(0, 0, 9)
		var want []time.Time
		inside := w.Inside(from)
		for at := from.Add(time.Minute); !at.After(until); at = at.Add(time.Minute) {
			if w.Inside(at) != inside {
				inside = !inside
				want = append(want, at)
			}
		}
		if got := w.Changes(from, until, 0); !slices.EqualFunc(got, want, time.Time.Equal) {
			t.Fatalf("%s %q from %v changes at\n%v, by the clock at\n%v", zone, spans, from, got, want)
		}
	})
}

func TestParseRefuses(t *testing.T) {
	for _, tt := range []struct {
		spec Spec
		why  string
	}{
		{Spec{}, "it is never open"},
		{Spec{Zone: "Europe/Berlln", Open: []string{"05:00-06:00"}}, `there is no time zone "Europe/Berlln"`},
		{Spec{Zone: "Local", Open: []string{"05:00-06:00"}}, "another on each host"},
		{Spec{Open: []string{"Mo 05:00-06:00"}}, `"mo" is no day`},
		{Spec{Open: []string{"Mon- 05:00-06:00"}}, `"mon-" is no day`},
		{Spec{Open: []string{"05:00"}}, "no times as 22:00-06:00"},
		{Spec{Open: []string{"5:00-06:00"}}, `"5:00" is no time of a day`},
		{Spec{Open: []string{"05:00-24:01"}}, `"24:01" is no time of a day`},
		{Spec{Open: []string{"05:60-06:00"}}, `"05:60" is no time of a day`},
		{Spec{Open: []string{"05:00-+6:00"}}, `"+6:00" is no time of a day`},
		{Spec{Open: []string{"24:00-06:00"}}, "no day begins at 24:00"},
		{Spec{Open: []string{"05:00-05:00"}}, `"05:00-05:00": is empty; the whole day is 00:00-24:00`},
		{Spec{Open: []string{"05:00-06:00"}, Except: []string{"24.12.2026"}}, `"24.12.2026" is no date`},
		{Spec{Open: []string{"05:00-06:00"}, Except: []string{"2026-02-30"}}, `"2026-02-30" is no date`},
	} {
		if _, err := Parse(tt.spec); err == nil || !strings.Contains(err.Error(), tt.why) {
			t.Errorf("%+v: %v, want %q", tt.spec, err, tt.why)
		}
	}
}

// A table says of every instant in it what the window says, and knows of at least two changes.
func TestTables(t *testing.T) {
	for _, tt := range []struct{ spec, at string }{
		{"Europe/Berlin|Mon-Fri 22:00-06:00|-2026-12-24", "2026-12-20T12:00:00Z"}, {"Europe/Berlin|02:15-02:45", "2026-10-24T00:00:00Z"},
		{"Australia/Lord_Howe|01:30-02:15|Sun 03:00-04:00", "2026-04-03T00:00:00Z"}, {"UTC|00:00-24:00", "2026-01-01T00:00:00Z"},
		{"Pacific/Apia|Fri 00:00-24:00", "2011-12-25T00:00:00Z"}, {"UTC|Sat 12:00-13:00", "2026-01-04T00:00:00Z"},
	} {
		w, err := ParseText(tt.spec)
		if err != nil {
			t.Fatal(err)
		}
		at, err := time.Parse(time.RFC3339, tt.at)
		if err != nil {
			t.Fatal(err)
		}
		fields := strings.Fields(w.Table(at))
		open, numbers := fields[0] == "o", []int64{}
		for _, text := range fields[1:] {
			n, err := strconv.ParseInt(text, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			numbers = append(numbers, n)
		}
		until, changes := numbers[0], numbers[1:]
		if tt.spec != "UTC|00:00-24:00" && len(changes) < 2 || until < at.Add(8*24*time.Hour).Unix() {
			t.Errorf("%s: %d changes until %d", tt.spec, len(changes), until)
		}
		for second := at.Unix(); second < min(until, at.Add(9*24*time.Hour).Unix()); second += 60 {
			for len(changes) > 0 && changes[0] <= second {
				open, changes = !open, changes[1:]
			}
			if w.Inside(time.Unix(second, 0)) != open {
				t.Fatalf("%s: at %v the table says %v", tt.spec, time.Unix(second, 0).UTC(), open)
			}
		}
	}
}

// TestNothingStartsInTheMargin: the last of a span, as long as the margin, is as if it were shut, but that it opens again only after that.
func TestNothingStartsInTheMargin(t *testing.T) {
	night, err := ParseText("UTC|22:00-06:00")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		at, next string
		margin   time.Duration
		starts   bool
	}{
		{"05:49:59", "05:49:59", 10 * time.Minute, true}, {"05:50:00", "22:00:00", 10 * time.Minute, false}, {"05:59:59", "05:59:59", 0, true},
		{"06:00:00", "22:00:00", 10 * time.Minute, false}, {"06:00:00", "22:00:00", 0, false}, {"22:00:00", "22:00:00", 10 * time.Minute, true},
	} {
		at, err := time.Parse(time.DateTime, "2026-11-28 "+tt.at)
		if err != nil {
			t.Fatal(err)
		}
		next, some := night.NextStart(at, tt.margin)
		if night.Starts(at, tt.margin) != tt.starts || !some || next.Format(time.DateTime) != "2026-11-28 "+tt.next {
			t.Errorf("at %s, with a margin of %v: it starts %v, next at %v", tt.at, tt.margin, !tt.starts, next)
		}
	}
	if always, err := ParseText("UTC|00:00-24:00"); err != nil || !always.Starts(time.Unix(1763700000, 0), day) {
		t.Errorf("nothing starts in what never shuts, %v", err)
	}
}

func TestTextsOfSpecs(t *testing.T) {
	s := Spec{Open: []string{"Mon-Fri  22:00-06:00", "Sat 00:00-24:00"}, Except: []string{"2026-12-24"}}
	if text := s.Text(); text != "UTC|Mon-Fri 22:00-06:00|Sat 00:00-24:00|-2026-12-24" {
		t.Error(text)
	}
	for _, text := range []string{"", "UTC", "UTC|", "Nowhere|00:00-24:00", "UTC|00:00-24:00|-soon"} {
		if _, err := ParseText(text); err == nil {
			t.Errorf("%q is a window", text)
		}
	}
}
