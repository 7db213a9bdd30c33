package tree

import (
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"oarlock/runner/internal/proc"
)

// leaseOrder is what a guard is told of the leases that it enforces. The zero value: none.
type leaseOrder struct {
	Guard int `json:"guard,omitempty"` // its number
	Page  int `json:"page,omitempty"`  // descriptors
	Timer int `json:"timer,omitempty"`
}

// join adds what the guard of g needs to the files that cmd inherits. The caller closes what it returns
// when cmd was started.
func (g *leaseGuard) join(cmd *exec.Cmd) (order leaseOrder, files []*os.File, err error) {
	if g == nil {
		return leaseOrder{}, nil, nil
	}
	if files, err = g.files(); err != nil {
		return leaseOrder{}, nil, err
	}
	page := 3 + len(cmd.ExtraFiles)
	cmd.ExtraFiles = append(cmd.ExtraFiles[:len(cmd.ExtraFiles):len(cmd.ExtraFiles)], files...)
	return leaseOrder{Guard: g.number, Page: page, Timer: page + 1}, files, nil
}

// watch is the side of a guard: it enforces the leases that are its business.
type watch struct {
	guard int64
	page  *leasePage
	timer *os.File
	fd    int
}

// open takes over the descriptors; it returns nil if there are no leases to be enforced.
func (o leaseOrder) open() (*watch, error) {
	if o.Guard == 0 {
		return nil, nil
	}
	page, err := mapLeases(o.Page)
	if err != nil {
		return nil, err
	}
	unix.Close(o.Page)
	unix.CloseOnExec(o.Timer)
	if err := unix.SetNonblock(o.Timer, true); err != nil { // so that to wait for it takes no thread
		return nil, err
	}
	return &watch{guard: int64(o.Guard), page: page, timer: os.NewFile(uintptr(o.Timer), "timer"), fd: o.Timer}, nil
}

// run calls kill for each lease that ends, as long as the process lives.
func (w *watch) run(kill func(row *leaseRow)) {
	alarm := &w.page.rows[w.guard].alarm
	var rang [8]byte
	for set := int64(-1); ; {
		next := w.look(kill)
		if next != set {
			// The supervisor may set the timer at the same time, so this is right only if a look after it
			// finds the same.
			alarm.Store(next)
			setAlarm(w.fd, next)
			set = next
			continue
		}
		if _, err := w.timer.Read(rang[:]); err != nil {
			time.Sleep(time.Second) // it cannot fail; if it does, nothing is lost but precision
		}
		set = -1
	}
}

// look kills what has outlived its lease, and returns when the next one ends.
func (w *watch) look(kill func(row *leaseRow)) (next int64) {
	now := bootTime()
	next = noAlarm
	for i := range w.page.used.Load() {
		row := &w.page.rows[i]
		if row.guard.Load() != w.guard {
			continue
		}
		until := row.until.Load()
		switch {
		case until == leaseEnding: // by a guard before us, which was killed as it was about to kill
			kill(row)
			row.until.Store(leaseEnded)
		case until <= 0:
		case until > now:
			next = min(next, until)
		case row.until.CompareAndSwap(until, leaseEnding):
			kill(row)
			row.until.Store(leaseEnded)
		default:
			next = now // it was renewed in this very moment
		}
	}
	return next
}

// killRow kills the process group of a row, unless its leader's number is another's by now.
func killRow(row *leaseRow) {
	pid := int(row.target.Load())
	if start := row.start.Load(); start != 0 {
		if s, ok := proc.Read(pid); ok && s.Start != start {
			return
		}
	}
	if syscall.Kill(-pid, unix.SIGKILL) == unix.ESRCH { // a fork that does not lead its session yet
		syscall.Kill(pid, unix.SIGKILL)
	}
}

// warden is a guard that serves all children which have none of their own. Should somebody kill it, the
// kernel for want of memory say, another takes its place.
type warden struct {
	starter *Starter
	order   guardOrder
	home    string        // the control group that it lives in; empty: ours
	leases  *leaseGuard   // nil where there are none
	let     chan struct{} // closed when it may go
	gone    chan struct{} // closed when it has

	mu     sync.Mutex // guards what changes with each guard
	leader *leader
	hold   *os.File // its end tells the guard that we are gone
}

// wardenPause is how long after its guard was killed a warden has the next one.
const wardenPause = 50 * time.Millisecond

// startWarden starts a guard with that order, whose leases are filled in.
func startWarden(t *Starter, order guardOrder, home string) (w *warden, err error) {
	w = &warden{starter: t, order: order, home: home, let: make(chan struct{}), gone: make(chan struct{})}
	if w.leases, err = t.leases.guard(); err != nil {
		return nil, err
	}
	if err := w.start(); err != nil {
		w.leases.close()
		return nil, err
	}
	go w.tend() // close waits for it
	return w, nil
}

// start starts a guard.
func (w *warden) start() error {
	end, hold, err := os.Pipe()
	if err != nil {
		return err
	}
	defer end.Close()
	// It outlives what is meant for our process group.
	cmd := &exec.Cmd{Stdin: end, Env: []string{}, SysProcAttr: &syscall.SysProcAttr{Setsid: true}}
	if w.home != "" {
		var dir *os.File
		os.MkdirAll(w.home, 0o755) // somebody may have removed it when the last one ended
		if dir, err = os.OpenFile(w.home, unix.O_DIRECTORY, 0); err == nil {
			defer dir.Close()
			startInGroup(cmd.SysProcAttr, int(dir.Fd()))
		}
	}
	var files []*os.File
	if err == nil {
		w.order.Leases, files, err = w.leases.join(cmd)
	}
	defer closeAll(files)
	if err == nil {
		err = becomeSelf(cmd, guardCommand, guardEnv, w.order)
	}
	if err == nil {
		err = w.starter.reaper.start(cmd)
	}
	if err != nil {
		hold.Close()
		return err
	}
	w.mu.Lock()
	w.leader, w.hold = &leader{cmd: cmd, starter: w.starter, born: time.Now()}, hold
	w.mu.Unlock()
	return nil
}

// tend waits for the guard, and starts another one until it may go.
func (w *warden) tend() {
	defer close(w.gone)
	for started := true; ; {
		if started {
			w.leader.Wait()
			w.hold.Close()
		}
		select {
		case <-w.let:
			return
		case <-time.After(wardenPause):
		}
		started = w.start() == nil
	}
}

// close lets the guard go, after it has done its last duty.
func (w *warden) close() {
	close(w.let)
	for held := true; held; {
		w.mu.Lock()
		w.hold.Close() // it may be another's by now
		w.leader.Signal(syscall.SIGCONT)
		w.mu.Unlock()
		select {
		case <-w.gone:
			held = false
		case <-time.After(wardenPause):
		}
	}
	w.leases.close()
}

// serveWarden is a warden in its own process: it enforces leases by kill until the supervisor has gone,
// in whichever way, and then does its last duty.
func serveWarden(order *guardOrder, kill func(row *leaseRow), last func()) int {
	signal.Notify(make(chan os.Signal, 1), unix.SIGTERM, unix.SIGINT, unix.SIGHUP, unix.SIGQUIT)
	w, err := order.Leases.open()
	if err != nil {
		return complain(ExitCannotRun, "guard: %v", err)
	}
	if w != nil {
		go w.run(kill) // ends with the process
	}
	io.Copy(io.Discard, os.Stdin)
	last()
	return 0
}

// cgroupOf is the control group of a row below the one at jobs.
func cgroupOf(jobs string, row *leaseRow) string {
	return jobs + "/" + strconv.FormatInt(row.target.Load(), 10)
}
