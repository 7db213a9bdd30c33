package integration

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"oarlock/queue"
)

// code is what an operator may roll out, by mistake or not.
type code struct {
	name string
	kind string // of testdata/edited.py; or
	text string // of the whole program; "" and no kind: there is none

	proves bool // a job of it is acknowledged, so the pool believes in it
	hangs  bool // at its trial, for a while
}

var (
	goodCode = code{name: "good", kind: "good", proves: true}
	badCodes = []code{
		{name: "is missing"},
		{name: "is not Python", text: brokenPrograms["is not Python"]},
		{name: "exits at once", text: "raise SystemExit(3)\n"},
		{name: "exits soon after its start", text: brokenPrograms["exits soon after its start"]},
		{name: "raises at each job", kind: "raises"},
		{name: "hangs at its start", text: brokenPrograms["hangs at its start"], hangs: true},
		{name: "hangs at each job", kind: "hangs", hangs: true},
		{name: "fails every second job", kind: "second", proves: true},
		{name: "turns bad at its 30th job", kind: "thirtieth", proves: true},
	}
)

// rollout is a pool whose operator rolls out one code after another while it works.
type rollout struct {
	*rig
	a        *supervisor
	pool     pool
	children int

	version    int          // of the code that was rolled out last
	bad        map[int]code // versions that are not good
	generation int          // that the pool is of, but for a roll under way
	replaced   []replaced
	least      map[bool]int // slots at work at every moment, by whether the new code had proven itself

	heard  int                     // lines of the log
	said   map[string]map[int]bool // by message and generation
	newest int                     // generation
	opened int                     // times that the breaker was
}

// replaced says that from a moment on no job begins on code before a version.
type replaced struct {
	at      float64
	version int
}

// TestRollsOfAllCodes rolls out code of every kind in each mode, by recycling to what is on the
// disk or by a reload to another program, and repairs it. However bad it is, at most one slot does
// no work until the code has proven itself, a quarter of them more after that; a job pays for bad
// ends on bad code only, and for none on code that never proved itself; and the repaired code takes
// over everywhere without a restart.
func TestRollsOfAllCodes(t *testing.T) {
	long(t, "54 rolls")
	for i, mode := range []string{"once", "reuse", "preload"} {
		t.Run(mode, func(t *testing.T) {
			row(t, "rolls, "+mode, rigOptions{lock: 10 * time.Second}, func(t *testing.T, r *rig) {
				o := r.rollout(t, mode, 8)
				codes := slices.Clone(badCodes)
				for range 50/2 - len(badCodes) {
					codes = append(codes, badCodes[r.random.IntN(len(badCodes))])
				}
				for n, c := range codes {
					// A fresh process is what the disk has: there only a reload leaves the old code in place.
					o.try(t, c, mode == "once" || (n+i+n/len(badCodes))%2 == 0)
					o.repair(t, mode == "once" || n%3 == 0)
				}
				o.judge(t)
				r.note("rolls", 2*len(codes))
				o.a.stop(t)
			})
		})
	}
}

// rollTimeout is how long a job of a rollout may take.
const rollTimeout = 4 * time.Second

// rollout starts a supervisor whose pool works good code.
func (r *rig) rollout(t *testing.T, mode string, children int) *rollout {
	t.Helper()
	o := &rollout{
		rig: r, children: children, generation: 1, bad: map[int]code{}, said: map[string]map[int]bool{},
		least: map[bool]int{false: children, true: children},
		pool:  pool{mode: mode, children: children, more: fmt.Sprintf("start_timeout = \"5s\"\ntimeout = %q", rollTimeout)},
	}
	o.write(t, goodCode, true)
	o.a = r.start(t, "a", o.pool)
	o.until(t, func() error { return o.everySlot(t, 0) })
	return o
}

// write makes code the next version: in a program of its own, or over the last one.
func (o *rollout) write(t *testing.T, c code, another bool) {
	t.Helper()
	o.version++
	if another {
		python := command(t, "edited.py")
		o.pool.command = append(python[:len(python)-1], filepath.Join(o.dir, fmt.Sprintf("program-%d.py", o.version)))
	}
	if c != goodCode {
		o.bad[o.version] = c
	}
	c.write(t, o.pool.command[len(o.pool.command)-1], o.version)
}

// write makes code the program at path.
func (c code) write(t *testing.T, path string, version int) {
	t.Helper()
	text := c.text
	if c.kind != "" {
		// runpy would take as long to import as Python to start.
		text = fmt.Sprintf("PATH = %q\nexec(compile(open(PATH).read(), PATH, \"exec\"), {\"__file__\": PATH, \"VERSION\": %d, \"KIND\": %q})\n", fixture(t, "edited.py"), version, c.kind)
	}
	err := os.WriteFile(path+".new", []byte(text), 0o600)
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	if err == nil && text == "" {
		err = os.Remove(path)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// rollOut rolls code out, and returns its generation.
func (o *rollout) rollOut(t *testing.T, c code, reload bool) int {
	t.Helper()
	o.write(t, c, reload)
	last := o.newest
	if reload {
		o.a.write(t, o.config(t, "a", o.pool))
		o.a.control(t, "reload")
	} else {
		o.a.control(t, "recycle", "work")
	}
	o.until(t, func() error {
		if o.newest == last {
			return fmt.Errorf("version %d, which %s, is not rolled out", o.version, c.name)
		}
		return nil
	})
	return o.newest
}

// try rolls out bad code while the pool works, and waits for what must become of it.
func (o *rollout) try(t *testing.T, c code, reload bool) {
	t.Helper()
	began, opened := now(), o.opened
	to := o.rollOut(t, c, reload)
	if c.hangs {
		o.until(t, func() error { return o.onTrial(t, to) })
	}
	switch {
	case c.kind == "hangs":
		o.begins(t, 2)
	case c.proves:
		o.hears(t, "new generation at work", to)
		o.generation = to
		if c.kind == "second" {
			o.begins(t, 10*o.children)
			break
		}
		o.until(t, func() error {
			if o.opened == opened {
				return fmt.Errorf("version %d, which %s, opens no breaker", o.version, c.name)
			}
			return nil
		})
	default:
		words := "new generation given up, the old one stays"
		if o.pool.mode == "once" {
			words = "new generation given up: in mode once each job starts what its command finds now, so mend that"
		}
		o.hears(t, words, to)
		goodAgain := now()
		o.until(t, func() error { return o.everySlot(t, goodAgain) })
		o.until(t, func() error { return o.settledDown(t) })
	}
	o.measure(t, c, began)
}

// repair rolls out good code, which takes over everywhere.
func (o *rollout) repair(t *testing.T, reload bool) {
	t.Helper()
	began := now()
	o.generation = o.rollOut(t, goodCode, reload)
	o.hears(t, "new generation at work", o.generation)
	o.until(t, func() error { return o.everySlot(t, began) })
	o.until(t, func() error { return o.settledDown(t) })
	o.replaced = append(o.replaced, replaced{now(), o.version})
	o.measure(t, goodCode, began)
}

// until keeps the pool in work until ok has nothing to say.
func (o *rollout) until(t *testing.T, ok func() error) {
	t.Helper()
	await(t, func() error {
		waiting, err := o.db.ZCard(t.Context(), "ql:q:work-work").Result()
		if err != nil {
			return err
		}
		if waiting < int64(10*o.children) {
			puts := make([]queue.Put, 10*o.children)
			for i := range puts {
				puts[i] = o.describe(t, work{MS: 40})
				retries(100)(&puts[i])
			}
			o.putAll(t, puts)
		}
		o.listen(t)
		return ok()
	})
}

// listen takes in what the log says of rolls.
func (o *rollout) listen(t *testing.T) {
	t.Helper()
	lines, _ := o.a.lines()
	for _, line := range lines[o.heard:] {
		if strings.Contains(line, "breaker open") {
			o.opened++
		}
		var told struct {
			Msg        string
			Generation int
		}
		if !strings.Contains(line, `"generation":`) {
			continue
		}
		if err := json.Unmarshal([]byte(line), &told); err != nil {
			t.Fatalf("log line %q: %v", line, err)
		}
		if o.said[told.Msg] == nil {
			o.said[told.Msg] = map[int]bool{}
		}
		o.said[told.Msg][told.Generation] = true
		if told.Msg == "rolling in a new generation" {
			o.newest = told.Generation
		}
	}
	o.heard = len(lines)
}

// hears waits until the log says that of a generation.
func (o *rollout) hears(t *testing.T, what string, generation int) {
	t.Helper()
	o.until(t, func() error {
		if !o.said[what][generation] {
			return fmt.Errorf("version %d (%s): the log does not say %q of generation %d", o.version, o.bad[o.version].name, what, generation)
		}
		return nil
	})
}

// begins waits until so many jobs have begun on the newest version.
func (o *rollout) begins(t *testing.T, n int) {
	t.Helper()
	o.until(t, func() error {
		begun := 0
		for _, e := range o.ledger.all(t) {
			if e.what == "begin" && e.code == o.version {
				begun++
			}
		}
		if begun < n {
			return fmt.Errorf("%d jobs have begun on version %d, want %d", begun, o.version, n)
		}
		return nil
	})
}

// everySlot says which slots have ended no job on good code since a moment: on the newest version,
// unless that is bad.
func (o *rollout) everySlot(t *testing.T, since float64) error {
	slots := map[int]bool{}
	_, bad := o.bad[o.version]
	for _, e := range o.ledger.all(t) {
		if e.what == "end" && e.at > since && (e.code == o.version || bad) {
			slots[e.slot] = true
		}
	}
	if len(slots) < o.children {
		return fmt.Errorf("of %d slots these have ended a job on good code (version %d): %v", o.children, o.version, slices.Sorted(maps.Keys(slots)))
	}
	return nil
}

// rolling is what the status says of a pool and its roll.
type rolling struct {
	Generation int
	Rolling    bool
	Roll       *struct {
		From, To    int
		Changed, Of int
		OnTrial     bool `json:"on_trial"`
	}
	Slots []struct {
		Slot       int
		State      string
		Generation int
	}
}

func (o *rollout) rolling(t *testing.T) rolling {
	t.Helper()
	shot := got(o.a.rolling())(t)
	return shot
}

// rolling asks the supervisor for the status of its pool.
func (s *supervisor) rolling() (rolling, error) {
	program, err := binary()
	if err != nil {
		return rolling{}, err
	}
	var said strings.Builder
	cmd := exec.Command(program, "status", "--json", "-c", s.config)
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return rolling{}, fmt.Errorf("%w: %s", err, said.String())
	}
	var shot struct{ Pools []rolling }
	if err = json.Unmarshal(out, &shot); err == nil && len(shot.Pools) != 1 {
		err = fmt.Errorf("the status has %d pools", len(shot.Pools))
	}
	if err != nil {
		return rolling{}, err
	}
	return shot.Pools[0], nil
}

// onTrial says what the status lacks of a roll on trial, whose code hangs.
func (o *rollout) onTrial(t *testing.T, to int) error {
	t.Helper()
	shot := o.rolling(t)
	if r := shot.Roll; !shot.Rolling || r == nil || r.From != o.generation || r.To != to || !r.OnTrial || r.Of != o.children || r.Changed > 1 || shot.Generation != o.generation {
		return fmt.Errorf("the status tells of generation %d, roll %+v; want %d, on trial from there to %d, of %d slots", shot.Generation, r, o.generation, to, o.children)
	}
	tries := map[int]bool{}
	for _, slot := range shot.Slots {
		if slot.Generation == to {
			tries[slot.Slot] = true
		}
	}
	if len(tries) != 1 {
		return fmt.Errorf("slots %v try generation %d, want one", slices.Sorted(maps.Keys(tries)), to)
	}
	return nil
}

// settledDown says what the status lacks of a pool whose slots are all of its generation.
func (o *rollout) settledDown(t *testing.T) error {
	t.Helper()
	shot := o.rolling(t)
	if shot.Rolling || shot.Roll != nil || shot.Generation != o.generation {
		return fmt.Errorf("the status tells of generation %d, roll %+v; want %d and no roll", shot.Generation, shot.Roll, o.generation)
	}
	for _, slot := range shot.Slots {
		if slot.Generation != o.generation && slot.State != "leaving" {
			return fmt.Errorf("slot %d is of generation %d, want %d", slot.Slot, slot.Generation, o.generation)
		}
	}
	return nil
}

// measure counts the slots that were at work since a roll began. Code under a breaker, and what
// follows it until a job ends well, works slowly on purpose.
func (o *rollout) measure(t *testing.T, c code, began float64) {
	t.Helper()
	entries, ended := o.ledger.all(t), now()
	proven := ended
	for _, e := range entries {
		if e.what == "end" && e.code == o.version {
			proven = min(proven, e.at)
		}
	}
	if before := o.bad[o.version-1]; before.kind == "thirtieth" {
		began = proven
	}
	untried, when := atWork(entries, began, proven, o.children)
	if untried < o.children-1 {
		t.Errorf("while version %d (%s) was on trial, from %.3f to %.3f, %d of %d slots were at work, want %d at least: %v", o.version, c.name, began, proven, untried, o.children, o.children-1, when)
	}
	tried, when := atWork(entries, proven, ended, o.children)
	if least := o.children - 1 - max(1, o.children/4); tried < least {
		t.Errorf("after version %d (%s) was proven, from %.3f to %.3f, %d of %d slots were at work, want %d at least: %v", o.version, c.name, proven, ended, tried, o.children, least, when)
	}
	o.least[false], o.least[true] = min(o.least[false], untried), min(o.least[true], tried)
}

// restful is how long a slot may end no job, in seconds of fair time, and still be at work.
const restful = 1.5

// rest is a time without an end of a job in a slot.
type rest struct {
	slot     int
	from, to float64
}

// atWork returns how many of the slots were at work at every moment between two, and when which was not.
func atWork(entries []entry, from, to float64, slots int) (least int, rests []rest) {
	last := make([]float64, slots)
	ends := func(slot int, at float64) {
		if since := max(last[slot], from); at > since && fairly(since, at) > restful {
			rests = append(rests, rest{slot, since + restful, at})
		}
		last[slot] = at
	}
	for _, e := range entries {
		if e.at <= to && (e.what == "end" || e.what == "fail") {
			ends(e.slot, e.at)
		}
	}
	for slot := range slots {
		ends(slot, to)
	}
	least = slots
	for _, r := range rests { // at the begin of one there are the most
		n := slots
		for _, other := range rests {
			if other.from <= r.from && r.from < other.to {
				n--
			}
		}
		least = min(least, n)
	}
	return least, rests
}

// Slots that rest one after the other are not those that rest at once.
func TestAtWork(t *testing.T) {
	end := func(slot int, at float64) entry { return entry{what: "end", slot: slot, at: at} }
	busy := func(slot int, from, to float64) (entries []entry) {
		for at := from; at <= to; at++ {
			entries = append(entries, end(slot, at))
		}
		return entries
	}
	tests := []struct {
		name    string
		entries []entry
		want    int
	}{
		{"all work", slices.Concat(busy(0, 0, 10), busy(1, 0, 10)), 2},
		{"one never does", busy(0, 0, 10), 1},
		{"one stops", slices.Concat(busy(0, 0, 10), busy(1, 0, 5)), 1},
		{"one after the other rests", slices.Concat(busy(0, 0, 2), busy(0, 5, 10), busy(1, 0, 6), busy(1, 9, 10)), 1},
		{"both at once", slices.Concat(busy(0, 0, 2), busy(0, 6, 10), busy(1, 0, 3), busy(1, 7, 10)), 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got, when := atWork(tt.entries, 0, 10, 2); got != tt.want {
				t.Errorf("%d slots are at work, want %d: %v", got, tt.want, when)
			}
		})
	}
}

// bringForward makes jobs ready that wait for their time: those that a breaker spared wait for long.
func (r *rig) bringForward(t testing.TB) {
	t.Helper()
	const scheduled = "ql:q:work-scheduled"
	jids, err := r.db.ZRange(t.Context(), scheduled, 0, -1).Result()
	for _, jid := range jids {
		err = errors.Join(err, r.db.ZAddXX(t.Context(), scheduled, redis.Z{Score: 1, Member: jid}).Err())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// judge looks at all jobs in the end.
func (o *rollout) judge(t *testing.T) {
	t.Helper()
	o.bringForward(t)
	jobs := o.settled(t)
	allDone(t, jobs)
	entries := o.ledger.all(t)
	byJob, repeated, owed := runs(entries), 0, map[string]int{}
	slow := o.robbed(t, `"group":"timeout"`, rollTimeout, 0.5)
	for _, jid := range slow {
		owed[jid]++
	}
	for jid, rs := range byJob {
		onTrial := map[int]bool{}
		for i, run := range rs {
			c, bad := o.bad[run.code]
			if i < len(rs)-1 && !bad && slow[run.run] == "" {
				t.Errorf("job %s ran again after run %s on good code, version %d", jid, run.run, run.code)
			}
			if bad && !run.ended {
				if c.proves || onTrial[run.code] {
					owed[jid]++
				}
				onTrial[run.code] = true
			}
		}
		if len(rs) > 1 {
			repeated++
		}
	}
	paid, total := o.paid(t, jobs), 0
	for jid, n := range paid {
		total += max(0, n)
		if n > owed[jid] {
			t.Errorf("job %s paid %d retries, and ended badly %d times on code that has to be paid for: %+v", jid, n, owed[jid], byJob[jid])
		}
	}
	for _, e := range entries {
		for _, r := range o.replaced {
			if e.what == "begin" && e.at > r.at && e.code < r.version {
				t.Errorf("job %s began on version %d after version %d had taken over everywhere", e.jid, e.code, r.version)
			}
		}
	}
	o.note("retries_paid", total, "at_work_on_trial", o.least[false], "at_work_after", o.least[true], "of", o.children)
	o.check(t, allowed{twice: repeated})
}
