package statedir

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"

	"oarlock/runner"
)

// heritage is what a dead supervisor left, held under its life file's lock until
// the files are removed, so that two successors never share it.
type heritage struct {
	testament
	children []runner.Leftover
	life     Life
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
	return err == nil && runner.Alive(pid)
}

// errLocked says that a life file is somebody's.
var errLocked = errors.New("locked")

// readHeritage reads a life file and keeps its lock. It returns nil without an error if
// the file went meanwhile.
func readHeritage(dir *os.Root, name string) (*heritage, error) {
	file, err := openFile(dir, name+lifeSuffix, os.O_RDWR)
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
	h := &heritage{life: Life{name: name, lock: file}}
	if _, err := dir.Lstat(name + lifeSuffix); err != nil {
		file.Close() // removed between opening and locking it
		return nil, nil
	}
	text, err := readFile(file)
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
func readChildren(dir *os.Root, name string) ([]runner.Leftover, error) {
	file, err := openFile(dir, name, os.O_RDONLY)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	table, err := readFile(file)
	if err != nil {
		return nil, err
	}
	var all []runner.Leftover
	for line := range strings.Lines(string(table)) {
		var l runner.Leftover
		if n, _ := fmt.Sscan(line, &l.PID, &l.PGID, &l.Start); n == 3 {
			all = append(all, l)
		}
	}
	return all, nil
}

// settled removes the files of a heritage that was dealt with.
func (h *heritage) settled() { h.life.End() }

// keep leaves the files of a heritage for the next who looks.
func (h *heritage) keep() {
	h.life.lock.Close()
	h.life.dir.Close()
}
