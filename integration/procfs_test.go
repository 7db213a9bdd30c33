package integration

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// process is one process as /proc shows it.
type process struct {
	pid, parent int
	state       byte // R, S, T, Z …
	started     string
	name        string
}

func (p process) String() string { return fmt.Sprintf("%d %s (%c)", p.pid, p.name, p.state) }

// readProcess returns false if there is none with that pid.
func readProcess(pid int) (process, bool) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return process{}, false
	}
	open, shut := bytes.IndexByte(stat, '('), bytes.LastIndexByte(stat, ')')
	fields := strings.Fields(string(stat[shut+1:]))
	parent, _ := strconv.Atoi(fields[1])
	return process{
		pid: pid, parent: parent, state: fields[0][0],
		started: fields[19], name: string(stat[open+1 : shut]),
	}, true
}

func allProcesses() []process {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	all := make([]process, 0, len(dirs))
	for _, dir := range dirs {
		pid, _ := strconv.Atoi(filepath.Base(dir))
		if p, ok := readProcess(pid); ok {
			all = append(all, p)
		}
	}
	return all
}

// marked returns the living processes that have mark, a NAME=value, in their
// environment: a whole family, whatever became of its parents, groups and sessions.
func marked(mark string) []process {
	var family []process
	for _, p := range allProcesses() {
		env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", p.pid))
		if err == nil && p.state != 'Z' && bytes.Contains(append([]byte{0}, env...), []byte("\x00"+mark+"\x00")) {
			family = append(family, p)
		}
	}
	return family
}

// descendants returns all processes below pid, zombies too.
func descendants(pid int) (below []process) {
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, list := range lists {
		children, _ := os.ReadFile(list) // of one thread; it may have ended since
		for _, child := range strings.Fields(string(children)) {
			pid, _ := strconv.Atoi(child)
			if p, ok := readProcess(pid); ok {
				below = append(append(below, p), descendants(pid)...)
			}
		}
	}
	return below
}

// resident returns the resident memory of a process in bytes, 0 if it is gone.
func resident(pid int) int64 {
	statm, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0
	}
	pages, _ := strconv.ParseInt(strings.Fields(string(statm))[1], 10, 64)
	return pages * int64(os.Getpagesize())
}

// descriptors counts the open files of a process.
func descriptors(pid int) int {
	fds, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	return len(fds)
}

// zombieAge is how long a dead child may wait for its parent, on a quiet machine.
const zombieAge = 2 // seconds

// watchZombies looks at the descendants of pid every half second, as long as it
// lives, and fails the test if one of them stays a zombie. The returned function
// ends the watch. To look more often would take more of the machine than all that the tests do besides.
func watchZombies(t testing.TB, pid int) (stop func()) {
	done := make(chan struct{})
	var watch sync.WaitGroup
	watch.Go(func() {
		first := make(map[string]float64) // by pid and start: when
		watched, _ := readProcess(pid)    // numbers of processes come again
		tick := time.NewTicker(time.Second / 2)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				at := now()
				// A stopped supervisor cannot reap; its time does not count.
				if p, ok := readProcess(pid); !ok || p.state == 'T' || p.started != watched.started {
					clear(first)
					continue
				}
				for _, p := range descendants(pid) {
					key := fmt.Sprint(p.pid, " ", p.started)
					if p.state != 'Z' {
						continue
					}
					if seen, ok := first[key]; !ok {
						first[key] = at
					} else if fairly(seen, at) > float64(scaled(60, zombieAge)) {
						t.Errorf("I7: %v, child of %d, is a zombie for more than %.1f s", p, p.parent, at-seen)
						return
					}
				}
			}
		}
	})
	return func() {
		close(done)
		watch.Wait()
	}
}
