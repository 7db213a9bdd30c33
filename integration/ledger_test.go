package integration

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// entry is one line of the ledger: what a handler did, as it did it.
type entry struct {
	jid     string
	attempt int
	run     string
	what    string  // begin, beat, end, or fail for a bad one
	at      float64 // seconds of CLOCK_BOOTTIME, the same clock in all processes
	pid     int
	paid    int // retries that the job had paid when this run began; not all handlers say it
	code    int // version of the handler's code, and slot of its child; few say it
	slot    int
}

// ledger reads the file that all handlers of a rig append to.
type ledger struct {
	path string

	mu      sync.Mutex
	offset  int64
	entries []entry
}

func newLedger(t testing.TB) *ledger {
	t.Helper()
	l := &ledger{path: filepath.Join(t.TempDir(), "ledger")}
	must(t, os.WriteFile(l.path, nil, 0o666))
	return l
}

// all returns the whole ledger as it is now. The caller must not change it.
func (l *ledger) all(t testing.TB) []entry {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	must(t, l.readOn())
	return l.entries[:len(l.entries):len(l.entries)]
}

// readOn reads the whole lines that were added since the last time.
func (l *ledger) readOn() error {
	f, err := os.Open(l.path)
	if err != nil {
		return err
	}
	defer f.Close()
	text, err := io.ReadAll(io.NewSectionReader(f, l.offset, 1<<40))
	if err != nil {
		return err
	}
	for {
		line, rest, whole := bytes.Cut(text, []byte("\n"))
		if !whole {
			return nil
		}
		var e entry
		into := []any{&e.jid, &e.attempt, &e.run, &e.what, &e.at, &e.pid, &e.paid, &e.code, &e.slot}
		if n, err := fmt.Sscan(string(line), into...); n < 6 {
			return fmt.Errorf("ledger line %q: %w", line, err)
		}
		l.entries = append(l.entries, e)
		l.offset += int64(len(line)) + 1
		text = rest
	}
}

// await returns the ledger once ok says yes to it. It waits for as long as lines are added, with patience.
func (l *ledger) await(t testing.TB, what string, ok func([]entry) bool) []entry {
	t.Helper()
	for seen, late := 0, time.Now(); ; time.Sleep(15 * time.Millisecond) {
		entries := l.all(t)
		if ok(entries) {
			return entries
		}
		if len(entries) > seen {
			seen, late = len(entries), time.Now()
		} else if time.Since(late) > patience {
			t.Fatalf("the ledger (%d lines) does not show %s", seen, what)
		}
	}
}

// within is await with a bound, as the function within has one.
func (l *ledger) within(t testing.TB, bound time.Duration, what string, ok func([]entry) bool) []entry {
	t.Helper()
	var entries []entry
	within(t, bound, func() error {
		if entries = l.all(t); !ok(entries) {
			return fmt.Errorf("the ledger (%d lines) does not show %s", len(entries), what)
		}
		return nil
	})
	return entries
}

// begun and ended count the lines of a kind; as conditions they ask for n of them.
func begun(n int) func([]entry) bool { return func(es []entry) bool { return count(es, "begin") >= n } }
func ended(n int) func([]entry) bool { return func(es []entry) bool { return count(es, "end") >= n } }

func count(entries []entry, what string) (n int) {
	for _, e := range entries {
		if e.what == what {
			n++
		}
	}
	return n
}

// since returns the entries later than at.
func since(entries []entry, at float64) []entry {
	return slices.DeleteFunc(slices.Clone(entries), func(e entry) bool { return e.at <= at })
}

// ledgerRun is one run of a job, put together from its lines.
type ledgerRun struct {
	entry         // of its begin
	last  float64 // its latest sign of life
	ended bool
}

// runs returns the runs of each job in the order in which they began.
func runs(entries []entry) map[string][]ledgerRun {
	byRun := make(map[string]*ledgerRun)
	for _, e := range entries {
		r := byRun[e.run]
		if r == nil {
			r = &ledgerRun{entry: e}
			byRun[e.run] = r
		}
		r.last = max(r.last, e.at)
		r.ended = r.ended || e.what == "end"
	}
	byJob := make(map[string][]ledgerRun)
	for _, r := range byRun {
		byJob[r.jid] = append(byJob[r.jid], *r)
	}
	for _, rs := range byJob {
		slices.SortFunc(rs, func(a, b ledgerRun) int { return cmp.Compare(a.at, b.at) })
	}
	return byJob
}

// begunTwice counts the jobs that were begun more than once.
func begunTwice(entries []entry) (n int) {
	for _, rs := range runs(entries) {
		if len(rs) > 1 {
			n++
		}
	}
	return n
}

// overlap returns the longest time in seconds that two runs of one job lived side
// by side, and that job; a negative or zero time means none did.
func overlap(entries []entry) (longest float64, jid string) {
	for j, rs := range runs(entries) {
		for i := 1; i < len(rs); i++ {
			if over := rs[i-1].last - rs[i].at; over > longest {
				longest, jid = over, j
			}
		}
	}
	return longest, jid
}

// now is the clock of the ledger.
func now() float64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		panic(err) // every Linux since 2.6.39 has it
	}
	return float64(ts.Nano()) / 1e9
}
