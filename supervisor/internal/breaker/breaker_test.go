package breaker

import (
	"fmt"
	"testing"
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
