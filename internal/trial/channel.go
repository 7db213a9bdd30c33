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

	"oarlock/runner"
)

// channelPause is the wait between two looks at what a job has started.
const channelPause = 2 * time.Millisecond

// keepsChannel has the child work one job and looks meanwhile whether a program that the job started has the pipe of jobs
// as its stdin. Such a program may read the next job, or a cancel line with the secret name of the run. It says nothing of a
// program whose jobs start none, or only some that end between two looks.
func keepsChannel(ctx context.Context, t *Trial) error {
	s, err := t.fresh(ctx, nil)
	if err != nil {
		return errLeft // the other rules say so
	}
	defer s.end()
	if t.Spec.Mode == runner.Reuse && s.work(ctx) != nil { // one that has answered is loaded: what its start began does not count
		return errLeft
	}
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
			if found == "" && pipes[stdinOf(pid)] {
				found = fmt.Sprintf("%s, which the job started, has the pipe of jobs as its stdin and may read the next one: start it with another stdin, such as /dev/null", command)
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

// stdinOf is what /proc calls the stdin of a process; "" if it has none or has ended.
func stdinOf(pid int) string {
	to, _ := os.Readlink("/proc/" + strconv.Itoa(pid) + "/fd/0")
	return to
}

// commandOf is the command line of a process; "" if it has none or has ended.
func commandOf(pid int) string {
	text, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	return strings.TrimSpace(string(bytes.ReplaceAll(text, []byte{0}, []byte(" "))))
}
