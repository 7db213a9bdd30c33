package runner

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"oarlock/internal/nowait"
	"oarlock/runner/internal/proc"
)

// sinceBoot is the clock of leases.
func sinceBoot() time.Duration {
	now, _ := nowait.Clock(unix.CLOCK_BOOTTIME)
	return now
}

// ended tells whether a process has ended, reaped or not.
func ended(pid int) bool {
	return !proc.Alive(pid)
}

// escaping returns how a child of a mode is started that, given its job, lets processes escape and waits,
// and the data of that job.
func escaping(mode Mode, file string) (command []string, data string) {
	script := fmt.Sprintf("exec %s testdata/leaves-escapees.py %s %d wait", python(), file, escapees)
	switch mode {
	case Once:
		return shell(script), `{}`
	case Reuse:
		return shell("read -r job; " + script), `{}`
	}
	return []string{python(), "testdata/preloaded.py"}, fmt.Sprintf(`{"do":"escape","file":%q,"count":%d,"then":"wait"}`, file, escapees)
}

// TestLeaseEndsTheTree holds the lock without which nothing of a child happens in this process, from before
// the lease ends until the child is dead.
func TestLeaseEndsTheTree(t *testing.T) {
	for _, strength := range strengths(t, testTrees(t)) {
		for _, mode := range []Mode{Once, Reuse, Preload} {
			t.Run(fmt.Sprintf("%v/%v", strength, mode), func(t *testing.T) {
				h, w := newHost(t), newWitness()
				file := filepath.Join(t.TempDir(), "pids")
				command, data := escaping(mode, file)
				c := start(t, h, &Spec{Mode: mode, Command: command, Kill: strength}, w)
				r, err := c.Run(dataJob("r1", data), RunLimits{Lease: sinceBoot() + time.Hour})
				if err != nil {
					t.Fatal(err)
				}
				until(t, "line from the child", func() bool { return w.text("r1") != "" })
				end := sinceBoot() + 200*time.Millisecond
				r.Renew(end)
				c.mu.Lock()
				until(t, "end of the child", func() bool { return ended(c.PID()) })
				if early := end - sinceBoot(); early > 0 {
					t.Errorf("the child ended %v before its lease", early)
				}
				checkLeft(t, strength, file)
				c.mu.Unlock()

				e := await(t, w.endings, "ending")
				exit := await(t, w.exits, "exit")
				if e.Kind != LockLost || e.SentByUs != CauseLockLost || exit.Signal != syscall.SIGKILL || exit.Cause != CauseLockLost {
					t.Errorf("the run ends as %v by %v, its child by %v because of %v", e.Kind, e.SentByUs, exit.Signal, exit.Cause)
				}
			})
		}
	}
}

// TestLeaseOfAChildThatIsBorn ends before Run was called.
func TestLeaseOfAChildThatIsBorn(t *testing.T) {
	for _, strength := range strengths(t, testTrees(t)) {
		t.Run(strength.String(), func(t *testing.T) {
			h, w := newHost(t), newWitness()
			spec := &Spec{Command: shell("sleep 600"), Kill: strength, Env: []string{"PATH=/usr/bin:/bin"}}
			c, err := h.StartLeased(t.Context(), spec, 1, newJob("r1"), sinceBoot()+50*time.Millisecond, w)
			if err != nil {
				t.Fatal(err)
			}
			until(t, "end of the child", func() bool { return ended(c.PID()) })
			if _, err := c.Run(newJob("r1"), RunLimits{Lease: sinceBoot() + time.Hour}); err != nil {
				t.Fatal(err)
			}
			if e := await(t, w.endings, "ending"); e.Kind != LockLost {
				t.Errorf("the run ends as %v", e.Kind)
			}
		})
	}
}

// TestLeaseLetsLive: what was renewed, what has ended, and who has no job lives on when the guard looks at
// the time that it was told before. A run that waits for its turn counts when it has come to it.
func TestLeaseLetsLive(t *testing.T) {
	for _, strength := range strengths(t, testTrees(t)) {
		t.Run(strength.String(), func(t *testing.T) {
			h, w := newHost(t), newWitness()
			script := `while read -r job; do case $job in *wait*) read -r go < "$FIFO";; *sleep*) sleep 60;; esac; run=${job#*'"run":"'}; echo '{"@":"ack","run":"'${run%%'"'*}'"}'; done`
			fifo := filepath.Join(t.TempDir(), "fifo")
			if err := unix.Mkfifo(fifo, 0o600); err != nil {
				t.Fatal(err)
			}
			c := start(t, h, &Spec{Mode: Reuse, Status: StatusLines, Command: shell(script), Kill: strength, Env: []string{"PATH=/usr/bin:/bin", "FIFO=" + fifo}}, w)
			give := func(run, data string, lease time.Duration) *Run {
				r, err := c.Run(dataJob(run, data), RunLimits{Lease: lease})
				if err != nil {
					t.Fatal(err)
				}
				return r
			}
			// looks has the guard look, and waits until it has found that nothing ends before at.
			looks := func(at time.Duration) {
				held := c.proc.lease()
				held.guard.rouse(int64(sinceBoot()))
				alarm := &held.guard.leases.page.rows[held.guard.number].alarm
				until(t, "look of the guard", func() bool { return alarm.Load() >= int64(at) })
				if ended(c.PID()) {
					t.Fatal("the child is dead")
				}
			}
			give("r1", `{}`, sinceBoot()+time.Hour)
			await(t, w.endings, "first ending")
			looks(noAlarm)

			r := give("r2", `"wait"`, sinceBoot()+time.Hour)
			later := sinceBoot() + 2*time.Hour
			r.Renew(later)
			looks(later)

			soon := sinceBoot() + 100*time.Millisecond
			give("r3", `"sleep"`, soon)
			until(t, "end of the lease of the run that waits", func() bool { return sinceBoot() > soon })
			looks(later)
			must(t, os.WriteFile(fifo, []byte("go\n"), 0)) // as soon as the child reads it
			if e := await(t, w.endings, "ending"); e.Kind != Said {
				t.Errorf("the run at work ends as %v", e.Kind)
			}
			until(t, "end of the child", func() bool { return ended(c.PID()) })
			if e := await(t, w.endings, "ending"); e.Kind != LockLost {
				t.Errorf("the run whose lease had ended ends as %v", e.Kind)
			}
		})
	}
}

// TestLeasesAreWatched has many leases set and renewed while a guard looks: none is killed that has not
// ended, and each that has ended is.
func TestLeasesAreWatched(t *testing.T) {
	l, err := openLeases()
	if err != nil {
		t.Fatal(err)
	}
	g, err := l.guard() // not closed, nor is the page: the watch goes on for ever
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	killed := map[int64]time.Duration{}
	order := leaseOrder{Guard: g.number}
	for i, fd := range []int{l.fd, g.timer} { // which the watch takes over
		own, err := unix.Dup(fd)
		if err != nil {
			t.Fatal(err)
		}
		*[]*int{&order.Page, &order.Timer}[i] = own
	}
	v, err := order.open()
	if err != nil {
		t.Fatal(err)
	}
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

// TestLeaseOutlivesItsGuard: who kills a guard that serves many children does not free them.
func TestLeaseOutlivesItsGuard(t *testing.T) {
	for _, strength := range strengths(t, testTrees(t)) {
		if strength == KillGuard {
			continue // the child dies with its guard
		}
		t.Run(strength.String(), func(t *testing.T) {
			h, w := newHost(t), newWitness()
			c := start(t, h, &Spec{Mode: Reuse, Command: shell("read -r job; exec sleep 600"), Kill: strength}, w)
			r := mustRun(t, c, newJob("r1"), RunLimits{Lease: sinceBoot() + time.Hour})
			guards := h.trees.groups
			if strength == KillCgroup {
				guards = h.trees.cgroups.guard
			}
			guards.mu.Lock()
			first := guards.leader
			guards.mu.Unlock()
			first.kill()
			r.Renew(sinceBoot() + 10*time.Millisecond)
			if e := await(t, w.endings, "ending"); e.Kind != LockLost {
				t.Errorf("the run ends as %v", e.Kind)
			}
		})
	}
}

// TestLeaseThatEndedBeforeTheChildWasBorn: we stand still as we are about to start a child, until its lease has
// ended and the guard has killed an empty group. The lock without which no process is started stands for that.
func TestLeaseThatEndedBeforeTheChildWasBorn(t *testing.T) {
	h, w := newHost(t), newWitness()
	if h.trees.cgroups == nil {
		t.Skipf("SKIPPED no control groups: %s", h.trees.why)
	}
	spec := &Spec{Command: shell("sleep 600"), Kill: KillCgroup, Env: []string{"PATH=/usr/bin:/bin"}}
	born := make(chan *Child, 1)
	syscall.ForkLock.RLock()
	go func() {
		defer close(born)
		c, err := h.StartLeased(t.Context(), spec, 1, newJob("r1"), sinceBoot(), w)
		if err != nil {
			t.Error(err)
			return
		}
		born <- c
	}()
	page := h.trees.leases.page
	until(t, "look of the guard", func() bool {
		for i := range page.used.Load() {
			if page.rows[i].until.Load() == leaseEnded {
				return true
			}
		}
		return false
	})
	syscall.ForkLock.RUnlock()
	if c := await(t, born, "start"); c != nil {
		mustRun(t, c, newJob("r1"), RunLimits{Lease: sinceBoot()})
		if e := await(t, w.endings, "ending"); e.Kind != LockLost {
			t.Errorf("the run ends as %v", e.Kind)
		}
	}
}

// TestGuardKilledAsItKills: the next guard does what it was about to do. Where the child has ended by then, its
// row is nobody else's, for the guard may only have been stopped.
func TestGuardKilledAsItKills(t *testing.T) {
	l, err := openLeases()
	if err != nil {
		t.Fatal(err)
	}
	defer l.close()
	g, err := l.guard()
	if err != nil {
		t.Fatal(err)
	}
	defer g.close()
	lease := func(target int64) *lease {
		held, err := g.lease(target, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
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
	h := newHost(t)
	const times = 5
	for _, strength := range strengths(t, testTrees(t)) {
		for range times {
			e, _ := runOnce(t, h, &Spec{Command: shell("exit 0"), Kill: strength}, RunLimits{Lease: sinceBoot() + time.Hour})
			if e.Kind != Exited {
				t.Fatalf("the run ends as %v", e.Kind)
			}
		}
	}
	// Number 0, two wardens, and what one child needs below a guard.
	if used := h.trees.leases.page.used.Load(); used > 5 {
		t.Errorf("%d rows were used for one child at a time", used)
	}
}
