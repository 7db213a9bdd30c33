package service

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"oarlock/internal/config"
	"oarlock/internal/logging"
)

// A reload gives up a file that does not answer, and the next one does not wait for it.
func TestAReloadThatStandsStill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		logs := logging.New(io.Discard, "text", "info")
		s := New(config.Config{Path: "c.toml"}, Options{Log: logs})
		free := make(chan struct{})
		s.options.Reread = func() (cfg config.Config, err error) { <-free; return cfg, errors.New("too late") }
		began := time.Now()
		if r := s.Reload("HUP"); !strings.Contains(r.Refused, "c.toml does not answer") || time.Since(began) != readPatience {
			t.Errorf("after %v: %+v", time.Since(began), r)
		}
		began = time.Now()
		if r := s.Reload("HUP"); !strings.Contains(r.Refused, "still being read") || time.Since(began) != 0 {
			t.Errorf("after %v: %+v", time.Since(began), r)
		}
		close(free)
		time.Sleep(time.Second) // it reads twice
		if r := s.Reload("HUP"); r.Refused != "too late" {
			t.Errorf("when it answers again: %+v", r)
		}
		logs.Close()
	})
}

// A reload right behind another one reads the file, too.
func TestReloadsOneBehindTheOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		logs := logging.New(io.Discard, "text", "info")
		defer logs.Close()
		s := New(config.Config{Path: "c.toml"}, Options{Log: logs})
		s.options.Reread = func() (cfg config.Config, err error) { return cfg, errors.New("no such file") }
		for n := range 500 {
			if r := s.Reload("HUP"); r.Refused != "no such file" {
				t.Fatalf("after %d reloads: %+v", n, r)
			}
		}
	})
}

// What leaves says so to whoever asks for a reload, and blames no file that it did not wait for.
func TestAReloadOfWhatLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		logs := logging.New(io.Discard, "text", "info")
		s := New(config.Config{Path: "c.toml"}, Options{Log: logs})
		free := make(chan struct{})
		s.options.Reread = func() (cfg config.Config, err error) { <-free; return cfg, errors.New("too late") }
		time.AfterFunc(time.Second, func() { close(s.leaving) })
		for range 2 {
			if r := s.Reload("HUP"); r.Refused != errLeaving.Error() {
				t.Errorf("it is said: %s", r.Refused)
			}
		}
		close(free)
		time.Sleep(time.Second) // it reads twice
		logs.Close()
	})
}

// What drains takes no jobs, be it quiet or not, and says nothing of that.
func TestQuietOfWhatDrains(t *testing.T) {
	logs := logging.New(io.Discard, "text", "info")
	defer logs.Close()
	s := New(config.Config{}, Options{Log: logs})
	if !s.setQuiet(true) || s.setQuiet(true) || !s.setQuiet(false) {
		t.Error("to be quiet, and not to be it any more, are changes")
	}
	s.draining.Store(true)
	if s.setQuiet(true) || s.setQuiet(false) {
		t.Error("what drains says that it is quiet, or has resumed")
	}
}

// Where something stands still that nobody foresaw, a stop gives up.
func TestTheLastResort(t *testing.T) {
	none := func() remains { return remains{} }
	one := func() remains { return remains{inFlight: 1, living: 1} }
	fewer := func(each time.Duration) func() remains { // of 2,000 children and jobs one ends each time, from a minute on
		began := time.Time{}
		return func() remains {
			if began.IsZero() {
				began = time.Now()
			}
			n := 2000 - int(max(time.Since(began)-time.Minute, 0)/each)
			return remains{inFlight: n / 2, living: n - n/2}
		}
	}
	minute := func() time.Duration { return time.Minute }
	const never = time.Hour
	tests := []struct {
		name  string
		look  func() remains
		ends  bool
		hurry time.Duration
		least time.Duration
		most  time.Duration
	}{
		{"nothing in flight", none, false, never, 9 * time.Second, 10 * time.Second},
		{"something in flight", one, false, never, time.Minute, time.Minute + 10*time.Second},
		{"something in flight, and told to hurry", one, false, 5 * time.Second, 14 * time.Second, 15 * time.Second},
		{"told to hurry when it is late", one, false, time.Minute + 5*time.Second, time.Minute + 9*time.Second, time.Minute + 10*time.Second},
		{"children that end slowly", fewer(time.Second / 20), false, never, time.Minute + 100*time.Second, time.Minute + 120*time.Second},
		{"children that end too slowly", fewer(2 * time.Second), false, never, time.Minute + 100*time.Second, time.Minute + 120*time.Second},
		{"children that end more seldom than is waited for", fewer(20 * time.Second), false, never, time.Minute, time.Minute + 10*time.Second},
		{"all is well", one, true, never, 0, time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ended := make(chan error, 1)
				if tt.ends {
					ended <- nil
				}
				hurry := make(chan struct{})
				defer time.AfterFunc(tt.hurry, func() { close(hurry) }).Stop()
				began := time.Now()
				err := lastResort(ended, hurry, tt.look, minute)
				if took := time.Since(began); took < tt.least || took > tt.most || (err == nil) != tt.ends {
					t.Errorf("after %v: %v; want between %v and %v", took, err, tt.least, tt.most)
				}
			})
		})
	}
}
