package schedule

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func parse(t *testing.T, expression, zone string) Schedule {
	t.Helper()
	s, err := Parse(expression, zone)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Each zone at its changes of the clock, in both directions: what comes after from, in order.
func TestChangesOfTheClock(t *testing.T) {
	tests := []struct{ zone, expression, from, want string }{
		// Berlin: 02:00 becomes 03:00 on 29 March, 03:00 becomes 02:00 on 25 October.
		{"Europe/Berlin", "30 2 * * *", "2026-03-28T00:00+01", "28T02:30+01 29T03:00+02 30T02:30+02"},
		{"Europe/Berlin", "*/15 2 * * *", "2026-03-29T00:00+01", "29T03:00+02 30T02:00+02 30T02:15+02"},
		{"Europe/Berlin", "0 2 * * *", "2026-03-29T00:00+01", "29T03:00+02 30T02:00+02"},
		{"Europe/Berlin", "0 3 * * *", "2026-03-29T00:00+01", "29T03:00+02 30T03:00+02"},
		{"Europe/Berlin", "0,30 2,3 * * *", "2026-03-29T00:00+01", "29T03:00+02 29T03:30+02 30T02:00+02"},
		{"Europe/Berlin", "30 * * * *", "2026-03-29T01:00+01", "29T01:30+01 29T03:30+02 29T04:30+02"},
		{"Europe/Berlin", "0 */2 * * *", "2026-03-29T00:00+01", "29T04:00+02 29T06:00+02"},
		{"Europe/Berlin", "30 2 * * *", "2026-10-24T12:00+02", "25T02:30+02 26T02:30+01"},
		{"Europe/Berlin", "0 3 * * *", "2026-10-25T00:00+02", "25T03:00+01 26T03:00+01"},
		{"Europe/Berlin", "*/30 2 * * *", "2026-10-25T00:00+02", "25T02:00+02 25T02:30+02 26T02:00+01"},
		{"Europe/Berlin", "*/30 2 * * *", "2026-10-25T02:10+01", "26T02:00+01"}, // asked in the second time
		{"Europe/Berlin", "30 * * * *", "2026-10-25T01:40+02", "25T02:30+02 25T02:30+01 25T03:30+01"},
		{"Europe/Berlin", "0 4 * * Mon-Fri", "2026-10-23T05:00+02", "26T04:00+01 27T04:00+01"},
		// New York: 02:00 becomes 03:00 on 8 March, 02:00 becomes 01:00 on 1 November.
		{"America/New_York", "15 2 * * *", "2026-03-07T12:00-05", "8T03:00-04 9T02:15-04"},
		{"America/New_York", "30 1 * * *", "2026-10-31T12:00-04", "1T01:30-04 2T01:30-05"},
		{"America/New_York", "0 * * * *", "2026-11-01T00:30-04", "1T01:00-04 1T01:00-05 1T02:00-05"},
		// Lord Howe, by half an hour: 02:00 becomes 02:30 on 4 October, 02:00 becomes 01:30 on 5 April.
		{"Australia/Lord_Howe", "15 2 * * *", "2026-10-03T12:00+1030", "4T02:30+11 5T02:15+11"},
		{"Australia/Lord_Howe", "15,45 2 * * *", "2026-10-03T12:00+1030", "4T02:30+11 4T02:45+11 5T02:15+11"},
		{"Australia/Lord_Howe", "45 1 * * *", "2026-04-04T12:00+11", "5T01:45+11 6T01:45+1030"},
		{"Australia/Lord_Howe", "45 * * * *", "2026-04-05T01:00+11", "5T01:45+11 5T01:45+1030 5T02:45+1030"},
		{"Asia/Kolkata", "30 2 * * *", "2026-03-28T12:00+0530", "29T02:30+0530 30T02:30+0530"},
		{"UTC", "30 2 * * *", "2026-03-28T12:00+00", "29T02:30Z 30T02:30Z"},
		{"", "0 0 29 2 *", "2026-01-01T00:00+00", "29T00:00Z 29T00:00Z"}, // 2028, 2032
		{"", "0 0 13 * 5", "2026-02-01T00:00+00", "6T00:00Z 13T00:00Z 20T00:00Z"},
		{"", "0 0 * * 7", "2026-02-01T12:00+00", "8T00:00Z"},
		{"", "0 0 * * 5-7", "2026-02-05T12:00+00", "6T00:00Z 7T00:00Z 8T00:00Z 13T00:00Z"},
		// Samoa left out 30 December 2011.
		{"Pacific/Apia", "0 12 * * *", "2011-12-29T00:00-10", "29T12:00-10 31T00:00+14 31T12:00+14"},
	}
	for _, tt := range tests {
		t.Run(tt.zone+" "+tt.expression, func(t *testing.T) {
			s := parse(t, tt.expression, tt.zone)
			at, err := time.Parse("2006-01-02T15:04Z0700", tt.from)
			if err != nil {
				at, err = time.Parse("2006-01-02T15:04Z07", tt.from)
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range strings.Fields(tt.want) {
				at = s.Next(at)
				got := strings.TrimSuffix(at.Format("2T15:04Z0700"), "00")
				if strings.HasSuffix(want, "Z") {
					got = at.Format("2T15:04Z0700")
				}
				if got != want {
					t.Fatalf("came %s, want %s of %s", got, want, tt.want)
				}
			}
		})
	}
}

func TestWhatIsNoSchedule(t *testing.T) {
	for _, tt := range []struct{ expression, zone, want string }{
		{"0 2 30 2 *", "", "never comes"},
		{"0 0 31 4,6,9,11 *", "", "never comes"},
		{", * * * *", "", "never comes"},
		{"", "", "five are wanted"},
		{"* * * *", "", "five are wanted"},
		{"*/10 * * * * *", "", "@every 30s"},
		{"60 * * * *", "", "above maximum"},
		{"* * * * Foo", "", "Foo"},
		{"* * * * Mon,Foo", "", "Foo"}, // on a Monday, too
		{"*/0 * * * *", "", "positive"},
		{"5-1 * * * *", "", "beyond end"},
		{"@reboot", "", "none of @yearly"},
		{"@every 0s", "", "whole seconds"},
		{"@every 1500ms", "", "whole seconds"},
		{"@every -5m", "", "whole seconds"},
		{"@every soon", "", "invalid duration"},
		{"TZ=UTC * * * *", "", "names a zone"},
		{"TZ=0", "", "five are wanted"},
		{"* * * * *", "Europe/Atlantis", "no time zone"},
		{"* * * * *", "Local", "another on each host"},
		{"* * * * *", "../../etc/passwd", "no time zone"},
	} {
		if _, err := Parse(tt.expression, tt.zone); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q in %q: %v, want %q", tt.expression, tt.zone, err, tt.want)
		}
	}
}

func TestEvery(t *testing.T) {
	s, err := Every(10 * time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	for from, want := range map[string]string{
		"12:34:56.5": "12:40:00", "12:39:59.999": "12:40:00", "12:40:00": "12:50:00", "23:59:00": "00:00:00",
	} {
		at, _ := time.Parse("15:04:05", from)
		if got := s.Next(at.AddDate(2026, 0, 0)).Format("15:04:05"); got != want {
			t.Errorf("after %s comes %s, want %s", from, got, want)
		}
	}
	if got := s.Next(time.Unix(-1, 0)).Unix(); got != 0 {
		t.Errorf("after -1 comes %d", got)
	}
}

// What is next is what a clock on the wall shows, minute by minute, in each zone.
func TestNextIsWhatTheClockShows(t *testing.T) {
	zones := []string{"UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata"}
	changes := []string{"2026-03-29", "2026-10-25", "2026-03-08", "2026-11-01", "2026-04-05", "2026-10-04"}
	rapid.Check(t, func(t *rapid.T) {
		zone := rapid.SampledFrom(zones).Draw(t, "zone")
		minute := rapid.SampledFrom([]string{"0", "30", "*/15", "7,52", "*"}).Draw(t, "minute")
		hour := rapid.SampledFrom([]string{"*", "1", "2", "1-3", "*/2", "0,2"}).Draw(t, "hour")
		s, err := Parse(minute+" "+hour+" * * *", zone)
		if err != nil {
			t.Fatal(err)
		}
		day, _ := time.Parse(time.DateOnly, rapid.SampledFrom(changes).Draw(t, "day"))
		from := day.Add(time.Duration(rapid.IntRange(-1440, 1440).Draw(t, "from")) * time.Minute)
		want := from
		for passed := shown(from.In(s.zone)); ; {
			want = want.Add(time.Minute)
			clock := shown(want.In(s.zone))
			if !s.byHours && !clock.After(passed) {
				continue // shown before
			}
			shows := false // now, or passed by
			for w := clock; !shows && w.After(passed) && (w.Equal(clock) || !s.byHours); w = w.Add(-time.Minute) {
				shows = s.wall.Next(w.Add(-1)).Equal(w)
			}
			if s.byHours {
				shows = s.wall.Next(clock.Add(-1)).Equal(clock)
			}
			passed = clock
			if shows {
				break
			}
		}
		// What the clock showed before from does not come again.
		if got := s.Next(from); !got.Equal(want) && (s.byHours || !shownBefore(s, from, want)) {
			t.Fatalf("%s in %s after %s: %s, want %s", s, zone, from.In(s.zone), got, want.In(s.zone))
		}
	})
}

// shownBefore: the clock showed what it shows at at before from, in the hour that came twice.
func shownBefore(s Schedule, from, at time.Time) bool {
	for back := time.Minute; back <= 2*time.Hour; back += time.Minute {
		earlier := at.Add(-back)
		if !earlier.After(from) && shown(earlier.In(s.zone)).Equal(shown(at.In(s.zone))) {
			return true
		}
	}
	return false
}

func TestBetween(t *testing.T) {
	to := time.Date(2026, 11, 22, 12, 0, 30, 0, time.UTC)
	for _, tt := range []struct {
		expression string
		back       time.Duration
		most, want int
		more       bool
	}{
		{"* * * * *", 0, 10, 0, false},
		{"* * * * *", 30 * time.Second, 10, 1, false},
		{"* * * * *", time.Hour, 100, 60, false},
		{"* * * * *", time.Hour, 60, 60, false},
		{"* * * * *", time.Hour, 59, 59, true},
		{"* * * * *", 72 * time.Hour, 1, 1, true},
		{"@every 1s", 100 * 365 * 24 * time.Hour, 1000, 1000, true},
		{"0 4 * * *", 72 * time.Hour, 10, 3, false},
		{"0 0 29 2 *", 72 * time.Hour, 10, 0, false},
		{"0 0 29 2 *", 200 * 365 * 24 * time.Hour, 10, 10, true},
	} {
		s := parse(t, tt.expression, "Europe/Berlin")
		got, more := s.Between(to.Add(-tt.back), to, tt.most)
		if len(got) != tt.want || more != tt.more {
			t.Errorf("%s, %v back, %d at most: %d, %v; want %d, %v", tt.expression, tt.back, tt.most, len(got), more, tt.want, tt.more)
			continue
		}
		if len(got) > 0 && s.Next(got[len(got)-1]).Before(to) {
			t.Errorf("%s: the last is %v", tt.expression, got[len(got)-1])
		}
	}
}
