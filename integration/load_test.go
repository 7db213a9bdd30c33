package integration

import (
	"cmp"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"
)

// patience is how long a test waits for an event. It is no statement about the product: a machine may be busy.
const patience = time.Minute

// await calls try until it returns nil. After patience it fails the test with the last error.
func await(t testing.TB, try func() error) {
	t.Helper()
	within(t, patience, try)
}

// within is await for an event that has to come within a bound. Only the long run holds the product to a bound below patience, in fair time.
func within(t testing.TB, bound time.Duration, try func() error) {
	t.Helper()
	timely, began, at := time.NewTicker(15*time.Millisecond), time.Now(), now()
	defer timely.Stop()
	for {
		err := try()
		switch {
		case err == nil:
			return
		case bound < patience && !testing.Short() && fairly(at, now()) > bound.Seconds():
			t.Fatalf("after %v: %v", bound, err)
		case time.Since(began) > max(bound, patience):
			t.Fatalf("after %v: %v", max(bound, patience), err)
		}
		<-timely.C
	}
}

// bound notes how long something took, in seconds. The long run fails if that is more than a bound, in fair time.
func (r *rig) bound(t testing.TB, name string, from, to, most float64) {
	t.Helper()
	r.note(name, to-from)
	if took := fairly(from, to); !testing.Short() && took > most {
		t.Errorf("%s: %.2f s, want %.2f s at most", name, took, most)
	}
}

// Bounds of FAULTS.md hold on a machine that has a core for everybody. So the long run counts them in fair time, which passes slower by as much as more
// processes want a core than there are, mostStretch times at most, and not while the machine itself stands still.
const (
	mostStretch = 3
	paceSamples = 100 * time.Millisecond
	standsStill = 0.03 // seconds after which a sample that is late says that the machine stood still
)

// paceSample says how much fair time had passed at a moment, and for how long the machine had stood still, in seconds.
type paceSample struct{ at, fair, gone float64 }

var pace struct {
	mu      sync.Mutex
	samples []paceSample
}

// watchPace takes samples until the program ends.
func watchPace() {
	pace.samples = []paceSample{{at: now()}}
	go func() {
		for range time.Tick(paceSamples) {
			pace.mu.Lock()
			last, at := pace.samples[len(pace.samples)-1], now()
			gone := max(0, at-last.at-paceSamples.Seconds()-standsStill)
			pace.samples = append(pace.samples, paceSample{at, last.fair + (at-last.at-gone)/overload(), last.gone + gone})
			pace.mu.Unlock()
		}
	}()
}

// overload is how many more processes want a core than there are, without this one: from 1 to mostStretch.
func overload() float64 {
	var wanted int
	if text, err := os.ReadFile("/proc/loadavg"); err == nil {
		var minutes [3]float64
		fmt.Sscanf(string(text), "%f %f %f %d/", &minutes[0], &minutes[1], &minutes[2], &wanted)
	}
	return min(mostStretch, max(1, float64(wanted-1)/float64(runtime.NumCPU())))
}

// fairly is how much fair time passed between two moments of the ledger's clock, in seconds.
func fairly(from, to float64) float64 { return paceAt(to).fair - paceAt(from).fair }

// gone is for how long the machine stood still between two moments, in seconds.
func gone(from, to float64) float64 { return paceAt(to).gone - paceAt(from).gone }

// paceAt is the state at a moment. Before the first sample and after the last one, all time is fair.
func paceAt(at float64) paceSample {
	pace.mu.Lock()
	defer pace.mu.Unlock()
	i, _ := slices.BinarySearchFunc(pace.samples, at, func(s paceSample, at float64) int { return cmp.Compare(s.at, at) })
	if i == 0 || i == len(pace.samples) {
		near := pace.samples[max(0, i-1)]
		return paceSample{at, near.fair + at - near.at, near.gone}
	}
	last, next := pace.samples[i-1], pace.samples[i]
	share := (at - last.at) / (next.at - last.at)
	return paceSample{at, last.fair + share*(next.fair-last.fair), last.gone + share*(next.gone-last.gone)}
}
