package trial

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// channelPause is the wait between two looks at what a job has started.
const channelPause = 2 * time.Millisecond

// keepsChannel has the child work one job and looks meanwhile whether a program that the job started has the pipe of jobs
// open. Such a program may read the next job, or a cancel line with the secret name of the run. It says nothing of a
// program whose jobs start none, or only some that end between two looks.
func keepsChannel(ctx context.Context, t *Trial) error {
	s, err := t.fresh(ctx, nil)
	if err != nil {
		return err
	}
	defer s.end()
	pipes := pipesTo("/proc/self/fd")
	if len(pipes) == 0 {
		return errLeft // no /proc
	}
	over := make(chan error, 1)
	if _, err := s.give(t.likeIt("")); err != nil {
		return err
	}
	go func() {
		_, err := s.answer(ctx)
		over <- err
	}()
	own, found, started := commandOf(s.PID()), "", false
	for {
		members, _ := groupOf(s.PGID())
		for _, pid := range members {
			command := commandOf(pid)
			if pid == s.PID() || command == "" || command == own { // a fork has not become the program yet
				continue
			}
			started = true
			if found == "" && holds(pid, pipes) {
				found = fmt.Sprintf("%s, which the job started, has the pipe of jobs open and may read the next one: start it with an empty stdin, and close other descriptors of the pipe on exec", command)
			}
		}
		select {
		case err := <-over:
			switch {
			case found != "":
				return errors.New(found)
			case err != nil || !started:
				return errLeft
			}
			return nil
		case <-time.After(channelPause):
		}
	}
}

// pipesTo lists the pipes of which a process has the end for writing only, by what /proc calls them.
func pipesTo(descriptors string) map[string]bool {
	entries, err := os.ReadDir(descriptors)
	if err != nil {
		return nil
	}
	pipes := map[string]bool{}
	for _, entry := range entries {
		path := filepath.Join(descriptors, entry.Name())
		to, err := os.Readlink(path)
		if err != nil || !strings.HasPrefix(to, "pipe:") {
			continue
		}
		if info, err := os.Lstat(path); err == nil && info.Mode()&0o400 == 0 {
			pipes[to] = true
		}
	}
	return pipes
}

// holds reports whether a process can read from one of the pipes. What is closed on exec does not count: the process
// is about to become another program.
func holds(pid int, pipes map[string]bool) bool {
	dir := "/proc/" + strconv.Itoa(pid)
	entries, _ := os.ReadDir(dir + "/fd") // it may have ended
	for _, entry := range entries {
		path := dir + "/fd/" + entry.Name()
		to, _ := os.Readlink(path)
		if info, err := os.Lstat(path); err != nil || info.Mode()&0o400 == 0 || !pipes[to] {
			continue
		}
		if text, err := os.ReadFile(dir + "/fdinfo/" + entry.Name()); err == nil && !closesOnExec(text) {
			return true
		}
	}
	return false
}

// closesOnExec reads from the text of fdinfo whether the descriptor is closed on exec.
func closesOnExec(text []byte) bool {
	for line := range bytes.Lines(text) {
		if octal, is := bytes.CutPrefix(line, []byte("flags:")); is {
			flags, err := strconv.ParseUint(string(bytes.TrimSpace(octal)), 8, 64)
			return err == nil && flags&unix.O_CLOEXEC != 0
		}
	}
	return false
}

// commandOf is the command line of a process; "" if it has none or has ended.
func commandOf(pid int) string {
	text, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	return strings.TrimSpace(string(bytes.ReplaceAll(text, []byte{0}, []byte(" "))))
}
