package logging

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"oarlock/internal/screen"
)

// stuckWriter stands still until it is let go.
type stuckWriter struct {
	entered chan struct{} // of size 1: a write stands still
	free    chan struct{} // closed to let go

	mu   sync.Mutex
	text bytes.Buffer
	fail error // of the next write
}

func newStuckWriter() *stuckWriter {
	return &stuckWriter{entered: make(chan struct{}, 1), free: make(chan struct{})}
}

func (w *stuckWriter) Write(text []byte) (int, error) {
	select {
	case w.entered <- struct{}{}:
	default:
	}
	<-w.free
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.fail; err != nil {
		w.fail = nil
		return 0, err
	}
	return w.text.Write(text)
}

func (w *stuckWriter) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

// Nobody who logs waits for a log that stands still. What had no room is counted, and said
// in its place when it flows.
func TestALogThatStandsStill(t *testing.T) {
	out := newStuckWriter()
	l := New(out, "text", "info")
	log := l.Logger()
	log.Info("first")
	<-out.entered
	long := strings.Repeat("x", 64<<10)
	const n = 3 * mostQueued / (64 << 10)
	for i := range n {
		log.Info(long, "i", i)
	}
	log.Info("too late, though it is short")
	dropped := l.State().Dropped
	if least := n / 2; dropped < least || dropped > n {
		t.Fatalf("%d of %d lines dropped; want between %d and all", dropped, n+1, least)
	}
	close(out.free)
	for deadline := time.Now().Add(30 * time.Second); l.State().Dropped > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it never flows again")
		}
	}
	log.Info("last")
	if !l.Close() {
		t.Fatal("it does not end")
	}
	text := out.String()
	for i := range n + 1 - dropped {
		if !strings.Contains(text, fmt.Sprintf(" i=%d\n", i)) {
			t.Errorf("line %d is lost", i)
		}
	}
	if strings.Contains(text, "too late") {
		t.Error("a line behind a gap came before the gap was told")
	}
	told := screen.Some(dropped, "line") + " of the log dropped: nobody took them"
	if at := strings.Index(text, told); at < strings.Index(text, " i=0\n") || at > strings.Index(text, "last") {
		t.Errorf("%q stands at %d of %d", told, at, len(text))
	}
}

// Lines that cannot be written are counted as well, and what is to be done between two
// lines is done there.
func TestALogThatFails(t *testing.T) {
	out := newStuckWriter()
	out.fail = errors.New("no space left")
	l := New(out, "text", "info")
	log := l.Logger()
	log.Info("lost")
	<-out.entered
	log.Info("before")
	var between string
	l.queue.do(func() error { between = out.String(); return nil })
	log.Info("after")
	close(out.free)
	if !l.Close() {
		t.Fatal("it does not end")
	}
	if text := out.String(); strings.Contains(text, "lost") || !strings.Contains(text, "1 line of the log dropped: they could not be written") || !strings.Contains(text, "after") {
		t.Errorf("the log says %q", text)
	}
	if !strings.Contains(between, "before") || strings.Contains(between, "after") {
		t.Errorf("in between it says %q", between)
	}
}

// tightWriter has room for so many bytes, like a disk.
type tightWriter struct {
	mu   sync.Mutex
	room int
	text bytes.Buffer
}

func (w *tightWriter) Write(text []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := min(w.room, len(text))
	w.room -= n
	w.text.Write(text[:n])
	if n < len(text) {
		return n, syscall.ENOSPC
	}
	return n, nil
}

// clear makes so much room.
func (w *tightWriter) clear(room int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.room = room
}

// Lines that find a full disk stay counted until there is room to say so, and a line of which
// only the beginning had room takes no other with it.
func TestALogOnAFullDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &tightWriter{room: 12}
		l := New(out, "text", "info")
		log := l.Logger()
		const lost = 7
		for range lost {
			log.Info("lost")
			synctest.Wait()
		}
		if s := l.State(); s.Dropped != lost || s.Error == "" || s.BlockedSince != nil {
			t.Errorf("with a full disk the log is %+v", s)
		}
		out.clear(1 << 20)
		log.Info("finds room")
		synctest.Wait()
		if s := l.State(); s != (State{}) {
			t.Errorf("with room the log is %+v", s)
		}
		log.Info("last")
		l.Close()
		lines := strings.Split(out.text.String(), "\n")
		if len(lines) != 4 || len(lines[0]) != 12 || !strings.Contains(lines[1], screen.Some(lost+1, "line")+" of the log dropped: they could not be written") || !strings.Contains(lines[2], "last") {
			t.Errorf("the log says %q", lines)
		}
	})
}
