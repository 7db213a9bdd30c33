package config

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"oarlock/internal/must"
)

// Each way in which editors and deployments replace a file must be seen.
func TestWatchSees(t *testing.T) {
	put := func(t *testing.T, path, text string) {
		t.Helper()
		must.Do(t, os.WriteFile(path, []byte(text), 0o644))
	}
	tests := []struct {
		name   string
		setup  func(t *testing.T, dir string) string
		change func(t *testing.T, dir, path string)
	}{
		{"writing in place", nil, func(t *testing.T, _, path string) { put(t, path, "new") }},
		{"renaming over it", nil, func(t *testing.T, dir, path string) {
			put(t, filepath.Join(dir, ".tmp"), "new")
			must.Do(t, os.Rename(filepath.Join(dir, ".tmp"), path))
		}},
		{"moving it away and writing anew", nil, func(t *testing.T, _, path string) {
			must.Do(t, os.Rename(path, path+"~"))
			put(t, path, "new")
		}},
		{"a pool in conf.d", func(t *testing.T, dir string) string {
			must.Do(t, os.Mkdir(filepath.Join(dir, "conf.d"), 0o755))
			put(t, filepath.Join(dir, "c.toml"), "old")
			return filepath.Join(dir, "c.toml")
		}, func(t *testing.T, dir, _ string) { put(t, filepath.Join(dir, "conf.d", "a.toml"), "new") }},
		{"swapping a ConfigMap", func(t *testing.T, dir string) string {
			must.Do(t, os.Mkdir(filepath.Join(dir, "..1"), 0o755))
			put(t, filepath.Join(dir, "..1", "c.toml"), "old")
			must.Do(t, os.Symlink("..1", filepath.Join(dir, "..data")))
			must.Do(t, os.Symlink("..data/c.toml", filepath.Join(dir, "c.toml")))
			return filepath.Join(dir, "c.toml")
		}, func(t *testing.T, dir, _ string) {
			must.Do(t, os.Mkdir(filepath.Join(dir, "..2"), 0o755))
			put(t, filepath.Join(dir, "..2", "c.toml"), "new")
			must.Do(t, os.Symlink("..2", filepath.Join(dir, "..tmp")))
			must.Do(t, os.Rename(filepath.Join(dir, "..tmp"), filepath.Join(dir, "..data")))
		}},
		{"writing what a link points to", func(t *testing.T, dir string) string {
			must.Do(t, os.Mkdir(filepath.Join(dir, "real"), 0o755))
			must.Do(t, os.Mkdir(filepath.Join(dir, "etc"), 0o755))
			put(t, filepath.Join(dir, "real", "c.toml"), "old")
			must.Do(t, os.Symlink("../real/c.toml", filepath.Join(dir, "etc", "c.toml")))
			return filepath.Join(dir, "etc", "c.toml")
		}, func(t *testing.T, dir, _ string) { put(t, filepath.Join(dir, "real", "c.toml"), "new") }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "c.toml")
			if tt.setup != nil {
				path = tt.setup(t, dir)
			} else {
				put(t, path, "old")
			}
			w := watch(t, path)
			tt.change(t, dir, path)
			w.wait(t)
		})
	}
}

func TestWatchOutlivesTheDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "etc")
	path := filepath.Join(dir, "c.toml")
	write := func() {
		t.Helper()
		must.Do(t, os.Mkdir(dir, 0o755))
		must.Do(t, os.WriteFile(path, []byte("text"), 0o644))
	}
	write()
	w := watch(t, path)
	must.Do(t, os.RemoveAll(dir))
	w.wait(t)
	write()
	w.wait(t)
}

func TestWatchIgnoresWhatChangesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.toml")
	write := func(path, text string) {
		t.Helper()
		must.Do(t, os.WriteFile(path, []byte(text), 0o644))
	}
	write(path, "same")
	w := watch(t, path)
	write(path, "same")
	write(filepath.Join(filepath.Dir(path), "other"), "x")
	write(path, "new") // the one change
	w.wait(t)
	w.end(t)
	if len(w.changes) != 0 {
		t.Errorf("%d changes were reported beside the one", len(w.changes))
	}
}

// watching is a Watch that runs beside the test.
type watching struct {
	changes chan struct{}
	cancel  context.CancelFunc
	done    chan error
}

func watch(t *testing.T, path string) *watching {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	w := &watching{changes: make(chan struct{}, 10), cancel: cancel, done: make(chan error, 1)}
	ready := make(chan struct{})
	go func() {
		w.done <- watchFrom(ctx, path, nil, func() { close(ready) }, func(Sum) { w.changes <- struct{}{} })
	}()
	<-ready
	t.Cleanup(func() { w.cancel() })
	return w
}

func (w *watching) wait(t *testing.T) {
	t.Helper()
	select {
	case <-w.changes:
	case err := <-w.done:
		t.Fatalf("the watch ended: %v", err)
	case <-time.After(time.Minute):
		t.Fatal("no change was seen")
	}
}

func (w *watching) end(t *testing.T) {
	t.Helper()
	w.cancel()
	if err := <-w.done; err != nil {
		t.Error(err)
	}
}
