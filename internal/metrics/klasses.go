package metrics

import (
	"slices"
	"sync"
	"time"

	"oarlock/queue"
)

// other is the label of all that have none of their own.
const other = "_other"

// mostKlasses is how many classes of jobs have a label of their own: those that come first.
const mostKlasses = 50

// klassTallies counts attempts by class of job.
type klassTallies struct {
	globs []string

	mu  sync.Mutex
	all map[string]*klassTally // by class as it is, but other
}

type klassTally struct {
	label     string
	ack, rest int
	took      time.Duration
}

func newKlassTallies(globs []string) *klassTallies {
	return &klassTallies{globs: globs, all: map[string]*klassTally{}}
}

// add counts an attempt.
func (k *klassTallies) add(klass string, ack bool, took time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	t := k.all[klass]
	if t == nil {
		t = k.fresh(klass)
	}
	if ack {
		t.ack++
	} else {
		t.rest++
	}
	t.took += took
}

// named is the name by which a class is told of: its own if it has a label, or would have one.
func (k *klassTallies) named(klass string) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.all[klass] != nil || k.fits(klass) {
		return klass
	}
	return other
}

// fits reports whether a class that has no tally yet would have a label of its own. The caller holds mu.
func (k *klassTallies) fits(klass string) bool {
	_, rest := k.all[other]
	room := len(k.all) < mostKlasses || len(k.all) == mostKlasses && rest
	return room && slices.ContainsFunc(k.globs, func(glob string) bool { return queue.Match(glob, klass) })
}

// fresh is the tally of a class that has none yet. The caller holds mu.
func (k *klassTallies) fresh(klass string) *klassTally {
	if !k.fits(klass) {
		klass = other
	}
	t := k.all[klass]
	if t == nil {
		t = &klassTally{label: label(klass)}
		k.all[klass] = t
	}
	return t
}
