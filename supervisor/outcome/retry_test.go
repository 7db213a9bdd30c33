package outcome

import (
	"testing"
	"time"
)

func TestRetryWaits(t *testing.T) {
	const s = time.Second
	tests := []struct {
		name  string
		retry Retry
		waits []time.Duration // after 0, 1, 2 … failures before
	}{
		{"nothing said", Retry{}, []time.Duration{0, 0}},
		{"constant", Retry{Backoff: Constant, Delay: 3 * s}, []time.Duration{3 * s, 3 * s, 3 * s}},
		{"linear", Retry{Backoff: Linear, Delay: 3 * s}, []time.Duration{3 * s, 6 * s, 9 * s}},
		{"exponential", Retry{Backoff: Exponential, Delay: 3 * s}, []time.Duration{3 * s, 6 * s, 12 * s, 24 * s}},
		{"with a limit", Retry{Backoff: Exponential, Delay: 3 * s, MaxDelay: 10 * s}, []time.Duration{3 * s, 6 * s, 10 * s, 10 * s}},
		{"list", Retry{Backoff: List, Delays: []time.Duration{s, 5 * s}}, []time.Duration{s, 5 * s, 5 * s}},
		{"empty list", Retry{Backoff: List}, []time.Duration{0}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for n, want := range tt.waits {
				if got := tt.retry.after(n); got != want {
					t.Errorf("after(%d) = %v, want %v", n, got, want)
				}
			}
		})
	}
}

func TestQuarticStaysInItsBounds(t *testing.T) {
	r := Retry{Backoff: Quartic, Delay: 15 * time.Second}
	var sum time.Duration
	for n := range 25 {
		least := time.Duration(n*n*n*n+15) * time.Second
		most := least + time.Duration(30*(n+1))*time.Second
		for range 100 {
			if got := r.after(n); got < least || got > most {
				t.Fatalf("after(%d) = %v, want %v to %v", n, got, least, most)
			}
		}
		sum += r.after(n)
	}
	if days := sum.Hours() / 24; days < 20 || days > 21 {
		t.Errorf("25 waits are %.1f days, want about 20", days)
	}
}

func TestJitterKeepsItsShare(t *testing.T) {
	r := Retry{Backoff: Constant, Delay: 100 * time.Second, Jitter: 0.2}
	least, most := time.Duration(1<<62), time.Duration(0)
	for range 1000 {
		w := r.after(0)
		least, most = min(least, w), max(most, w)
	}
	if least < 90*time.Second || most > 110*time.Second || most-least < 15*time.Second {
		t.Errorf("waits are %v to %v, want 90 s to 110 s", least, most)
	}
}

func TestWaitsNeverOverflow(t *testing.T) {
	for _, rule := range []Backoff{Linear, Exponential, Quartic} {
		if w := (Retry{Backoff: rule, Delay: time.Hour}).after(1 << 20); w <= 0 || w > maxWait {
			t.Errorf("%s: after(2²⁰) = %v", rule, w)
		}
	}
}

// A plan says what is drawn: between its least and its longest wait, and on the average its mean, cut or not.
func TestPlannedWaitsAreThoseThatAreDrawn(t *testing.T) {
	for _, r := range []Retry{
		{Backoff: Quartic, Delay: 15 * time.Second},
		{Backoff: Quartic, Delay: 15 * time.Second, MaxDelay: time.Minute},
		{Backoff: Exponential, Delay: time.Second, MaxDelay: 8 * time.Second, Jitter: 0.5},
	} {
		for n := range 5 {
			w := r.WaitAfter(n)
			var sum time.Duration
			const draws = 4000
			for range draws {
				got := r.after(n)
				if got < w.Least || got > w.Most {
					t.Fatalf("%+v after %d: %v is not from %v to %v", r, n, got, w.Least, w.Most)
				}
				sum += got
			}
			if off := (sum/draws - w.Mean).Abs(); off > w.Mean/20 {
				t.Errorf("%+v after %d: the mean is %v, and planned %v", r, n, sum/draws, w.Mean)
			}
		}
	}
	if w := (Retry{Backoff: Exponential, Delay: time.Hour}).WaitAfter(1 << 20); w.Mean != maxWait {
		t.Errorf("an endless wait is %+v", w)
	}
}
