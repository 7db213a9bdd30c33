package tree

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"oarlock/internal/nowait"
)

// sinceBoot is the clock of leases.
func sinceBoot() time.Duration {
	now, _ := nowait.Clock(unix.CLOCK_BOOTTIME)
	return now
}

// TestLeasesAreWatched has many leases set and renewed while a guard looks: none is killed that has not
// ended, and each that has ended is.
func TestLeasesAreWatched(t *testing.T) {
	l, err := openLeases()
	must(t, err)
	g, err := l.guard() // not closed, nor is the page: the watch goes on for ever
	must(t, err)
	var mu sync.Mutex
	killed := map[int64]time.Duration{}
	order := leaseOrder{Guard: g.number}
	for i, fd := range []int{l.fd, g.timer} { // which the watch takes over
		own, err := unix.Dup(fd)
		must(t, err)
		*[]*int{&order.Page, &order.Timer}[i] = own
	}
	v, err := order.open()
	must(t, err)
	go v.run(func(row *leaseRow) {
		mu.Lock()
		defer mu.Unlock()
		killed[row.target.Load()] = sinceBoot()
	})
	const n = 60
	ends := make([]time.Duration, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(i)))
			held, err := g.lease(int64(i), 0, 0)
			if err != nil {
				t.Error(err)
				return
			}
			for range 200 { // each time well before it ends
				held.set(sinceBoot() + time.Second + time.Duration(random.IntN(3000))*time.Millisecond)
				if random.IntN(4) == 0 {
					held.set(0)
				}
			}
			if i%3 == 0 {
				held.set(0)
				return
			}
			ends[i] = sinceBoot() + time.Duration(random.IntN(300))*time.Millisecond
			held.set(ends[i])
			until(t, "end of a lease", held.ended)
			held.set(sinceBoot() + time.Hour)
			if !held.ended() {
				t.Errorf("lease %d came back to life", i)
			}
		})
	}
	all.Wait()
	mu.Lock()
	defer mu.Unlock()
	for i, end := range ends {
		at, dead := killed[int64(i)]
		if dead != (end != 0) || at < end {
			t.Errorf("lease %d ends at %v; killed: %v at %v", i, end, dead, at)
		}
	}
}

// TestLeaseThatEndedBeforeTheChildWasBorn: we stand still as we are about to start a child, until its lease has
// ended and the guard has killed an empty group. The lock without which no process is started stands for that.
func TestLeaseThatEndedBeforeTheChildWasBorn(t *testing.T) {
	tr := testTrees(t)
	if tr.cgroups == nil {
		t.Skipf("SKIPPED no control groups: %s", tr.why)
	}
	cmd := exec.Command("sleep", "600")
	cmd.Env = os.Environ()
	born := make(chan Process, 1)
	syscall.ForkLock.RLock()
	go func() {
		defer close(born)
		p, err := tr.Start(cmd, Cgroup, Settings{Until: sinceBoot()})
		if err != nil {
			t.Error(err)
			return
		}
		born <- p
	}()
	page := tr.leases.page
	until(t, "look of the guard", func() bool {
		for i := range page.used.Load() {
			if page.rows[i].until.Load() == leaseEnded {
				return true
			}
		}
		return false
	})
	syscall.ForkLock.RUnlock()
	if p := <-born; p != nil {
		if exit := p.Wait(); exit.Signal != syscall.SIGKILL || !p.Lapsed() {
			t.Errorf("it ends as %+v, lapsed: %t", exit, p.Lapsed())
		}
		p.Release()
	}
}

// TestGuardKilledAsItKills: the next guard does what it was about to do. Where the child has ended by then, its
// row is nobody else's, for the guard may only have been stopped.
func TestGuardKilledAsItKills(t *testing.T) {
	l, err := openLeases()
	must(t, err)
	defer l.close()
	g, err := l.guard()
	must(t, err)
	defer g.close()
	lease := func(target int64) *lease {
		held, err := g.lease(target, 0, 0)
		must(t, err)
		return held
	}
	lives, died := lease(1), lease(2)
	lives.row.until.Store(leaseEnding)
	died.row.until.Store(leaseEnding)
	died.over()
	died.close()
	if lease(3).row == died.row {
		t.Error("the row of one that a guard is about to kill is another's")
	}
	next := &watch{guard: int64(g.number), page: l.page}
	var killed []int64
	for range 2 {
		next.look(func(row *leaseRow) { killed = append(killed, row.target.Load()) })
	}
	if !slices.Equal(killed, []int64{1}) || !lives.ended() {
		t.Errorf("the next guard kills %v", killed)
	}
}

// TestLeasesAreGivenBack: children that come and go leave nothing on the page.
func TestLeasesAreGivenBack(t *testing.T) {
	tr := testTrees(t)
	const times = 5
	for _, strength := range strengths(t, tr) {
		for range times {
			cmd := exec.Command("sh", "-c", "exit 0")
			cmd.Env = os.Environ()
			p, err := tr.Start(cmd, strength, Settings{Until: sinceBoot() + time.Hour})
			must(t, err)
			if exit := p.Wait(); exit.Code != 0 || exit.Signal != 0 {
				t.Fatalf("it ends as %+v", exit)
			}
			p.Release()
		}
	}
	// Number 0, two wardens, and what one child needs below a guard.
	if used := tr.leases.page.used.Load(); used > 5 {
		t.Errorf("%d rows were used for one child at a time", used)
	}
}
