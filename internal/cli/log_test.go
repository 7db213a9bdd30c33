package cli

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"oarlock/internal/must"
)

// After a rotation moved the log file away, USR1 makes the process write to a new one.
func TestTheLogFileIsOpenedAgain(t *testing.T) {
	s := newScript(t, workFiles)
	path := filepath.Join(s.dir, "log")
	file := must.Get(os.Create(path))(t)
	p := launchUnread(t, s, file, "run")
	contains := func(path, text string) {
		t.Helper()
		for deadline := time.Now().Add(patience); ; {
			if content, err := os.ReadFile(path); err == nil && bytes.Contains(content, []byte(text)) {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("%s has no %q", path, text)
			}
			p.ask("status") // a round trip is a pause
		}
	}
	contains(path, "ready")
	must.Do(t, os.Rename(path, path+".1"))
	p.signal(syscall.SIGUSR1)
	contains(path, "") // signals that are sent at once come in any order
	p.signal(syscall.SIGUSR2)
	contains(path, "quiet: no more jobs")
	must.Do(t, errors.Join(os.Rename(path, path+".2"), os.Mkdir(path, 0o755)))
	p.signal(syscall.SIGUSR1)
	p.until("log goes on into the old file", "status")
	contains(path+".2", "could not be opened again")
	must.Do(t, os.Remove(path))
	p.signal(syscall.SIGUSR1)
	contains(path, "")
	p.signal(syscall.SIGCONT)
	contains(path, "resumed")
	if text := p.ask("status"); strings.Contains(text, "old file") {
		t.Errorf("status says %s", text)
	}
	p.terminate()
}

// fullPipe gives the end of a pipe that nobody reads and that has no room.
func fullPipe(t *testing.T) (ours, theirs *os.File) {
	t.Helper()
	ours, theirs, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ours.Close() })
	fd := int(theirs.Fd()) // which makes it one that waits
	must.Do(t, syscall.SetNonblock(fd, true))
	for err == nil {
		_, err = syscall.Write(fd, []byte("full\n"))
	}
	must.Do(t, syscall.SetNonblock(fd, false))
	return ours, theirs
}

// A pipe that nobody reads stops neither jobs nor a reload nor a signal.
func TestALogThatNobodyReads(t *testing.T) {
	s := newScript(t, workFiles)
	s.env["OARLOCK_SUPERVISOR_DRAIN_TIMEOUT"] = longDrain
	_, full := fullPipe(t)
	p := launchUnread(t, s, full, "run")
	for i := range 20 {
		p.ask("put", "work", `"good"`, "--jid", fmt.Sprint("j", i))
	}
	p.until("done 20", "status")
	p.until("log blocked since", "status")
	s.says(t, exitOK, "status --json", `"blocked_since"`)
	p.ask("reload")
	p.signal(syscall.SIGHUP)
	p.signal(syscall.SIGUSR1)
	p.signal(syscall.SIGTTIN)
	p.terminate()
}
