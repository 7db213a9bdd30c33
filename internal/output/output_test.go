package output

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"oarlock/internal/must"
	"oarlock/runner"
)

// printedBy is an entry of an attempt that printed text.
func printedBy(jid string, attempt int, text string) Entry {
	return Entry{Attempt: Attempt{JID: jid, Pool: "p", Attempt: attempt, Outcome: "failed"}, Output: runner.NewOutput(runner.Stdout, text)}
}

// running starts a store in dir; stop ends it.
func running(t *testing.T, dir string) (s *Store, stop func()) {
	t.Helper()
	s = New(dir, slog.New(slog.NewTextHandler(t.Output(), nil)))
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		<-ended
	}
	t.Cleanup(stop)
	return s, stop
}

func find(t *testing.T, s *Store, jid string, attempt int) string {
	t.Helper()
	all, p, err := s.Find(t.Context(), jid, attempt, "")
	if err != nil {
		return err.Error()
	}
	var text []string
	for _, line := range p.Lines {
		text = append(text, line.Stream+" "+line.Text)
	}
	return fmt.Sprintf("%d of %d: %s", p.Attempt.Attempt, len(all), strings.Join(text, "|"))
}

func TestAllAttemptsOfAJobAreKept(t *testing.T) {
	dir := t.TempDir()
	s, stop := running(t, dir)
	hostile := []string{"a", "../../../etc/passwd", "a/b", ".", "", "nul\x00", strings.Repeat("long", 2500), "new\nline", "glob*[?]"}
	for _, jid := range hostile {
		for attempt := 1; attempt <= 3; attempt++ {
			s.Keep(printedBy(jid, attempt, fmt.Sprintf("%.20q, the %d.\n\x1b[2Jred", jid, attempt)))
		}
	}
	stop() // what was handed over is written before it ends
	s, _ = running(t, dir)
	for _, jid := range hostile {
		if got, want := find(t, s, jid, 0), fmt.Sprintf(`3 of 3: stdout %.20q, the 3.|stdout \x1b[2Jred`, jid); got != want {
			t.Errorf("%.20q: %s; want %s", jid, got, want)
		}
		if got := find(t, s, jid, 2); !strings.HasPrefix(got, "2 of 3: ") {
			t.Errorf("attempt 2 of %.20q: %s", jid, got)
		}
	}
	if got := find(t, s, "a", 4); got != ErrNone.Error() {
		t.Errorf("an attempt that never was: %s", got)
	}
	if got := find(t, s, "b", 0); got != ErrNone.Error() {
		t.Errorf("a job that never was: %s", got)
	}
	files := 0
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		info, _ := d.Info()
		switch {
		case err != nil:
			return err
		case !d.IsDir():
			files++
			if _, ok := parseName(d.Name()); !ok || info.Mode().Perm() != 0o600 || filepath.Dir(path) != filepath.Join(dir, "output", "p") {
				t.Errorf("%s has mode %v", path, info.Mode())
			}
		}
		return nil
	})
	if err != nil || files != 3*len(hostile) {
		t.Errorf("%d files, %v", files, err)
	}
}

func onDisk(t *testing.T, dir string) (files int, bytes int64) {
	t.Helper()
	entries := must.Get(os.ReadDir(dir))(t)
	for _, e := range entries {
		info, _ := e.Info()
		bytes += info.Size()
	}
	return len(entries), bytes
}

// A pool keeps so many jobs, and so many bytes, whoever wrote them; the oldest go first, and a
// clock that jumps back makes nothing old.
func TestTheOldestGoFirst(t *testing.T) {
	dir := t.TempDir()
	s := &shelf{dir: filepath.Join(dir, "p")}
	add := func(s *shelf, jid, text string) {
		t.Helper()
		e := printedBy(jid, 1, text)
		p := e.printed()
		must.Do(t, s.add(&p))
	}
	for i := range MaxJobs + 20 {
		add(s, fmt.Sprint("job", i), "x")
	}
	if files, _ := onDisk(t, s.dir); files != MaxJobs {
		t.Errorf("%d files; want %d", files, MaxJobs)
	}
	old := s.last
	s = &shelf{dir: s.dir, last: uint64(time.Now().Add(time.Hour).UnixMicro())} // we were in the future
	add(s, "after the jump", "x")
	add(s, "and again", "x")
	for _, jid := range []string{"after the jump", "and again", fmt.Sprint("job", MaxJobs+19)} {
		if left, _ := filepath.Glob(filepath.Join(s.dir, mark(jid)+"-*")); len(left) != 1 {
			t.Errorf("%s: %v", jid, left)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(s.dir, mark("job21")+"-*")); len(left) != 0 || s.last <= old {
		t.Errorf("the oldest stays: %v", left)
	}
	large := strings.Repeat("y", 7<<20)
	for i := range 12 {
		add(s, fmt.Sprint("large", i), large)
	}
	if files, bytes := onDisk(t, s.dir); bytes > MaxBytes || files != 9 {
		t.Errorf("%d files of %d bytes; want %d at most", files, bytes, MaxBytes)
	}
}

// Of jobs that end well only so many a second are kept; of those that end badly, all.
func TestAboveAHundredASecondOnlyTheBadAreKept(t *testing.T) {
	s := New(t.TempDir(), slog.New(slog.DiscardHandler)) // nobody writes: we look at the queue
	for i := range 500 {
		e := printedBy(fmt.Sprint(i), 1, "x")
		e.Well = i%5 != 0
		s.Keep(e)
	}
	bad := 0
	for _, e := range s.queue {
		if !e.Well {
			bad++
		}
	}
	if well := len(s.queue) - bad; bad != 100 || well < MaxWell || well > 2*MaxWell || s.State().Dropped != 0 {
		t.Errorf("kept %d bad and %d good; %+v", bad, well, s.State())
	}
}

// Whatever happens to the files, who hands over does not wait, and what is lost is counted.
func TestFilesThatCannotBeWritten(t *testing.T) {
	t.Run("stands still", func(t *testing.T) {
		dir := t.TempDir()
		s, stop := running(t, dir)
		fifo := filepath.Join(dir, "output") // reading it as a directory fails; opening one of its files, too
		must.Do(t, unix.Mkfifo(fifo, 0o600))
		for i := range 5000 {
			s.Keep(printedBy(fmt.Sprint(i), 1, "x"))
		}
		began := time.Now()
		stop()
		if state := s.State(); state.Dropped < 5000-mostQueued || state.Error == "" || time.Since(began) > 20*time.Second {
			t.Errorf("%+v after %v", state, time.Since(began))
		}
	})
	t.Run("a writer that hangs", func(t *testing.T) {
		s := New(t.TempDir(), slog.New(slog.DiscardHandler))
		s.Keep(printedBy("first", 1, "x"))
		if _, some, _ := s.next(); !some { // and the writer never comes back
			t.Fatal("there is nothing to write")
		}
		s.mu.Lock()
		s.began = s.began.Add(-2 * stalls)
		s.mu.Unlock()
		for i := range 3 * mostQueued {
			s.Keep(printedBy(fmt.Sprint(i), 1, "x"))
		}
		if state := s.State(); state.BlockedSince == nil || state.Dropped != 2*mostQueued {
			t.Errorf("%+v", state)
		}
	})
	t.Run("large ones", func(t *testing.T) {
		s := New(t.TempDir(), slog.New(slog.DiscardHandler))
		for i := range 100 {
			s.Keep(printedBy(fmt.Sprint(i), 1, strings.Repeat("x", 1<<20)))
		}
		if s.bytes > mostQueuedBytes || len(s.queue) != 15 || s.State().Dropped != 85 {
			t.Errorf("%d bytes in %d wait, %+v", s.bytes, len(s.queue), s.State())
		}
	})
	t.Run("a search that hangs", func(t *testing.T) {
		s := New(t.TempDir(), slog.New(slog.DiscardHandler))
		s.searches <- struct{}{} // another, which does
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, _, err := s.Find(ctx, "x", 0, ""); !errors.Is(err, ErrHangs) {
			t.Errorf("it says %v", err)
		}
	})
}

// The disk is full, and then it is not: told once each, and counted.
func TestAFullDisk(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED a disk that is full takes a mount, and so root")
	}
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=256k"); err != nil {
		t.Skipf("SKIPPED a disk that is full takes a mount: %v", err)
	}
	t.Cleanup(func() { unix.Unmount(dir, unix.MNT_DETACH) })
	var log bytes.Buffer
	s := New(dir, slog.New(slog.NewTextHandler(&log, nil)))
	fill := filepath.Join(dir, "fill")
	must.Do(t, os.WriteFile(fill, make([]byte, 200<<10), 0o600))
	for i := range 10 {
		e := printedBy(fmt.Sprint(i), 1, strings.Repeat("x", 20<<10))
		s.keep(&e)
	}
	if state := s.State(); !strings.Contains(state.Error, "no space") || state.Dropped < 5 {
		t.Errorf("%+v", state)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "output", "p", "*"+unfinished)); len(left) != 0 {
		t.Errorf("halves are left: %v", left)
	}
	os.Remove(fill)
	for i := range 3 {
		e := printedBy(fmt.Sprint("again", i), 1, "x")
		s.keep(&e)
	}
	if state := s.State(); state.Error != "" || find(t, s, "again2", 0) != "1 of 1: stdout x" {
		t.Errorf("%+v", state)
	}
	if said := strings.Count(log.String(), "\n"); said != 2 {
		t.Errorf("the log says\n%s", log.String())
	}
}
