package integration

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"oarlock/queue"
)

// A year of two hosts in some minutes: what their operator does, and what befalls them, drawn
// by the seed, one thing after another while jobs come.
//
//	a  reused children; its log is a pipe, which nobody reads at times
//	b  fresh or preloaded ones; its log and its state directory are on a small disk
type year struct {
	*rig
	hosts   []*yearHost
	disk    string // of b; "" if this machine cannot mount one
	group   string // that both are in; "" if it cannot limit processes
	version int
	good    map[int]bool // versions
	rolls   []badRoll
	counts  map[string]int // of what was done
}

// yearHost is one of the two.
type yearHost struct {
	name string
	s    *supervisor
	pool pool
	jobs int // of timeout and max_jobs, which reloads change
}

// badRoll is a time in which a supervisor had bad code, by the seconds of Redis' clock.
type badRoll struct {
	pid      int
	from, to int
}

// TestSoakAYear has an operator's year in one run: reloads, drains, restarts, kills, rolls of good and
// bad code, a full disk, a log that nobody reads, processes used up, a Redis that is away, takes no
// writes or is out of memory. No job is lost; none is begun twice but on bad code or by a supervisor
// that was killed; none pays a retry but for bad code.
func TestSoakAYear(t *testing.T) {
	long(t, "a soak")
	row(t, "a year", rigOptions{lock: 15 * time.Second, alone: true}, func(t *testing.T, r *rig) {
		y := &year{rig: r, good: map[int]bool{}, counts: map[string]int{}}
		y.begin(t)
		deeds := y.deeds()
		began := now()
		for until := time.Now().Add(soakLength(t)); time.Now().Before(until); {
			d := deeds[r.random.IntN(len(deeds))]
			t.Logf("%.2f %s", now(), d.name)
			y.counts[d.name]++
			d.do(t)
			y.works(t, 20)
			y.rotate(t)
		}
		r.bringForward(t)
		jobs := r.settled(t)
		r.note("seconds", int(now()-began))
		allDone(t, jobs)
		y.judge(t, jobs)
		r.drainAll(t, y.hosts[0].s, y.hosts[1].s)
	})
}

// begin starts both hosts, as far as this machine lets it with a disk and a limit of their own.
func (y *year) begin(t *testing.T) {
	t.Helper()
	var err error
	if y.disk, err = tmpfs(t, "8m"); err != nil {
		notHere("a year: the full disk", err)
	}
	if y.group, err = pidsGroup(t, 4000); err != nil {
		notHere("a year: processes used up", err)
	} else {
		y.under(t, "echo $$ > "+y.group+"/cgroup.procs")
	}
	y.speechless = true // the disk of b loses what it says
	modes := []string{"reuse", []string{"once", "preload"}[y.random.IntN(2)]}
	y.note("modes", strings.Join(modes, "+"))
	for i, name := range []string{"a", "b"} {
		h := &yearHost{name: name, pool: pool{mode: modes[i]}}
		y.hosts = append(y.hosts, h)
		y.write(t, h, goodCode, true)
		y.start(t, h)
	}
	y.works(t, 40)
}

// config is the configuration of a host now.
func (y *year) config(t *testing.T, h *yearHost) string {
	t.Helper()
	h.pool.more = fmt.Sprintf("start_timeout = \"20s\"\ntimeout = \"4.%03ds\"\nsandbox.kill = \"group\"", h.jobs)
	if h.pool.mode != "once" {
		h.pool.more += fmt.Sprintf("\nmax_jobs = %d", 100+h.jobs)
	}
	text := y.rig.config(t, h.name, h.pool)
	if h.name == "b" && y.disk != "" {
		text = strings.Replace(text, fmt.Sprintf("state_dir = %q", y.stateDir("b")), fmt.Sprintf("state_dir = %q", y.disk+"/state"), 1)
	}
	return text
}

// start starts the supervisor of a host.
func (y *year) start(t *testing.T, h *yearHost) {
	t.Helper()
	y.logFile = ""
	if h.name == "b" && y.disk != "" {
		y.logFile = y.disk + "/log"
	}
	h.s = y.startConfig(t, h.name, y.config(t, h))
	await(t, func() error {
		_, err := h.s.rolling()
		if err != nil && y.logFile != "" {
			said, _ := os.ReadFile(y.logFile)
			err = fmt.Errorf("%w\nits log:\n%s", err, said)
		}
		return err
	})
}

// write makes code the next version of a host's program.
func (y *year) write(t *testing.T, h *yearHost, c code, another bool) {
	t.Helper()
	y.version++
	y.good[y.version] = c == goodCode
	if another {
		python := command(t, "edited.py")
		h.pool.command = append(python[:len(python)-1], filepath.Join(y.dir, fmt.Sprintf("program-%d.py", y.version)))
	}
	c.write(t, h.pool.command[len(h.pool.command)-1], y.version)
}

// rollOut rolls code out on a host.
func (y *year) rollOut(t *testing.T, h *yearHost, c code) {
	t.Helper()
	reload := h.pool.mode == "once" || y.random.IntN(2) == 0
	y.write(t, h, c, reload)
	if reload {
		h.s.write(t, y.config(t, h))
		h.s.control(t, "reload")
	} else {
		h.s.control(t, "recycle", "work")
	}
}

// deed is something that is done, or that happens, and is over when it returns.
type deed struct {
	name string
	do   func(t *testing.T)
}

func (y *year) deeds() []deed {
	one := func() *yearHost { return y.hosts[y.random.IntN(len(y.hosts))] }
	all := []deed{
		{"reloads", func(t *testing.T) {
			h := one()
			h.jobs++
			h.s.write(t, y.config(t, h))
			h.s.control(t, "reload")
		}},
		{"good_rolls", func(t *testing.T) {
			h := one()
			y.rollOut(t, h, goodCode)
			y.atWork(t, h)
		}},
		{"bad_rolls", func(t *testing.T) { y.badRoll(t, one()) }},
		{"bad_rolls", func(t *testing.T) { y.badRoll(t, one()) }},
		{"restarts", func(t *testing.T) {
			h := one()
			h.s.signal(t, syscall.SIGTERM)
			if code := h.s.exit(t); code != 0 {
				t.Errorf("supervisor %s ended with exit code %d", h.name, code)
			}
			y.start(t, h)
		}},
		{"kills", func(t *testing.T) {
			h := one()
			h.s.kill(t)
			y.start(t, h)
		}},
		{"quiet", func(t *testing.T) {
			h := one()
			h.s.control(t, "quiet")
			y.passes()
			h.s.control(t, "resume")
		}},
		{"log_blocked", func(t *testing.T) {
			a := y.hosts[0].s
			a.mu.Lock() // our reader waits for it
			y.passes()
			a.mu.Unlock()
		}},
		{"redis_away", func(*testing.T) {
			y.redis.Kill()
			y.passes()
			y.redis.Restart()
		}},
		{"redis_read_only", func(t *testing.T) {
			y.tell(t, "REPLICAOF", "127.0.0.1", "1")
			y.passes()
			y.tell(t, "REPLICAOF", "NO", "ONE")
		}},
		{"redis_full", func(t *testing.T) {
			y.tell(t, "CONFIG", "SET", "maxmemory", "1")
			y.passes()
			y.tell(t, "CONFIG", "SET", "maxmemory", "0")
		}},
	}
	if y.disk != "" {
		all = append(all, deed{"disk_full", func(t *testing.T) {
			fill(t, y.disk+"/ballast")
			y.passes()
			must(t, os.Remove(y.disk+"/ballast"))
		}})
	}
	if y.group != "" {
		all = append(all, deed{"processes_used_up", func(t *testing.T) {
			err := setPids(y.group, 5)
			y.passes()
			if err = errors.Join(err, setPids(y.group, 4000)); err != nil {
				t.Fatal(err)
			}
		}})
	}
	return all
}

// rotate empties the log of b before it fills the disk.
func (y *year) rotate(t *testing.T) {
	t.Helper()
	if y.disk == "" {
		return
	}
	must(t, os.Truncate(y.disk+"/log", 0))
}

// passes lets up to four seconds pass.
func (y *year) passes() { last(time.Duration(200+y.random.IntN(3800)) * time.Millisecond) }

func (y *year) tell(t *testing.T, words ...any) {
	t.Helper()
	must(t, y.db.Do(t.Context(), words...).Err())
}

// badRoll rolls bad code out on a host, lets jobs meet it for a while, and repairs it.
func (y *year) badRoll(t *testing.T, h *yearHost) {
	t.Helper()
	from := int(time.Now().Unix())
	c := badCodes[y.random.IntN(len(badCodes))]
	t.Logf("%.2f on %s: %s", now(), h.name, c.name)
	y.rollOut(t, h, c)
	y.feed(t)
	y.passes()
	y.rollOut(t, h, goodCode)
	y.atWork(t, h)
	y.rolls = append(y.rolls, badRoll{h.s.pid(), from, int(time.Now().Unix()) + 1})
}

// atWork waits until a host's newest code has all its slots.
func (y *year) atWork(t *testing.T, h *yearHost) {
	t.Helper()
	await(t, func() error {
		y.feed(t)
		shot, err := h.s.rolling()
		if err != nil {
			return err
		}
		for _, slot := range shot.Slots {
			if slot.State != "empty" && slot.Generation != shot.Generation {
				return fmt.Errorf("slot %d of %s is %s, of generation %d, want %d", slot.Slot, h.name, slot.State, slot.Generation, shot.Generation)
			}
		}
		worked := slices.ContainsFunc(y.ledger.all(t), func(e entry) bool { return e.what == "end" && e.code == y.version })
		if shot.Rolling || shot.Roll != nil || !worked {
			return fmt.Errorf("supervisor %s is of generation %d, rolling %v; version %d has ended a job: %v", h.name, shot.Generation, shot.Rolling, y.version, worked)
		}
		return nil
	})
}

// works waits until so many more jobs have ended.
func (y *year) works(t *testing.T, jobs int) {
	t.Helper()
	want := count(y.ledger.all(t), "end") + jobs
	await(t, func() error {
		y.feed(t)
		if n := count(y.ledger.all(t), "end"); n < want {
			return fmt.Errorf("%d jobs have ended, want %d", n, want)
		}
		return nil
	})
}

// feed puts jobs if few are ready.
func (y *year) feed(t *testing.T) {
	t.Helper()
	if waiting, err := y.db.ZCard(t.Context(), "ql:q:work-work").Result(); err != nil || waiting > 40 {
		return
	}
	puts := make([]queue.Put, 40)
	for i := range puts {
		puts[i] = y.describe(t, work{MS: 10 + y.random.IntN(80)})
		retries(100)(&puts[i])
	}
	y.putAll(t, puts)
}

// orphaned reports whether the run may have been of a supervisor that was killed. Without guards its
// children outlive it until the next one finds them, and may begin then what was in their pipe.
func (y *year) orphaned(j job, run ledgerRun) bool {
	const found = 5 // seconds
	run.at -= found
	return y.diedWith(j, run)
}

// judge looks for reasons: of each run but a job's last, and of each retry that was paid.
func (y *year) judge(t *testing.T, jobs []job) {
	t.Helper()
	byJob, starved, paid, repeated, total := runs(y.ledger.all(t)), y.starved(t), y.paid(t, jobs), 0, 0
	for _, j := range jobs {
		rs := byJob[j.jid]
		for _, run := range rs[:max(0, len(rs)-1)] {
			repeated++
			if y.good[run.code] && !y.orphaned(j, run) && starved[run.run] == "" {
				t.Errorf("job %s ran again after run %s at %.3f on good code, version %d, whose supervisor was not killed: %+v", j.jid, run.run, run.at, run.code, j.history)
			}
		}
		met := 0 // times that it was popped for bad code
		for _, e := range j.history {
			if e.what == "popped" && slices.ContainsFunc(y.rolls, func(b badRoll) bool {
				return b.from <= e.at && e.at <= b.to && strings.Contains(e.worker, fmt.Sprintf("-%d-", b.pid))
			}) {
				met++
			}
		}
		if total += max(0, paid[j.jid]); paid[j.jid] > met {
			t.Errorf("job %s paid %d retries, and met bad code %d times: %+v", j.jid, paid[j.jid], met, j.history)
		}
	}
	for what, n := range y.counts {
		y.note(what, n)
	}
	y.note("runs_repeated", repeated, "retries_paid", total)
	y.check(t, allowed{twice: repeated})
}
