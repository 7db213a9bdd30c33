package service

import (
	"sync"
	"time"

	"oarlock/internal/hub"
)

// rateWindow is over how many seconds rates are told.
const rateWindow = 60

// rates counts how jobs ended here lately, by pool and queue. Safe for concurrent use.
type rates struct {
	began time.Time

	mu      sync.Mutex // for memory only
	windows map[lane]*window
}

// lane is a queue as one pool works it.
type lane struct{ pool, queue string }

// window is the last seconds of a lane.
type window struct {
	ends   [rateWindow]tally
	newest int // the second, counted from the beginning, of the last entry
}

// tally is how many jobs ended in a second.
type tally struct{ done, failed int }

func newRates() *rates { return &rates{began: time.Now(), windows: map[lane]*window{}} }

// note counts a job that ended with one of the outcomes.
func (r *rates) note(pool, queue, outcome string) {
	if outcome != hub.Done && outcome != hub.Failed {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	w := r.windows[lane{pool, queue}]
	if w == nil {
		w = &window{}
		r.windows[lane{pool, queue}] = w
	}
	second := r.second()
	w.advance(second)
	if outcome == hub.Done {
		w.ends[second%rateWindow].done++
	} else {
		w.ends[second%rateWindow].failed++
	}
}

// second is the one under way.
func (r *rates) second() int { return int(time.Since(r.began) / time.Second) }

// advance forgets what is older than the window that ends with a second.
func (w *window) advance(second int) {
	for s := max(w.newest+1, second-rateWindow+1); s <= second; s++ {
		w.ends[s%rateWindow] = tally{}
	}
	w.newest = max(w.newest, second)
}

// lately returns how many jobs a second ended well, and how many a minute failed, on each
// lane of which there are any. What has been silent for a minute is forgotten.
func (r *rates) lately() map[lane]ended {
	over := min(max(time.Since(r.began).Seconds(), 1), rateWindow)
	out := map[lane]ended{}
	r.mu.Lock()
	defer r.mu.Unlock()
	second := r.second()
	for l, w := range r.windows {
		w.advance(second)
		var sum tally
		for _, t := range w.ends {
			sum.done += t.done
			sum.failed += t.failed
		}
		if sum == (tally{}) {
			delete(r.windows, l)
			continue
		}
		out[l] = ended{float64(sum.done) / over, float64(sum.failed) / over * 60}
	}
	return out
}

// ended is how jobs ended over the last minute, or since the start if that is less.
type ended struct{ donePerSecond, failedPerMinute float64 }
