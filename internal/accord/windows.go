package accord

import (
	"maps"
	"slices"
	"sync"
	"time"

	"oarlock/internal/rules"
	"oarlock/internal/window"
)

// Opening is how a window of the rules stands.
type Opening struct {
	Name  string
	Open  bool
	Opens time.Time // when it opens next; zero if it does not within window.Horizon
	Shuts time.Time // when it shuts, if it is open; zero if it does not, likewise
}

// openings are the windows of the rules, each reckoned anew only when it has changed. Its methods are safe for concurrent use.
type openings struct {
	mu    sync.Mutex // for memory only
	all   map[string]*opening
	names []string // of all, in order
}

// opening is one of them.
type opening struct {
	Opening
	spec   window.Spec
	window *window.Window
	until  time.Time // so long the rest is true
}

// set says which windows there are. One that is as before stays as it is; one that cannot be read is left out.
func (o *openings) set(windows map[string]rules.Window) {
	o.mu.Lock()
	defer o.mu.Unlock()
	before := o.all
	o.all, o.names = map[string]*opening{}, nil
	for _, name := range slices.Sorted(maps.Keys(windows)) {
		spec := windows[name].Spec()
		one := before[name]
		if one == nil || one.spec.Text() != spec.Text() {
			w, err := window.Parse(spec)
			if err != nil {
				continue
			}
			one = &opening{Opening: Opening{Name: name}, spec: spec, window: w}
		}
		o.all[name], o.names = one, append(o.names, name)
	}
}

// at tells how they stand at a time, by their names, and for how long nothing of it changes.
func (o *openings) at(now time.Time) (all []Opening, lasts time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	lasts = window.Horizon
	for _, name := range o.names {
		one := o.all[name]
		if !now.Before(one.until) {
			one.reckon(now)
		}
		all, lasts = append(all, one.Opening), min(lasts, one.until.Sub(now))
	}
	return all, lasts
}

// reckon finds how it stands at a time.
func (w *opening) reckon(now time.Time) {
	w.Open, w.Opens, w.Shuts = w.window.Inside(now), time.Time{}, time.Time{}
	changes := w.window.Changes(now, now, 2)
	w.until = now.Add(time.Hour) // one that never changes may by other rules for the zone
	if len(changes) == 0 {
		return
	}
	w.until = changes[0]
	switch {
	case !w.Open:
		w.Opens = changes[0]
	default:
		if w.Shuts = changes[0]; len(changes) > 1 {
			w.Opens = changes[1]
		}
	}
}

// Windows tells how the windows of the rules stand now by Redis' clock, in the order of their names; of none before they were read.
func (k *Keeper) Windows() []Opening {
	all, _ := k.openings.at(k.now())
	return all
}

// TellWindows has told hear when a window has opened, or shut. It is called before Run, and told from Run's goroutine; it must not wait.
func (k *Keeper) TellWindows(told func(Opening)) { k.passed = told }

func (k *Keeper) now() time.Time {
	return time.UnixMilli(int64(k.store.Now() * 1e3))
}

// watch tells which windows have opened or shut, and returns after how long there may be another. Only Run calls it: what has
// changed is told once.
func (k *Keeper) watch() time.Duration {
	all, lasts := k.openings.at(k.now())
	for _, one := range all {
		if was, known := k.stood[one.Name]; known && was != one.Open && k.passed != nil {
			k.passed(one)
		}
	}
	clear(k.stood)
	for _, one := range all {
		k.stood[one.Name] = one.Open
	}
	return max(lasts, 0) + time.Millisecond
}
