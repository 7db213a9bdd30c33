package config

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	// settle is how long content must stand still to count: an editor writes in steps.
	settle = 100 * time.Millisecond
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
	type sight struct {
		watched bool
		sum     Sum
	}
	sights := make(chan sight, 1)
	peek := func() {
		watched := follow(watcher, files) // a link may point elsewhere now
		sights <- sight{watched, sumOf(readAll(files))}
	}
	go peek()
	var last, seen Sum // seen at the last look; it counts when the next one finds the same
	began, out := false, true
	look := time.NewTimer(settle)
	look.Stop()
	defer look.Stop()
	armed := false
	arm := func() { // not again while armed: events without end must not put it off
		if !armed {
			armed = true
			look.Reset(settle)
		}
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-watcher.Events:
			arm()
		case <-watcher.Errors: // events were lost; what changed shows in the content
			arm()
		case <-look.C:
			armed = false
			if out {
				arm()
				break
			}
			out = true
			go peek()
		case now := <-sights:
			out = false
			switch {
			case !began:
				began = true
				last = now.sum
				ready()
				arm()
			case now.sum == last:
			case now.sum != seen:
				arm()
			default:
				last = now.sum
				changed(last)
			}
			seen = now.sum
			if !now.watched && !armed {
				look.Reset(lostPause) // and not armed: an event may bring the next look sooner
			}
		}
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
