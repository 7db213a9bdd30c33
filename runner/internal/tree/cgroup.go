package tree

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"oarlock/runner/internal/proc"
)

// cgroups is the control group below which each of our children gets its own:
//
//	<own>/supervisor                        we ourselves, where we were alone in <own>
//	<own>/oarlock-<pid>-<start>-…/guard     the guard of this supervisor
//	<own>/oarlock-<pid>-<start>-…/jobs/<n>  one child each
//
// The kernel kills a control group as one, so nothing gets out of it. Should we die without having
// killed anything, the guard does it for us; what even that could not, the next supervisor does.
type cgroups struct {
	own   string // the one that we were given
	path  string
	next  atomic.Uint64
	guard *warden
}

// cgroupPrefix begins the names of the control groups of all supervisors; the mark of the one
// that it belongs to comes next, then the pid namespace in which that has its pid.
const cgroupPrefix = "oarlock-"

// InGroupOf tells whether pid is in a control group of the supervisor of that proc.Mark.
func InGroupOf(mark string, pid int) bool {
	return bytes.Contains(proc.Cgroups(pid), []byte("/"+cgroupPrefix+mark+"-"))
}

// openCgroups makes our group, after it has ended what dead supervisors left in theirs. The error says
// why there can be none; nothing has changed then.
func openCgroups(t *Starter) (*cgroups, error) {
	own, err := ownCgroup()
	if err != nil {
		return nil, err
	}
	if err := delegated(own); err != nil {
		return nil, err
	}
	sweepCgroups(own)
	me, _ := proc.Read(os.Getpid())
	c := &cgroups{own: own, path: filepath.Join(own, cgroupPrefix+proc.Mark(os.Getpid(), me.Start)+"-"+pidNamespace()+"-"+strings.ToLower(rand.Text()[:13]))}
	if err = c.make(); err == nil {
		if _, missing := os.Stat(filepath.Join(c.path, "cgroup.kill")); missing != nil {
			err = errors.New("this kernel cannot kill a control group as one (Linux 5.14 can)")
		}
	}
	if err == nil {
		err = c.startGuard(t)
	}
	if err != nil {
		endCgroup(c.path, 0)
		return nil, err
	}
	enableControllers(own, c.path, c.jobs())
	return c, nil
}

// make makes our groups where they are not there.
func (c *cgroups) make() error {
	return errors.Join(os.MkdirAll(c.jobs(), 0o755), os.MkdirAll(filepath.Join(c.path, "guard"), 0o755))
}

func (c *cgroups) jobs() string { return filepath.Join(c.path, "jobs") }

// ownCgroup returns the directory of the control group (version 2) that we are in.
func ownCgroup() (string, error) {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return "", err
	}
	mount := ""
	for line := range strings.Lines(string(mounts)) {
		fields, after, _ := strings.Cut(line, " - ")
		if f := strings.Fields(fields); strings.HasPrefix(after, "cgroup2 ") && len(f) > 4 {
			mount = f[4]
		}
	}
	if mount == "" {
		return "", errors.New("control groups of version 2 are not mounted")
	}
	groups, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(groups)) {
		if path, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "0::"); ok {
			return filepath.Join(mount, path), nil
		}
	}
	return "", errors.New("we are in no control group of version 2")
}

// delegated says whether the group is ours to divide. Where a service manager made it, it must have
// said so; anybody else shows it by letting us write.
func delegated(group string) error {
	switch filepath.Ext(group) {
	case ".service", ".scope", ".slice":
		for _, attribute := range []string{"user.delegate", "trusted.delegate"} {
			var value [1]byte
			if n, err := unix.Getxattr(group, attribute, value[:]); err == nil && n == 1 && value[0] == '1' {
				return nil
			}
		}
		return errors.New("the service manager did not delegate its control group (Delegate=yes in the unit does)")
	}
	return nil
}

// enableControllers asks for what limits and counts memory and processes, where the kernel offers it.
// A group that hands controllers down may hold no process itself, so we move into one of our own below
// it, if nobody else is there. What cannot be had is done without.
func enableControllers(own string, below ...string) {
	offered, _ := os.ReadFile(filepath.Join(own, "cgroup.controllers"))
	var want []string
	for _, controller := range []string{"memory", "pids"} {
		if strings.Contains(" "+strings.TrimSpace(string(offered))+" ", " "+controller+" ") {
			want = append(want, "+"+controller)
		}
	}
	if len(want) == 0 {
		return
	}
	inside, _ := os.ReadFile(filepath.Join(own, "cgroup.procs"))
	if me := strconv.Itoa(os.Getpid()); string(bytes.TrimSpace(inside)) == me {
		leaf := filepath.Join(own, "supervisor")
		if err := os.Mkdir(leaf, 0o755); err == nil || errors.Is(err, fs.ErrExist) {
			os.WriteFile(filepath.Join(leaf, "cgroup.procs"), []byte(me), 0)
		}
	}
	for _, group := range append([]string{own}, below...) {
		for _, controller := range want {
			os.WriteFile(filepath.Join(group, "cgroup.subtree_control"), []byte(controller), 0)
		}
	}
}

// pidNamespace names the set of pids that ours is one of; "0" where that cannot be told.
func pidNamespace() string {
	link, _ := os.Readlink("/proc/self/ns/pid") // pid:[4026531836]
	digits := strings.TrimSuffix(strings.TrimPrefix(link, "pid:["), "]")
	if _, err := strconv.ParseUint(digits, 10, 64); err != nil {
		return "0"
	}
	return digits
}

// sweepCgroups ends what supervisors that are no more left running below own. Those of another
// pid namespace are not ours to judge: a pid that we do not see may live there.
func sweepCgroups(own string) {
	left, _ := filepath.Glob(filepath.Join(own, cgroupPrefix+"*"))
	here := pidNamespace()
	for _, path := range left {
		var pid int
		var start, namespace uint64
		if _, err := fmt.Sscanf(filepath.Base(path), cgroupPrefix+"%d-%d-%d-", &pid, &start, &namespace); err != nil {
			continue
		}
		if strconv.FormatUint(namespace, 10) != here {
			continue
		}
		// /proc may hide it from us, and we may have no descriptor left to look: a signal asks, too.
		if s, seen := proc.Read(pid); seen && s.Start == start || !seen && !errors.Is(unix.Kill(pid, 0), unix.ESRCH) {
			continue
		}
		endCgroup(path, time.Second)
	}
}

// endCgroup kills everything in the group at path, waits for it for a while, and removes the group with
// all groups below it.
func endCgroup(path string, patience time.Duration) {
	writeIn(path, "cgroup.kill", "1")
	awaitEmpty(path, patience)
	filepath.WalkDir(path, func(below string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && below != path {
			endCgroup(below, 0)
			return fs.SkipDir
		}
		return nil
	})
	os.Remove(path)
}

// awaitEmpty returns when no process is left in the group at path, or after patience.
func awaitEmpty(path string, patience time.Duration) bool {
	for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		events, err := os.ReadFile(filepath.Join(path, "cgroup.events"))
		if err != nil || bytes.Contains(events, []byte("populated 0")) {
			return true
		}
		if time.Now().After(end) {
			return false
		}
	}
}

// startGuard starts the guard, in a group of its own, which proves that we can start processes so.
func (c *cgroups) startGuard(t *Starter) error {
	var err error
	c.guard, err = startWarden(t, guardOrder{Cgroup: c.jobs()}, filepath.Join(c.path, "guard"))
	if err != nil {
		return fmt.Errorf("a process cannot be started in a control group: %w", err)
	}
	return nil
}

// guardCgroup is the guard of all children that have control groups: it kills each whose lease ends and,
// when the supervisor has gone, the rest.
func guardCgroup(order *guardOrder) int {
	kill := func(row *leaseRow) { (&cgroup{path: cgroupOf(order.Cgroup, row)}).kill() }
	return serveWarden(order, kill, func() { endCgroup(order.Cgroup, guardPatience) })
}

// close ends what is left and gives everything back.
func (c *cgroups) close() {
	c.guard.close()
	endCgroup(c.path, time.Second)
}

// cgroup is the control group of one child.
type cgroup struct {
	path   string
	number int64
	gone   bool // it was removed
}

// create makes a control group that may hold so many bytes of memory; 0: any. Where the kernel does not
// limit that, Child.Memory is watched instead.
func (c *cgroups) create(memory uint64) (*cgroup, error) {
	g := &cgroup{number: int64(c.next.Add(1))}
	g.path = filepath.Join(c.jobs(), strconv.FormatInt(g.number, 10))
	err := os.Mkdir(g.path, 0o755)
	if errors.Is(err, fs.ErrNotExist) { // somebody has removed ours
		if err = c.make(); err == nil {
			enableControllers(c.own, c.path, c.jobs())
			err = os.Mkdir(g.path, 0o755)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("control group: %w", err)
	}
	if memory > 0 {
		writeIn(g.path, "memory.max", strconv.FormatUint(memory, 10)) // an error means that it is watched instead
	}
	return g, nil
}

// writeIn writes text to a file of the group at path, which is there: package os would ask more about it than
// that costs.
func writeIn(path, file, text string) error {
	fd, err := unix.Open(filepath.Join(path, file), unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err == nil {
		_, err = unix.Write(fd, []byte(text))
		unix.Close(fd)
	}
	if err != nil {
		return &os.PathError{Op: "write", Path: filepath.Join(path, file), Err: err}
	}
	return nil
}

// adopt moves a process that was not started in the group into it.
func (g *cgroup) adopt(pid int) error {
	return writeIn(g.path, "cgroup.procs", strconv.Itoa(pid))
}

func (g *cgroup) kill() { writeIn(g.path, "cgroup.kill", "1") }

// discard removes the group if nothing in it is alive, and tells whether that is so. For most it is, by then, and
// nothing else need be asked or done.
func (g *cgroup) discard() bool {
	g.gone = g.gone || unix.Rmdir(g.path) == nil
	return g.gone
}

// alive counts its processes that have not ended: those that have are not listed.
func (g *cgroup) alive() int {
	pids, _ := os.ReadFile(filepath.Join(g.path, "cgroup.procs"))
	return bytes.Count(pids, []byte("\n"))
}

// oomKills returns how many of its processes the kernel has killed for want of memory.
func (g *cgroup) oomKills() int64 { return oomKills(filepath.Join(g.path, "memory.events")) }

func (g *cgroup) remove() {
	if !g.discard() {
		endCgroup(g.path, time.Second)
	}
}

// inCgroup is a process with a control group of its own.
type inCgroup struct {
	*leader
	group *cgroup
}

func startInCgroup(l *leader, s Settings) (Process, error) {
	group, err := l.starter.cgroups.create(s.Memory)
	if err != nil {
		return nil, err
	}
	dir, err := unix.Open(group.path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err == nil {
		defer unix.Close(dir)
		startInGroup(l.cmd.SysProcAttr, dir)
		l.held, err = l.starter.cgroups.guard.leases.lease(group.number, 0, 0)
	}
	if err == nil {
		l.held.set(s.Until)
		err = l.start(s)
	}
	if err != nil {
		l.Release()
		group.remove()
		return nil, err
	}
	if l.held.ended() { // while we stood still: what the guard killed then was an empty group
		group.kill()
	}
	return &inCgroup{l, group}, nil
}

func (p *inCgroup) Kill() { p.group.kill() }

// cgroupPatience is how long the end of a child waits for the rest of its group to be gone.
const cgroupPatience = 3 * time.Second

func (p *inCgroup) Wait() Exit {
	exit := p.waitKilling(func() {}) // it is not by its number that the rest is killed
	if exit.Signal != syscall.SIGKILL && p.group.discard() {
		return exit
	}
	exit.Left = p.group.alive()
	p.Kill()
	awaitEmpty(p.group.path, cgroupPatience)
	if kills := p.group.oomKills(); exit.Signal == syscall.SIGKILL && kills > 0 {
		exit.OOM = fmt.Sprintf("memory.events of its control group counts oom_kill %d", kills)
	} else {
		exit.OOM = p.oomProof(p.PID(), exit)
	}
	return exit
}

func (p *inCgroup) Release() {
	p.leader.Release()
	p.group.remove()
}

// InJobs tells whether a process is in a control group that was made for a child of ours, and in which.
func (s *Starter) InJobs(pid int) (group string, is bool) {
	if s.cgroups == nil {
		return "", false
	}
	above := "/" + filepath.Base(s.cgroups.path) + "/jobs/"
	for line := range strings.Lines(string(proc.Cgroups(pid))) {
		if _, rest, in := strings.Cut(strings.TrimSuffix(line, "\n"), above); in {
			number, _, _ := strings.Cut(rest, "/") // the child may divide its own
			return number, true
		}
	}
	return "", false
}
