package clock

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

// serverClock is a server whose clock is off by so much.
type serverClock struct {
	off   time.Duration
	err   error
	asked int
}

func (s *serverClock) ask(context.Context) (time.Time, error) {
	s.asked++
	return time.Now().Add(s.off), s.err
}

func (s *serverClock) clock() *Clock { return New(s.ask, slog.New(slog.DiscardHandler)) }

// near allows for what the way of an answer hides.
func near(t *testing.T, c *Clock, want time.Duration) {
	t.Helper()
	if got := c.Offset(); (got - want).Abs() > 20*time.Millisecond {
		t.Errorf("offset %v, want %v", got, want)
	}
	if now := seconds(time.Now().Add(want)); math.Abs(c.Now()-now) > 0.02 {
		t.Errorf("now %f, want %f", c.Now(), now)
	}
}

func TestClockFollowsTheServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &serverClock{off: 48 * time.Hour}
		c := s.clock()
		near(t, c, 0) // not measured yet
		if err := c.Fresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		near(t, c, 48*time.Hour)
		s.off += 100 * time.Millisecond
		if err := c.Sync(t.Context()); err != nil {
			t.Fatal(err)
		}
		near(t, c, 48*time.Hour+100*time.Millisecond)
	})
}

// The first question often waits for a connection, so its answer tells little: two programs that
// put a job each, one after the other, must not disagree by that.
func TestClockAsksAgainAfterASlowFirstAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := 40 * time.Millisecond
		c := New(func(context.Context) (time.Time, error) {
			now := time.Now()
			time.Sleep(slow) // on its way back
			slow = 0
			return now, nil
		}, slog.New(slog.DiscardHandler))
		if err := c.Fresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		if off := c.Offset().Abs(); off > time.Millisecond {
			t.Errorf("the clock is off by %v", off)
		}
	})
}

func TestClockMeasuresEveryHalfMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &serverClock{}
		c := s.clock()
		for range 10 {
			if err := c.Fresh(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if s.asked != 1 {
			t.Errorf("asked %d times, want once", s.asked)
		}
		time.Sleep(maxAge)
		s.err = errors.New("away")
		if err := c.Fresh(t.Context()); err != nil || s.asked != 2 {
			t.Errorf("asked %d times, %v; want another try that fails quietly", s.asked, err)
		}
		if err := c.FreshOrSilent(t.Context()); err != nil || s.asked != 3 {
			t.Errorf("asked %d times, %v; a connection that broke is none that is silent", s.asked, err)
		}
		s.err = fmt.Errorf("time: %w", os.ErrDeadlineExceeded)
		if err := c.FreshOrSilent(t.Context()); !errors.Is(err, s.err) || s.asked != 4 {
			t.Errorf("asked %d times, %v; want to hear that nothing was answered in time", s.asked, err)
		}
		if err := c.Fresh(t.Context()); err != nil || s.asked != 5 {
			t.Errorf("asked %d times, %v; who settles goes on", s.asked, err)
		}
	})
}

// A server whose clock runs 200 parts in a million faster is a quarter of a minute ahead
// after a day.
func TestClockFollowsADrift(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &serverClock{}
		c := s.clock()
		from := time.Now()
		for time.Since(from) < 24*time.Hour {
			s.off = time.Since(from) / 5000
			if ahead := s.off - c.Offset(); ahead.Abs() > 50*time.Millisecond {
				t.Fatalf("after %v the clock is %v off", time.Since(from), ahead)
			}
			if err := c.Fresh(t.Context()); err != nil {
				t.Fatal(err)
			}
			time.Sleep(7 * time.Second)
		}
		if least := 10 * time.Second; s.off < least {
			t.Errorf("the server drifted by %v only", s.off)
		}
	})
}

func TestClockLearnsLittleFromASlowAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &serverClock{}
		c := s.clock()
		if err := c.Sync(t.Context()); err != nil {
			t.Fatal(err)
		}
		c.ask = func(ctx context.Context) (time.Time, error) {
			now, err := s.ask(ctx)
			time.Sleep(800 * time.Millisecond) // all of it on the way back
			return now, err
		}
		if err := c.Sync(t.Context()); err != nil {
			t.Fatal(err)
		}
		near(t, c, 0)
		s.off = time.Second // more than the wait can explain
		if err := c.Sync(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := c.Offset(); got <= 0 || got > s.off {
			t.Errorf("off by %v; want something above 0 and no more than %v", got, s.off)
		}
	})
}

func TestClockWithoutAServer(t *testing.T) {
	s := &serverClock{err: errors.New("away")}
	if err := s.clock().Fresh(t.Context()); err == nil {
		t.Error("the first measurement failed and nobody said so")
	}
}

func TestClockBelievesAJumpOnlyWhenItIsConfirmed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &serverClock{}
		c := s.clock()
		if err := c.Sync(t.Context()); err != nil {
			t.Fatal(err)
		}
		// One wild answer, and then the truth.
		c.ask = func(ctx context.Context) (time.Time, error) {
			defer func() { s.off = 0 }()
			return s.ask(ctx)
		}
		s.off = 8 * 24 * time.Hour
		if err := c.Sync(t.Context()); err != nil {
			t.Fatal(err)
		}
		near(t, c, 0)
		c.ask = s.ask
		s.off = -time.Hour
		if err := c.Sync(t.Context()); err != nil {
			t.Fatal(err)
		}
		near(t, c, -time.Hour)
	})
}

// Where a delay or the end of a lock counts, the clock follows a step of the server's within a second. For some seconds others may not
// have noticed.
func TestAPreciseClockFollowsAStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &serverClock{}
		c := s.clock()
		if err := c.Precise(t.Context()); err != nil || c.Settling() {
			t.Fatalf("%v, settling: %v", err, c.Settling())
		}
		for _, step := range []time.Duration{-20 * time.Second, time.Hour, -time.Hour, 30 * 365 * 24 * time.Hour, -30 * 365 * 24 * time.Hour} {
			s.off += step
			time.Sleep(time.Second)
			asked := s.asked
			for range 10 {
				if err := c.Precise(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			near(t, c, s.off)
			if s.asked != asked+2 { // and once more, for it is to be confirmed
				t.Errorf("asked %d times", s.asked-asked)
			}
			if !c.Settling() {
				t.Error("others may not have noticed the step")
			}
			time.Sleep(settling)
			if c.Settling() {
				t.Error("it still settles")
			}
		}
	})
}
