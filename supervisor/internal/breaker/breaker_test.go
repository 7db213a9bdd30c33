package breaker

import (
	"fmt"
	"testing"
	"time"
)

func TestBreakerOpensAfterManyBadEndingsOfSeveralJobs(t *testing.T) {
	tests := []struct {
		name     string
		proven   bool
		children int
		endings  int
		jobs     int
		wantOpen bool
	}{
		{"fresh, too few endings", false, 1000, Fresh - 1, minJobs, false},
		{"fresh, too few jobs", false, 2, 10 * window, minJobs - 1, false},
		{"fresh, enough of both", false, 1000, Fresh, minJobs, true},
		{"proven, too few endings", true, 2, window - 1, minJobs, false},
		{"proven, enough", true, 25, window, minJobs, true},
		{"proven and large, too few", true, 100, 399, minJobs, false},
		{"proven and large, enough", true, 100, 400, minJobs, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := New()
			if tt.proven {
				b.Good()
			}
			for i := range tt.endings {
				b.Neutral() // is not in the window
				b.Bad(fmt.Sprint(i%tt.jobs), "exit 1", "", tt.children)
			}
			if b.Open != tt.wantOpen {
				t.Errorf("open = %v, want %v", b.Open, tt.wantOpen)
			}
		})
	}
}

func TestAGoodEndingBetweenBadOnesKeepsTheBreakerClosed(t *testing.T) {
	b := New()
	for i := range 10 * window {
		if i%(Fresh-1) == 0 {
			b.Good()
		}
		if b.Bad(fmt.Sprint(i), "exit 1", "", 1) {
			t.Fatalf("open after ending %d", i)
		}
	}
}

func TestAnyEndingThatIsNotBadClosesTheBreaker(t *testing.T) {
	for name, end := range map[string]func(*Breaker) bool{"good": (*Breaker).Good, "neutral": (*Breaker).Neutral} {
		b := New()
		for i := range Fresh {
			b.Bad(fmt.Sprint(i), "exit 1", "", 1)
		}
		if !b.Open || !end(&b) || b.Open || b.Why() != "" {
			t.Errorf("%s: open %v: %s", name, b.Open, b.Why())
		}
	}
}

func TestNewCodeIsOnTrialAgain(t *testing.T) {
	b := New()
	b.Good()
	b.Changed()
	for i := range Fresh {
		b.Bad(fmt.Sprint(i), "exit 1", "", 1)
	}
	if !b.Open {
		t.Error("the breaker is closed after a window of bad endings of new code")
	}
}

// longOpen is a moment at which a breaker has been open for longer than any wait.
const longOpen = 1000 * time.Hour

// A job that ended badly waits for twice the time that all such jobs take. Where no other job waits behind it, five minutes are enough.
func TestAJobThatEndedBadlyStaysAway(t *testing.T) {
	b := New()
	if got := b.Away(longOpen, time.Second); got != 0 {
		t.Errorf("a closed breaker keeps a job away for %v", got)
	}
	const jobs = mostJobs + 99
	for i := range jobs {
		b.Bad(fmt.Sprint(i), "exit 1", "", 1)
		b.Bad("0", "exit 1", "", 1) // is one however often it ends
	}
	if b.Jobs() != jobs {
		t.Errorf("%d different jobs, want %d", b.Jobs(), jobs)
	}
	for _, tt := range []struct{ ran, want time.Duration }{
		{0, 2 * (jobs + 1) * 100 * time.Millisecond},
		{time.Second, 2 * (jobs + 1) * time.Second},
		{time.Hour, 2 * (jobs + 1) * 10 * time.Second},
	} {
		for _, take := range []struct {
			jobs  int
			more  bool
			alone bool // the job that ends came after a take that left none
		}{{1, true, false}, {1, true, false}, {0, false, false}, {1, true, true}, {1, true, false}} {
			b.Took(take.jobs, take.more)
			want := tt.want
			if take.alone {
				want = longestAway
			}
			if got := b.Away(longOpen, tt.ran); got != want {
				t.Errorf("a job that ran for %v stays away for %v, want %v (alone: %v)", tt.ran, got, want, take.alone)
			}
		}
	}
	if b.Good(); b.Jobs() != 0 || b.Away(longOpen, 0) != 0 {
		t.Errorf("after a good ending, %d jobs keep others away for %v", b.Jobs(), b.Away(longOpen, 0))
	}
}

// A job stays away for at most twice the time since the breaker opened, however many jobs ended badly; up to five minutes, their
// number decides.
func TestNoJobStaysAwayForMuchLongerThanAnOutage(t *testing.T) {
	const opened = 3 * time.Hour
	b := New()
	for i := range 36_000 {
		if b.Bad(fmt.Sprint(i), "exit 1", "", 1) {
			b.Since = opened
		}
	}
	for _, tt := range []struct{ open, ran, want time.Duration }{
		{time.Second, 0, longestAway},
		{time.Minute, time.Hour, longestAway},
		{30 * time.Minute, 0, time.Hour},
		{time.Hour, 10 * time.Second, 2 * time.Hour},
		{10 * time.Hour, 0, 2 * 36_000 * 100 * time.Millisecond},
	} {
		if got := b.Away(opened+tt.open, tt.ran).Truncate(time.Second); got != tt.want {
			t.Errorf("after %v a job that ran for %v stays away for %v, want %v", tt.open, tt.ran, got, tt.want)
		}
	}
}

func TestTheBreakerNamesWhatHappened(t *testing.T) {
	b := New()
	for i := range Fresh {
		if i%3 == 0 {
			b.Bad(fmt.Sprint(i), "signal SEGV", "killed by SIGSEGV", 1)
			continue
		}
		b.Bad(fmt.Sprint(i), "exit 127", "first line\nsh: convert-nosuch: not found\n", 1)
	}
	if got, want := b.Why(), "the last 20 attempts ended badly, most by exit 127: sh: convert-nosuch: not found"; got != want {
		t.Errorf("it says %q, want %q", got, want)
	}
}
