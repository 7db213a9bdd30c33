package supervisor

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"oarlock/runner"
)

// heritage is what a dead supervisor left, held under its life file's lock until
// the files are removed, so that two successors never share it.
type heritage struct {
	testament
	children []process
	proven   map[process]bool // those that were, once; what is dying has no environment any more
	life     life
}

// process is what tells one process from a later one with the same number.
type process struct {
	pid, pgid int
	start     uint64 // clock ticks since boot
}

// heritages returns what dead supervisors left in the state directory dir. Files that
// cannot be read, or could be somebody else's, are named in the error, beside those that
// could.
//
// held tells that a dead supervisor's file is still locked: by a process that it was
// just about to start, which goes in a moment, or by somebody who is taking it over.
func heritages(dir *os.Root) (found []*heritage, held bool, err error) {
	files, err := fs.Glob(dir.FS(), "*"+lifeSuffix)
	if err != nil {
		return nil, false, err
	}
	var errs []error
	for _, file := range files {
		h, err := readHeritage(dir, strings.TrimSuffix(file, lifeSuffix))
		switch {
		case errors.Is(err, errLocked):
			held = held || !aliveByName(file)
		case err != nil:
			errs = append(errs, fmt.Errorf("what the life file %s tells is not heeded: %w", file, err))
		case h != nil:
			found = append(found, h)
		}
	}
	return found, held, errors.Join(errs...)
}

// aliveByName reports whether the supervisor lives whose life file this is, by the
// process id in its name.
func aliveByName(file string) bool {
	id, _, _ := strings.Cut(file, "-")
	pid, err := strconv.Atoi(id)
	if err != nil {
		return false
	}
	p, err := readProcess(pid)
	return err == nil && !p.zombie
}

// errLocked says that a life file is somebody's.
var errLocked = errors.New("locked")

// readHeritage reads a life file and keeps its lock. It returns nil without an error if
// the file went meanwhile.
func readHeritage(dir *os.Root, name string) (*heritage, error) {
	file, err := openState(dir, name+lifeSuffix, os.O_RDWR)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		file.Close()
		return nil, errLocked
	}
	h := &heritage{proven: map[process]bool{}, life: life{name: name, lock: file}}
	if _, err := dir.Lstat(name + lifeSuffix); err != nil {
		file.Close() // removed between opening and locking it
		return nil, nil
	}
	text, err := readState(file)
	if err == nil {
		err = json.Unmarshal(text, &h.testament)
	}
	if err == nil {
		h.children, err = readChildren(dir, name+childrenSuffix)
	}
	if err == nil {
		h.life.dir, err = dir.OpenRoot(".") // for as long as we have it
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return h, nil
}

// readChildren reads the table of children; without one there are none.
func readChildren(dir *os.Root, name string) ([]process, error) {
	file, err := openState(dir, name, os.O_RDONLY)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	table, err := readState(file)
	if err != nil {
		return nil, err
	}
	var all []process
	for line := range strings.Lines(string(table)) {
		var p process
		if n, _ := fmt.Sscan(line, &p.pid, &p.pgid, &p.start); n == 3 {
			all = append(all, p)
		}
	}
	return all, nil
}

// leftover is what is known of a process that a table of children names.
type leftover int

const (
	gone     leftover = iota // with all of its group, or its numbers are somebody else's now
	ours                     // proven to be a child of the dead supervisor
	unproven                 // perhaps one
)

// look tells what is left of a child. Numbers alone prove nothing, for they are given away
// again: the child is ours if it started when the table says and has the mark of our
// children; and if it is gone, its group is, if a process in it has the mark of the very
// supervisor that is dead.
func (h *heritage) look(child process, members func(pgid int) []int) leftover {
	if child.pgid <= 1 || h.Boot != bootID() {
		return gone
	}
	now, err := readProcess(child.pid)
	if err == nil && !now.zombie {
		switch {
		case now.start != child.start:
			return gone // the number is somebody else's now, and so is that of the group
		case now.pgid == child.pgid && (h.proven[child] || h.marked(child.pid, "OARLOCK_PROTOCOL=")):
			return ours
		}
		return unproven
	}
	left := members(child.pgid)
	mark := runner.SupervisorEnv + "=" + runner.SupervisorMark(h.PID, h.Start) + "\x00"
	switch {
	case len(left) == 0:
		return gone
	case h.proven[child], slices.ContainsFunc(left, func(pid int) bool { return h.marked(pid, mark) }):
		return ours
	}
	return unproven
}

// marked reports whether the process has an entry that begins with entry in its environment,
// or is in a control group of the dead supervisor's.
func (h *heritage) marked(pid int, entry string) bool {
	proc := "/proc/" + strconv.Itoa(pid)
	env, _ := os.ReadFile(proc + "/environ") // unreadable, or written over, it proves nothing
	if bytes.Contains(append([]byte{0}, env...), []byte("\x00"+entry)) {
		return true
	}
	group, _ := os.ReadFile(proc + "/cgroup")
	return bytes.Contains(group, fmt.Appendf(nil, "/%s%s-", runner.CgroupPrefix, runner.SupervisorMark(h.PID, h.Start)))
}

// kill ends what is proven to be left of the dead supervisor's children, and tells how many
// of them there were, and which processes may be others but are not proven to be.
func (h *heritage) kill() (killed int, doubtful []int) {
	members := groups()
	for _, child := range h.children {
		switch h.look(child, members) {
		case ours:
			h.proven[child] = true
			if syscall.Kill(-child.pgid, syscall.SIGKILL) == nil {
				killed++
			}
		case unproven:
			doubtful = append(doubtful, child.pgid)
		}
	}
	return killed, doubtful
}

// remains lists the living processes with the mark of the children of dead supervisors in their
// environment, of this boot.
func remains(dead []testament) (pids []int) {
	var marks [][]byte
	for _, t := range dead {
		if t.Boot == bootID() {
			marks = append(marks, []byte("\x00"+runner.SupervisorEnv+"="+runner.SupervisorMark(t.PID, t.Start)+"\x00"))
		}
	}
	all, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, file := range all {
		env, _ := os.ReadFile(file) // it may be gone, or not for us
		env = append([]byte{0}, env...)
		if slices.ContainsFunc(marks, func(mark []byte) bool { return bytes.Contains(env, mark) }) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			pids = append(pids, pid)
		}
	}
	return pids
}

// groups lists the living processes by group when it is first asked for one, and only then.
func groups() (members func(pgid int) []int) {
	var byGroup map[int][]int
	return func(pgid int) []int {
		if byGroup != nil {
			return byGroup[pgid]
		}
		byGroup = map[int][]int{}
		stats, _ := filepath.Glob("/proc/[0-9]*/stat")
		for _, stat := range stats {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(stat)))
			if p, err := readProcess(pid); err == nil && !p.zombie {
				byGroup[p.pgid] = append(byGroup[p.pgid], pid)
			}
		}
		return byGroup[pgid]
	}
}

// settled removes the files of a heritage that was dealt with.
func (h *heritage) settled() { h.life.end() }

// keep leaves the files of a heritage for the next who looks.
func (h *heritage) keep() {
	h.life.lock.Close()
	h.life.dir.Close()
}
