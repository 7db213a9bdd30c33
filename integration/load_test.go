package integration

import (
	"cmp"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// The bounds of FAULTS.md hold where there is a core for everybody. Rows run beside each
// other, and other packages' tests beside ours; with three times as many who want a core
// as there are, all takes three times as long. So bounds count fair time, which passes
// slower by as much as the machine is overloaded at the moment, and three times at most:
// beyond that something else is wrong. While a core is not there at all, for the machine is
// a guest and its host busy, no fair time passes. What must never happen has no bound to stretch.
const (
	mostStretch = 3
	paceSamples = 100 * time.Millisecond
	coreSleeps  = 10 * time.Millisecond
	coreLate    = 0.03 // seconds after which who slept so long on a core should run again, were the core there
)

// pace is how fair time has passed since the tests began.
var pace struct {
	mu      sync.Mutex
	samples []paceSample
	cores   []*paceCore
}

// paceSample says how much fair time had passed at a moment, and for how long a core had not been there, all in seconds, and how
// overloaded the machine was before it: 1 or more.
type paceSample struct{ at, fair, gone, load float64 }

// paceCore is when somebody who does nothing else last ran on a core, for how long in all nobody did, and how much of that is in the samples, in
// seconds.
type paceCore struct{ ran, gone, sampled float64 }

// goneAt is for how long the core has not been there in all, at a moment.
func (c *paceCore) goneAt(at float64) float64 { return c.gone + max(0, at-c.ran-coreLate) }

// watchPace takes samples until the program ends.
func watchPace() {
	var usable unix.CPUSet
	if err := unix.SchedGetaffinity(0, &usable); err != nil {
		panic(err)
	}
	for number := 0; len(pace.cores) < usable.Count(); number++ {
		if usable.IsSet(number) {
			c := &paceCore{ran: now()}
			pace.cores = append(pace.cores, c)
			go watchCore(number, c)
		}
	}
	pace.samples = []paceSample{{at: now(), load: 1}}
	go func() {
		for range time.Tick(paceSamples) {
			pace.mu.Lock()
			samplePace()
			pace.mu.Unlock()
		}
	}()
}

// watchCore sleeps on a core again and again.
func watchCore(number int, c *paceCore) {
	runtime.LockOSThread()
	var only unix.CPUSet
	only.Set(number)
	if err := unix.SchedSetaffinity(0, &only); err != nil {
		panic(err)
	}
	pause := syscall.NsecToTimespec(coreSleeps.Nanoseconds())
	for {
		syscall.Nanosleep(&pause, nil)
		pace.mu.Lock()
		at := now()
		c.ran, c.gone = at, c.goneAt(at)
		pace.mu.Unlock()
	}
}

// samplePace takes a sample, with pace.mu held.
func samplePace() {
	last := pace.samples[len(pace.samples)-1]
	next := paceSample{at: now(), load: overload()}
	gone := 0.0 // of the core that was away for the longest
	for _, c := range pace.cores {
		before := c.sampled
		c.sampled = c.goneAt(next.at)
		gone = max(gone, c.sampled-before)
	}
	next.gone = last.gone + gone
	next.fair = last.fair + max(0, next.at-last.at-gone)/next.load
	pace.samples = append(pace.samples, next)
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
func fairly(from, to float64) float64 { return paceAt(to).fair - paceAt(from).fair }

// gone is for how long a core was not there between two moments, in seconds: who then should have been stopped may do something yet when it is
// there again.
func gone(from, to float64) float64 { return paceAt(to).gone - paceAt(from).gone }

// paceAt is the sample of a moment. Before the tests began all was fair.
func paceAt(at float64) paceSample {
	pace.mu.Lock()
	defer pace.mu.Unlock()
	if pace.samples[len(pace.samples)-1].at < at {
		samplePace()
	}
	i, _ := slices.BinarySearchFunc(pace.samples, at, func(s paceSample, at float64) int { return cmp.Compare(s.at, at) })
	if i == 0 {
		return paceSample{at: at, fair: at - pace.samples[0].at, load: 1}
	}
	if i == len(pace.samples) { // it is to come
		return pace.samples[i-1]
	}
	last, next := pace.samples[i-1], pace.samples[i]
	share := (at - last.at) / (next.at - last.at)
	return paceSample{at: at, fair: last.fair + share*(next.fair-last.fair), gone: last.gone + share*(next.gone-last.gone), load: next.load}
}

// overdue returns a channel that is closed after bound of fair time. stop ends it early.
func overdue(bound time.Duration) (late <-chan struct{}, stop func()) {
	over, stopped := make(chan struct{}), make(chan struct{})
	due := paceAt(now()).fair + bound.Seconds()
	go func() { // ends with stop, or when it is late
		for {
			left := due - paceAt(now()).fair
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
