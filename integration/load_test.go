package integration

import (
	"cmp"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
	"time"
)

// The bounds of FAULTS.md hold where there is a core for everybody. Rows run beside each
// other, and other packages' tests beside ours; with three times as many who want a core
// as there are, all takes three times as long. So bounds count fair time, which passes
// slower by as much as the machine is overloaded at the moment, and three times at most:
// beyond that something else is wrong. What must never happen has no bound to stretch.
const (
	mostStretch = 3
	paceSamples = 100 * time.Millisecond
)

// pace is how fair time has passed since the tests began.
var pace struct {
	mu      sync.Mutex
	samples []paceSample
}

// paceSample says how much fair time had passed at a moment, both in seconds, and how
// overloaded the machine was before it: 1 or more.
type paceSample struct{ at, fair, load float64 }

// watchPace takes samples until the program ends.
func watchPace() {
	pace.samples = []paceSample{{at: now(), load: 1}}
	go func() {
		for range time.Tick(paceSamples) {
			pace.mu.Lock()
			last := pace.samples[len(pace.samples)-1]
			next := paceSample{at: now(), load: overload()}
			next.fair = last.fair + (next.at-last.at)/next.load
			pace.samples = append(pace.samples, next)
			pace.mu.Unlock()
		}
	}()
}

// overload is how many more want a core than there are, us apart: from 1 to mostStretch.
func overload() float64 {
	var wanted int
	if text, err := os.ReadFile("/proc/loadavg"); err == nil {
		var minutes [3]float64
		fmt.Sscanf(string(text), "%f %f %f %d/", &minutes[0], &minutes[1], &minutes[2], &wanted)
	}
	return min(mostStretch, max(1, float64(wanted-1)/float64(runtime.NumCPU())))
}

// fairly is how much fair time passed between two moments of the ledger's clock, in seconds.
func fairly(from, to float64) float64 { return fairAt(to) - fairAt(from) }

// fairAt is how much fair time had passed at a moment since the tests began.
func fairAt(at float64) float64 {
	pace.mu.Lock()
	defer pace.mu.Unlock()
	i, _ := slices.BinarySearchFunc(pace.samples, at, func(s paceSample, at float64) int { return cmp.Compare(s.at, at) })
	if i == len(pace.samples) {
		last := pace.samples[i-1]
		return last.fair + (at-last.at)/last.load
	}
	next := pace.samples[i]
	return next.fair - (next.at-at)/next.load
}

// stretched is a bound on what has just taken place, in the time of this machine.
func stretched(bound time.Duration) time.Duration {
	took := now()
	return time.Duration(float64(bound) * bound.Seconds() / fairly(took-bound.Seconds(), took))
}

// overdue returns a channel that is closed after bound of fair time. stop ends it early.
func overdue(bound time.Duration) (late <-chan struct{}, stop func()) {
	over, stopped := make(chan struct{}), make(chan struct{})
	due := fairAt(now()) + bound.Seconds()
	go func() { // ends with stop, or when it is late
		for {
			left := due - fairAt(now())
			if left <= 0 {
				close(over)
				return
			}
			select {
			case <-stopped:
				return
			case <-time.After(time.Duration(left * float64(time.Second))):
			}
		}
	}()
	return over, sync.OnceFunc(func() { close(stopped) })
}
