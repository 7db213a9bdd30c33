package statedir

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"syscall"

	"oarlock/queue"
	"oarlock/runner"
)

// A supervisor leaves a life file in the state directory for as long as it lives,
// under an exclusive lock which the kernel drops when the process ends, however it
// ends. A life file that can be locked is therefore a dead supervisor's, and says
// what that one left behind. Beside <id>.life, which names its workers, is
// <id>.children, a table with one line of fixed length for each living child: it is
// written at every start of a child, so it has to be cheap.
const (
	lifeSuffix     = ".life"
	childrenSuffix = ".children"
	childLine      = 64 // bytes, line feed included
)

// Life is what a supervisor tells its successor. The methods of a nil *Life do
// nothing: without a state directory nothing is kept. Safe for concurrent use.
type Life struct {
	dir      *os.Root // the state directory
	name     string   // of the files in it, without suffix
	lock     *os.File
	children *os.File

	mu        sync.Mutex
	testament testament
	lines     int   // of the table
	free      []int // those of them whose child is gone
}

// NoEntry stands for the line of a child that is not in the table.
const NoEntry = -1

// testament is the content of a life file.
type testament struct {
	runner.Identity
	Workers []Workers `json:"workers"`
	Suspect *Accused  `json:"suspect,omitempty"` // who is at work; nil if nobody
	Left    bool      `json:"left,omitempty"`    // it ended by itself, and could not tell Redis
}

// Accused names the suspect that a supervisor runs.
type Accused struct {
	Worker string `json:"worker"`
	JID    string `json:"jid"`
}

// Workers is what a life file says of a pool.
type Workers struct {
	Name       string      `json:"name"` // the worker's name in Redis
	Queues     []string    `json:"queues"`
	List       *queue.List `json:"list,omitempty"` // that it works in place of queues
	MaxCrashes int         `json:"max_crashes"`
}

// Begin creates the life files of this process in dir, which is created if need
// be; with "" nothing is kept, and the life is nil. An error is about the file system, or an
// *ExposedError.
func Begin(dir string) (*Life, error) {
	if dir == "" {
		return nil, nil
	}
	root, err := open(dir)
	if err != nil {
		return nil, err
	}
	var unique [5]byte
	rand.Read(unique[:]) // never fails, by its documentation
	name := fmt.Sprintf("%d-%x", os.Getpid(), unique)
	lock, err := root.OpenFile(name+".new", os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		root.Close()
		return nil, fmt.Errorf("state directory: %w", err)
	}
	l := &Life{dir: root, name: name, lock: lock, testament: testament{Identity: runner.Self()}}
	// Locked first and named after, it is never seen without its lock.
	err = syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		l.children, err = root.OpenFile(name+childrenSuffix, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	}
	if err == nil {
		err = l.Write(nil)
	}
	if err == nil {
		err = root.Rename(name+".new", name+lifeSuffix)
	}
	if err != nil {
		l.End()
		return nil, fmt.Errorf("state directory: %w", err)
	}
	return l, nil
}

// Write replaces what the life file says of the workers.
func (l *Life) Write(all []Workers) error {
	return l.change(func(t *testament) { t.Workers = all })
}

// accuse replaces what the life file says of the suspect that is at work; nil is nobody.
func (l *Life) accuse(who *Accused) error {
	return l.change(func(t *testament) { t.Suspect = who })
}

// change changes what the life file says.
func (l *Life) change(how func(*testament)) error {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	how(&l.testament)
	text, err := json.Marshal(&l.testament)
	if err != nil {
		return err
	}
	// One write of a longer text than before is whole for any reader that locks it,
	// since a reader can lock it only when we are gone; the padding hides what a
	// shorter text leaves of the longer one before it.
	if info, err := l.lock.Stat(); err == nil && int64(len(text)) < info.Size() {
		text = append(text, bytes.Repeat([]byte(" "), int(info.Size())-len(text))...)
	}
	_, err = l.lock.WriteAt(text, 0)
	return err
}

// Enter notes that the child pid, leader of the process group pgid, was started, and
// returns the entry that is its own until Leave. A slot may have several
// children at a time, all of which a successor must find: one that takes over, and
// one that still works.
func (l *Life) Enter(pid, pgid int) (line int, err error) {
	if l == nil {
		return NoEntry, nil
	}
	child, there := runner.LeftoverOf(pid, pgid)
	if !there {
		return NoEntry, nil
	}
	text := fmt.Sprintf("%d %d %d", child.PID, child.PGID, child.Start)
	l.mu.Lock()
	defer l.mu.Unlock()
	if last := len(l.free) - 1; last >= 0 {
		line, l.free = l.free[last], l.free[:last]
	} else {
		line = l.lines
		l.lines++
	}
	_, err = l.children.WriteAt(fmt.Appendf(nil, "%-*s\n", childLine-1, text), int64(line)*childLine)
	return line, err
}

// Leave lets the entry of a child that is gone be another's. What it says stays until
// then, and tells a successor of whatever the child has left in its group.
func (l *Life) Leave(line int) {
	if l == nil || line == NoEntry {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.free = append(l.free, line)
}

// End removes the life files: nothing was left behind.
func (l *Life) End() {
	if l == nil {
		return
	}
	l.dir.Remove(l.name + ".new")
	l.dir.Remove(l.name + lifeSuffix)
	l.dir.Remove(l.name + childrenSuffix)
	if l.children != nil {
		l.children.Close()
	}
	l.lock.Close() // drops the lock
	l.dir.Close()
}

// Abandon leaves the life files to a successor: jobs were left behind.
func (l *Life) Abandon() {
	if l == nil {
		return
	}
	_ = l.change(func(t *testament) { t.Left = true }) // else it counts as a death
	l.Close()
}

// Close lets the life files go as they are, as the kernel does when a supervisor is killed.
func (l *Life) Close() {
	l.children.Close()
	l.lock.Close() // drops the lock
	l.dir.Close()
}
