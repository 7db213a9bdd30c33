package runner

import (
	"bytes"
	"os"
	"slices"
	"syscall"

	"oarlock/runner/internal/proc"
	"oarlock/runner/internal/tree"
)

// Identity names one process for ever: a number alone is given away again.
type Identity struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"start"` // of the process, in clock ticks since boot
	Boot  string `json:"boot"`  // the kernel's name of the time since its start: numbers mean nothing after a reboot
}

// Self returns the identity of this process.
func Self() Identity {
	me, _ := proc.Read(os.Getpid()) // without it nobody of ours is mistaken for it either
	return Identity{PID: os.Getpid(), Start: me.Start, Boot: proc.Boot()}
}

// mark is how control groups and the environment of children name their supervisor.
func (id Identity) mark() string { return proc.Mark(id.PID, id.Start) }

// entry is what the environment of children holds of their supervisor.
func (id Identity) entry() string { return supervisorEnv + "=" + id.mark() }

// Alive reports whether a process of that id has not ended.
func Alive(pid int) bool { return proc.Alive(pid) }

// Leftover is what a supervisor writes down of a child while it lives, so that it is found, and told
// from others, when the supervisor is gone.
type Leftover struct {
	PID, PGID int
	Start     uint64 // as that of an Identity
}

// LeftoverOf returns what is to be written down of the child pid, which leads the process group pgid;
// false if it is gone.
func LeftoverOf(pid, pgid int) (l Leftover, there bool) {
	s, there := proc.Read(pid)
	return Leftover{pid, pgid, s.Start}, there
}

// Leftovers are the children that a supervisor left which is no more. Its methods are for one goroutine.
type Leftovers struct {
	of       Identity
	children []Leftover
	proven   map[Leftover]bool // those that were, once: what is dying has no environment any more
}

// NewLeftovers are those children of the dead supervisor of, as its list has them.
func NewLeftovers(of Identity, children []Leftover) *Leftovers {
	return &Leftovers{of: of, children: children, proven: map[Leftover]bool{}}
}

// Kill ends what is proven to be left of the children, with SIGKILL to their process groups, and tells
// how many of them there were, and which process groups may be others' and are not proven to be theirs.
// It may be repeated until nothing is left: what dies takes its time, and proves nothing meanwhile.
func (l *Leftovers) Kill() (killed int, doubtful []int) {
	if l.of.Boot != proc.Boot() {
		return 0, nil
	}
	members := membersByGroup()
	for _, child := range l.children {
		switch l.look(child, members) {
		case ours:
			l.proven[child] = true
			if syscall.Kill(-child.PGID, syscall.SIGKILL) == nil {
				killed++
			}
		case unproven:
			doubtful = append(doubtful, child.PGID)
		}
	}
	return killed, doubtful
}

// remnant is what is known of a child that was written down.
type remnant int

const (
	nothing  remnant = iota // it is gone with all of its group, or its numbers are somebody else's now
	ours                    // proven to be a child of the dead supervisor
	unproven                // perhaps one
)

// look tells what is left of a child. Numbers alone prove nothing, for they are given away
// again: the child is ours if it started when the list says and has the mark of our
// children; and if it is gone, its group is, if a process in it has the mark of the very
// supervisor that is dead.
func (l *Leftovers) look(child Leftover, members func(pgid int) []int) remnant {
	if child.PGID <= 1 {
		return nothing
	}
	if now, there := proc.Read(child.PID); there && now.State != 'Z' {
		switch {
		case now.Start != child.Start:
			return nothing // the number is somebody else's now, and so is that of the group
		case now.Group == child.PGID && (l.proven[child] || l.marked(child.PID, protocolEnv+"=")):
			return ours
		}
		return unproven
	}
	left := members(child.PGID)
	mark := l.of.entry() + "\x00"
	switch {
	case len(left) == 0:
		return nothing
	case l.proven[child], slices.ContainsFunc(left, func(pid int) bool { return l.marked(pid, mark) }):
		return ours
	}
	return unproven
}

// marked tells whether the process has an entry that begins with entry in its environment,
// or is in a control group of the dead supervisor's.
func (l *Leftovers) marked(pid int, entry string) bool {
	if bytes.Contains(proc.Environment(pid), []byte("\x00"+entry)) { // unreadable, or written over, it proves nothing
		return true
	}
	return tree.InGroupOf(l.of.mark(), pid)
}

// Remaining returns the living processes that have the mark of a child of one of these dead supervisors
// in their environment, listed by their supervisor or not.
func Remaining(dead []Identity) (pids []int) {
	var marks [][]byte
	for _, id := range dead {
		if id.Boot == proc.Boot() {
			marks = append(marks, []byte("\x00"+id.entry()+"\x00"))
		}
	}
	for _, pid := range proc.All() {
		env := proc.Environment(pid)
		if slices.ContainsFunc(marks, func(mark []byte) bool { return bytes.Contains(env, mark) }) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// membersByGroup lists the living processes by group when it is first asked for one, and only then.
func membersByGroup() (members func(pgid int) []int) {
	var byGroup map[int][]int
	return func(pgid int) []int {
		if byGroup == nil {
			byGroup = map[int][]int{}
			for _, pid := range proc.All() {
				if s, there := proc.Read(pid); there && s.State != 'Z' {
					byGroup[s.Group] = append(byGroup[s.Group], pid)
				}
			}
		}
		return byGroup[pgid]
	}
}
