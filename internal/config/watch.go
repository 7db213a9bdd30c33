package config

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	// stillness is how long content must stand still to count: an editor writes in steps.
	stillness = 100 * time.Millisecond
	// lostPause is how long after a look that found no directory to watch the next one
	// comes: nobody tells when it is there again.
	lostPause = time.Second
)

// Watch calls changed, from its own goroutine, each time the content of the file path,
// of one in conf.d beside it, or of one of more has changed, with the sum of what there is
// now: where more is nil, that of Config.Sum. It returns when ctx ends, with nil, or at once
// if nothing can be watched.
//
// It watches directories: an editor or a ConfigMap replaces a file, and a watch on the
// file would go with it.
func Watch(ctx context.Context, path string, more []string, changed func(Sum)) error {
	return watchFrom(ctx, path, more, func() {}, changed)
}

// watchFrom is Watch, and calls ready when no later change can be missed.
func watchFrom(ctx context.Context, path string, more []string, ready func(), changed func(Sum)) error {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return fmt.Errorf("watch %s: %w", path, err)
	}
	defer watcher.Close()
	files := append([]string{path}, more...)
	if err := watcher.Add(filepath.Dir(path)); err != nil {
		return fmt.Errorf("watch %s: %w", path, err)
	}

	// A look may stand still, at a pipe or a file system that does not answer: it is made
	// in a goroutine of its own, one at a time, which ends when it has an answer.
	sights := make(chan sight, 1)
	look := func() {
		watched := follow(watcher, files) // a link may point elsewhere now
		sights <- sight{watched, sumOf(readAll(files))}
	}
	go look()
	out := true
	w := watchState{ready: ready, changed: changed, next: time.NewTimer(stillness)}
	w.next.Stop()
	defer w.next.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-watcher.Events:
			w.lookSoon()
		case <-watcher.Errors: // events were lost; what changed shows in the content
			w.lookSoon()
		case <-w.next.C:
			w.armed = false
			if out {
				w.lookSoon()
				break
			}
			out = true
			go look()
		case now := <-sights:
			out = false
			w.see(now)
		}
	}
}

// sight is what a look at the files has found.
type sight struct {
	watched bool // the directories of all of them
	sum     Sum
}

// watchState is what is known of watched files, and when they are looked at next. It belongs to one goroutine.
type watchState struct {
	ready   func()
	changed func(Sum)
	began   bool
	last    Sum         // the one that counts: found first, or told
	seen    Sum         // at the last look; it counts when the next one finds the same
	next    *time.Timer // of the next look
	armed   bool        // next comes as soon as the files may stand still
}

// lookSoon sets the time of the next look, unless it is set: events without end must not put it off.
func (w *watchState) lookSoon() {
	if !w.armed {
		w.armed = true
		w.next.Reset(stillness)
	}
}

// see compares what a look has found with what is known, and tells of a change when the content stands still.
func (w *watchState) see(now sight) {
	switch {
	case !w.began:
		w.began = true
		w.last = now.sum
		w.ready()
		w.lookSoon()
	case now.sum == w.last:
	case now.sum != w.seen:
		w.lookSoon()
	default:
		w.last = now.sum
		w.changed(w.last)
	}
	w.seen = now.sum
	if !now.watched && !w.armed {
		w.next.Reset(lostPause) // and not armed: an event may bring the next look sooner
	}
}

// follow watches the directories of files, of what they link to, and of conf.d. It
// reports whether the directories of all files are there; conf.d need not be.
func follow(watcher *fsnotify.Watcher, files []string) (watched bool) {
	watched = true
	_ = watcher.Add(filepath.Join(filepath.Dir(files[0]), "conf.d"))
	for _, file := range files {
		if watcher.Add(filepath.Dir(file)) != nil {
			watched = false
		}
		if target, err := filepath.EvalSymlinks(file); err == nil {
			_ = watcher.Add(filepath.Dir(target))
		}
	}
	return watched
}
