package cli

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// A log whose reader is gone ends nobody, be it before the first line or after the last.
func TestALogWhoseReaderIsGone(t *testing.T) {
	s := newScript(t, workFiles)
	s.env["OARLOCK_SUPERVISOR_DRAIN_TIMEOUT"] = longDrain
	ours, theirs, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	ours.Close()
	p := launchUnread(t, s, theirs, "run")
	p.ask("put", "work", `"good"`)
	p.until("done 1", "status")
	p.until("broken pipe", "status")
	p.terminate()
}

// Signals are obeyed from the moment on at which there is something to clear up, and one
// more does not end the process while it does so.
func TestSignalsThatComeEarlyOrLate(t *testing.T) {
	s := newScript(t, workFiles)
	private := filepath.Join(s.dir, "state", "private")
	s.env["STATE_DIRECTORY"] = filepath.Dir(private)
	p := begin(t, s, "run")
	for deadline := time.Now().Add(patience); ; {
		if _, err := os.Stat(private); err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("it does not begin")
		}
	}
	p.signal(syscall.SIGHUP)
	p.await("reload")
	for range 3 {
		p.signal(syscall.SIGTERM)
	}
	p.leaves(exitOK)
}
