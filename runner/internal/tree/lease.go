package tree

import (
	"errors"
	"math"
	"os"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A child must be dead when its lease ends, also if we ourselves stand still then: stopped by a signal,
// starved, held in a debugger. So it is not us who see to that, but a guard, a process of ours that only
// watches the time: the child's own guard, or one for all that have none.
//
// We share a page of memory with our guards, on which a row for each child says when its lease ends, and
// each guard has a timer that we can set as well. A guard sleeps until the end of a lease that it has
// seen, and then looks at what stands there by now. So a job costs us a store as it begins and another as
// it ends; a system call is needed only where a lease ends before the guard would look.
//
// Times are on CLOCK_BOOTTIME, which runs on while the machine is suspended.

// leaseRow is the row of a child, or of a guard that has no single child of its own.
type leaseRow struct {
	until atomic.Int64 // when to kill; 0: there is no lease; below: one of the constants, for good
	guard atomic.Int64 // the number of the guard whose business it is; 0: the row is free
	alarm atomic.Int64 // if it is a guard's: what the timer is set to

	// What to kill. It does not change while guard is set.
	target atomic.Int64  // pid, or number of the control group; 0: everything below the guard
	start  atomic.Uint64 // when the process was started, if that must be compared; see proc.Stat
	mark   atomic.Uint64 // of its processes; see Fork.Equip
}

const (
	leaseEnding = -1 // a guard is about to kill
	leaseEnded  = -2 // it has
	leaseOver   = -3 // the child has ended in some other way

	noAlarm = math.MaxInt64
)

// MaxLeases is how many rows there are on the page, most of them memory that is never touched: a process
// takes one, and its guard another.
const MaxLeases = 1 << 16

// leasePage is the memory that is shared.
type leasePage struct {
	used atomic.Int64 // rows from here on were never used
	rows [MaxLeases]leaseRow
}

// mapLeases maps the page that fd stands for.
func mapLeases(fd int) (*leasePage, error) {
	memory, err := unix.Mmap(fd, 0, int(unsafe.Sizeof(leasePage{})), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, os.NewSyscallError("mmap", err)
	}
	return (*leasePage)(unsafe.Pointer(unsafe.SliceData(memory))), nil
}

// leases is our side of the page. Its methods may be called by several goroutines; a nil one is that of
// a system where no such page can be had, and gives guards and leases that do nothing.
type leases struct {
	page *leasePage
	fd   int

	mu   sync.Mutex
	free []int // numbers of rows that were used and are free again
}

func openLeases() (*leases, error) {
	fd, err := sharedMemory("oarlock-leases")
	if err != nil {
		return nil, err
	}
	if err = unix.Ftruncate(fd, int64(unsafe.Sizeof(leasePage{}))); err == nil {
		var page *leasePage
		if page, err = mapLeases(fd); err == nil {
			page.used.Store(1) // number 0 is nobody's
			return &leases{page: page, fd: fd}, nil
		}
	}
	unix.Close(fd)
	return nil, err
}

// close gives the page back. All guards and leases were.
func (l *leases) close() {
	if l != nil {
		unix.Close(l.fd)
		unix.Munmap(unsafe.Slice((*byte)(unsafe.Pointer(l.page)), unsafe.Sizeof(leasePage{})))
	}
}

var errLeases = errors.New("there are too many children to watch over their leases")

// row returns the number of a row that was free.
func (l *leases) row() (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if last := len(l.free) - 1; last >= 0 {
		number := l.free[last]
		l.free = l.free[:last]
		return number, nil
	}
	number := l.page.used.Load()
	if number == MaxLeases {
		return 0, errLeases
	}
	l.page.used.Store(number + 1)
	return int(number), nil
}

// giveBack frees a row.
func (l *leases) giveBack(number int) {
	row := &l.page.rows[number]
	row.guard.Store(0)
	row.until.Store(0)
	l.mu.Lock()
	l.free = append(l.free, number)
	l.mu.Unlock()
}

// leaseGuard is our side of a guard.
type leaseGuard struct {
	leases *leases
	number int
	timer  int

	mu sync.Mutex // held to set the timer
}

// guard makes the row and the timer of a guard that is to be started.
func (l *leases) guard() (*leaseGuard, error) {
	if l == nil {
		return nil, nil
	}
	timer, err := newTimer()
	if err != nil {
		return nil, err
	}
	number, err := l.row()
	if err != nil {
		unix.Close(timer)
		return nil, err
	}
	l.page.rows[number].alarm.Store(noAlarm)
	return &leaseGuard{leases: l, number: number, timer: timer}, nil
}

// close gives back what guard made.
func (g *leaseGuard) close() {
	if g != nil {
		g.leases.giveBack(g.number)
		unix.Close(g.timer)
	}
}

// files returns what a guard inherits, for the caller to close.
func (g *leaseGuard) files() ([]*os.File, error) {
	var files []*os.File
	for _, fd := range []int{g.leases.fd, g.timer} {
		own, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			closeAll(files)
			return nil, os.NewSyscallError("dup", err)
		}
		files = append(files, os.NewFile(uintptr(own), "leases"))
	}
	return files, nil
}

func closeAll(files []*os.File) {
	for _, file := range files {
		file.Close()
	}
}

// rouse makes the guard look at until, unless it does so earlier anyway.
func (g *leaseGuard) rouse(until int64) {
	alarm := &g.leases.page.rows[g.number].alarm
	if until >= alarm.Load() {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if until < alarm.Load() {
		alarm.Store(until)
		setAlarm(g.timer, until)
	}
}

// lease is the row of one child. Methods of a nil one do nothing.
type lease struct {
	guard  *leaseGuard
	number int
	row    *leaseRow
}

// lease makes the row of a child: target, start and mark are those of leaseRow.
func (g *leaseGuard) lease(target int64, start, mark uint64) (*lease, error) {
	if g == nil {
		return nil, nil
	}
	number, err := g.leases.row()
	if err != nil {
		return nil, err
	}
	row := &g.leases.page.rows[number]
	row.target.Store(target)
	row.start.Store(start)
	row.mark.Store(mark)
	row.guard.Store(int64(g.number))
	return &lease{guard: g, number: number, row: row}, nil
}

// of says which process group it is for, if that was not known before.
func (l *lease) of(leader int) {
	if l != nil {
		l.row.target.Store(int64(leader))
	}
}

// set says when the child must be dead; 0: it may live on, for it has no job. It changes nothing once a
// guard has seen the lease end.
func (l *lease) set(until time.Duration) {
	if l == nil {
		return
	}
	// Only a guard changes it besides us, and only for good.
	if before := l.row.until.Load(); before < 0 || !l.row.until.CompareAndSwap(before, int64(until)) {
		return
	}
	if until != 0 {
		l.guard.rouse(int64(until))
	}
}

// ended tells whether a guard has killed the child because its lease had ended.
func (l *lease) ended() bool {
	if l == nil {
		return false
	}
	until := l.row.until.Load()
	return until == leaseEnding || until == leaseEnded
}

// over says that the process has ended and is about to be reaped. From then on its number may be
// another's, so a guard that is just about to kill is waited for; that is a matter of microseconds.
func (l *lease) over() {
	if l == nil {
		return
	}
	for range killingTime / time.Millisecond {
		until := l.row.until.Load()
		if until != leaseEnding && (until < 0 || l.row.until.CompareAndSwap(until, leaseOver)) {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// killingTime is how long a guard is waited for, should it have been stopped in that moment.
const killingTime = 100 * time.Millisecond

// close frees the row. Nobody gets one with which a guard is still about to kill: that must be no later child.
func (l *lease) close() {
	switch {
	case l == nil:
	case l.row.until.Load() == leaseEnding:
		l.row.guard.Store(0)
	default:
		l.guard.leases.giveBack(l.number)
	}
}
