package integration

import (
	"bytes"
	"crypto/sha1"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"oarlock/internal/faultproxy"
	"oarlock/queue"
)

// lossy works n jobs off while one reply in twenty is executed and then lost.
func lossy(t *testing.T, r *rig, n, children int, w work) []job {
	r.loseReplies(0.05)
	r.put(t, n, w)
	a := r.start(t, "a", pool{children: children})
	jobs := r.settled(t)
	if r.proxy.Dropped() == 0 {
		t.Error("no reply was lost: the row shows nothing")
	}
	r.note("lost_replies", r.proxy.Dropped())
	r.loseReplies(0)
	r.nothingHeld(t)
	a.neverSaid(t, "lock lost")
	return jobs
}

// loseReplies lets Redis execute scripts, and drops this share of what it answers.
func (r *rig) loseReplies(share float64) { r.proxy.Drop(share, "evalsha", r.random.Uint64()) }

// nothingHeld waits until Redis holds no lock, neither in queues nor for workers.
func (r *rig) nothingHeld(t testing.TB) {
	t.Helper()
	within(t, 2*time.Second, func() error {
		workers, err := r.db.Keys(t.Context(), "ql:w:*:jobs").Result()
		if err != nil {
			return err
		}
		locks, err := r.db.ZCard(t.Context(), "ql:q:work-locks").Result()
		if err == nil && (locks > 0 || len(workers) > 0) {
			err = fmt.Errorf("%d jobs are locked, and %v hold some", locks, workers)
		}
		return err
	})
}

func repliesOfTakeLost(children int) func(t *testing.T, r *rig) {
	return func(t *testing.T, r *rig) {
		jobs := lossy(t, r, scaled(500, 2000), children, work{MS: 1})
		r.doneFree(t, jobs)
		r.check(t, allowed{})
	}
}

func repliesOfCompleteLost(t *testing.T, r *rig) {
	jobs := lossy(t, r, 1500, 4, work{MS: 5})
	r.doneFree(t, jobs)
	r.check(t, allowed{})
}

func repliesOfRetryLost(t *testing.T, r *rig) {
	// Of three jobs one asks for a retry in its first attempt, one fails, and one is done at
	// once: a pool where nothing is ever done would be stopped by its breaker.
	n := 1500 / 3
	again := r.describe(t, work{MS: 2, Say: map[string]any{"@": "retry", "delay": 0}, Once: true})
	bad := r.describe(t, work{MS: 2, Say: map[string]any{"@": "fail", "group": "told"}})
	plain := r.describe(t, work{MS: 2})
	var puts []queue.Put
	for range n {
		puts = append(puts, again, bad, plain)
	}
	r.putAll(t, puts)
	jobs := lossy(t, r, 0, 4, work{})
	byJob := runs(r.ledger.all(t))
	for i, j := range jobs {
		state, want := "complete", 1
		switch i % 3 {
		case 0:
			want = 2
		case 1:
			state = "failed"
		}
		rs := byJob[j.jid]
		if j.state != state || len(rs) != want || rs[want-1].paid != want-1 {
			t.Errorf("job %s is %s after the runs %+v, want %s after %d, the last of them after %d paid retries",
				j.jid, j.state, rs, state, want, want-1)
		}
		if popped, settled := j.settlements(); state == "failed" && (popped != 1 || settled != 1) {
			t.Errorf("job %s was popped %d times and failed %d times, want once", j.jid, popped, settled)
		}
	}
	r.check(t, allowed{twice: n})
}

func repliesTorn(t *testing.T, r *rig) {
	r.proxy.Tear(0.03, r.random.Uint64())
	r.put(t, 1000, work{MS: 10})
	r.put(t, 2, work{MS: 5000, Beat: 50}) // renewed several times
	r.start(t, "a", pool{})
	jobs := r.settled(t)
	r.note("torn_replies", r.proxy.Torn())
	r.doneFree(t, jobs)

	// Renewals that Redis executes and whose replies are torn extend no lease.
	const children = 4
	r.proxy.Tear(0, 0)
	before := count(r.ledger.all(t), "begin")
	r.put(t, children, work{MS: 5000, Beat: 20})
	r.ledger.await(t, "all begun", begun(before+children))
	last(lock / 2)
	torn := now()
	r.proxy.Tear(1, r.random.Uint64())
	last(2 * lock)
	entries := r.ledger.all(t)
	latest := entries[len(entries)-1].at
	lived := latest - torn - gone(torn, latest)
	r.note("worked_on", lived)
	if lived > lock.Seconds() {
		t.Errorf("children worked on for %.2f s after the last renewal was confirmed; their locks lasted %v", lived, lock)
	}
	r.proxy.Tear(0, 0)
	jobs = r.settled(t)
	allDone(t, jobs)
	uncountedByDoubt(t, jobs)
	r.check(t, allowed{twice: children})
}

func shortBlackHole(t *testing.T, r *rig) {
	r.proxy.Hold(faultproxy.Requests)
	r.proxy.Hold(faultproxy.Replies)
	last(time.Second)
	r.proxy.Release(faultproxy.Requests)
	r.proxy.Release(faultproxy.Replies)
}

// cutOff lets supervisor A lose sight of Redis in the middle of long jobs, while B
// sees it: A's children must be dead before B begins the jobs anew.
func cutOff(ways ...faultproxy.Direction) func(t *testing.T, r *rig) {
	return func(t *testing.T, r *rig) {
		const children = 4
		r.put(t, children, work{MS: 8000, Beat: 20, Once: true})
		a := r.begins(t, pool{children: children}, children)
		direct := strings.Replace(r.config(t, "b", pool{children: children}), r.url, r.redis.URL, 1)
		r.startConfig(t, "b", direct)
		last(lock) // at least one renewal of each lock has come and gone
		cut := now()
		for _, way := range ways {
			r.proxy.Hold(way)
		}
		last(6 * time.Second)
		entries := r.ledger.await(t, "that B took over", begun(2*children))
		for _, way := range ways {
			r.proxy.Release(way)
		}
		over, _ := overlap(entries)
		r.note("overlap", max(0, over))
		lived := 0.0
		for _, rs := range runs(entries) {
			lived = max(lived, rs[0].last-cut-gone(cut, rs[0].last))
		}
		r.note("a_lived_on", lived)
		if lived > lock.Seconds() { // the last renewal was sent before the cut
			t.Errorf("A's children worked on for %.2f s after it was cut off; their locks lasted %v", lived, lock)
		}
		jobs := r.settled(t)
		allDone(t, jobs)
		for _, j := range jobs {
			if popped, settled := j.settlements(); settled != 1 || popped < 2 {
				t.Errorf("job %s was popped %d times and settled %d times, want 2 and 1", j.jid, popped, settled)
			}
		}
		a.stop(t)
		r.check(t, allowed{twice: children, overlap: 0.01})
	}
}

func connectionsReset(t *testing.T, r *rig) {
	n := 5000
	r.put(t, n, work{MS: 20})
	r.begins(t, pool{}, 10)
	from, before := now(), count(r.ledger.all(t), "end")
	r.ledger.await(t, "jobs without resets", ended(before+100))
	undisturbed := 100 / (now() - from)
	from, before = now(), count(r.ledger.all(t), "end")
	resets := 100
	for range resets {
		r.proxy.Cut()
		last(time.Duration(34 / undisturbed * float64(time.Second))) // 0.2 s where nobody else needs the machine
	}
	seconds := now() - from
	perSecond := float64(count(r.ledger.all(t), "end")-before) / seconds
	jobs := r.settled(t)
	entries := r.ledger.all(t)
	after := rate(since(entries, from+seconds), endedJIDs(since(entries, from+seconds)))
	r.note("resets", resets, "per_s", perSecond, "baseline_per_s", min(undisturbed, after))
	if !(perSecond >= 0.25*min(undisturbed, after)) {
		t.Errorf("%.0f jobs a second under resets, %.0f without: less than a quarter", perSecond, min(undisturbed, after))
	}
	r.nothingHeld(t)
	r.doneFree(t, jobs)
	r.check(t, allowed{})
}

// endedJIDs returns the jobs that have an end among the entries.
func endedJIDs(entries []entry) (jids []string) {
	for _, e := range entries {
		if e.what == "end" {
			jids = append(jids, e.jid)
		}
	}
	return jids
}

// At 8 kB a second the largest script alone takes a quarter of a minute, and an answer
// too much of a lock of five seconds, of which a busy machine needs some, too.
func slowNetwork(t *testing.T, r *rig) {
	r.put(t, 100, work{MS: 20})
	r.put(t, 1, work{MS: 11_000})
	r.proxy.Delay(250*time.Millisecond, 50*time.Millisecond)
	r.proxy.Slice(1)
	r.proxy.Limit(8_000)
	// A child that may take long to stop must be asked before an answer can be there.
	r.start(t, "a", pool{grace: "200ms"})
	r.finish(t, allowed{})
}

func connectionRefused(t *testing.T, r *rig) {
	r.put(t, 40, work{MS: 5})
	config := r.config(t, "a", pool{})
	_, table, _ := strings.Cut(config, "[pools.work]")
	for i := range 3 { // beside the one that works: they share a gate
		config += strings.NewReplacer(`"work"`, fmt.Sprintf(`"idle%d"`, i), "pools.work", fmt.Sprint("pools.idle", i)).Replace("[pools.work]" + table)
	}
	a := r.startConfig(t, "a", config)
	r.settled(t)
	before := a.footprint(t)
	// A port behind which nobody answers: each dial can be counted.
	dialed := r.proxy.Dialed()
	r.proxy.Retarget("unix", r.dir+"/nobody")
	r.proxy.Cut()
	away := 60 * time.Second
	last(away)
	tries := r.proxy.Dialed() - dialed
	r.proxy.Retarget("unix", r.redis.Addr)
	r.note("dials", tries, "away", away)
	if most := 40; tries > most || tries == 0 {
		t.Errorf("%d dials within %v, want some and at most %d", tries, away, most)
	}
	back := now()
	r.put(t, 40, work{MS: 5})
	r.resumed(t, back)
	allDone(t, r.settled(t))
	r.givenBack(t, []footprint{before})
	r.check(t, allowed{})
}

// A supervisor that had to wait for Redis at its start says that it is ready as soon as it is.
func TestReadyAfterASlowStart(t *testing.T) {
	row(t, "slow start", rigOptions{proxy: true}, func(t *testing.T, r *rig) {
		r.proxy.Hold(faultproxy.Replies)
		a := r.start(t, "a", pool{})
		a.said(t, `"msg":"supervising"`) // a machine that is busy may take a while to start it
		last(1500 * time.Millisecond)
		r.proxy.Release(faultproxy.Replies)
		answered := now()
		a.said(t, `"msg":"ready"`)
		r.bound(t, "ready_after", answered, now(), 0.5)
		a.stop(t)
	})
}

// redisMoves: the address that supervisors know leads elsewhere from now on: to the same data.
func redisMoves(t *testing.T, r *rig) {
	moved := r.redis.Addr + ".moved"
	must(t, os.Rename(r.redis.Addr, moved))
	r.proxy.Cut()
	last(500 * time.Millisecond)
	r.proxy.Retarget("unix", moved)
	must(t, os.Symlink(moved, r.redis.Addr)) // for our own look at it
}

func noticesLost(t *testing.T, r *rig) {
	jid := r.put(t, 1, work{MS: 30_000, Beat: 20})[0]
	r.begins(t, pool{}, 1)
	r.proxy.Intercept(func(d faultproxy.Direction, data []byte) []byte {
		if d == faultproxy.Replies && bytes.Contains(data, []byte("\r\nmessage\r\n")) {
			return []byte{} // what was published never comes
		}
		return data
	})
	must(t, r.client.Cancel(t.Context(), jid))
	canceled := now()
	r.jids = nil
	await(t, func() error {
		if n := len(since(r.ledger.all(t), now()-0.2)); n > 0 {
			return fmt.Errorf("the child of a cancelled job is at work")
		}
		return nil
	})
	entries := r.ledger.all(t)
	r.bound(t, "noticed_after", canceled, entries[len(entries)-1].at, (lock/3 + 200*time.Millisecond).Seconds())
}

func repliesOfPutLost(t *testing.T, r *rig) {
	r.loseReplies(0.3)
	calls, repeats := scaled(10, 40), 0
	for call := range calls {
		var lines bytes.Buffer
		for i := range 25 {
			jid := fmt.Sprintf("call-%d-job-%d", call, i)
			r.jids = append(r.jids, jid)
			fmt.Fprintf(&lines, "{\"jid\": %q, \"data\": {\"ms\": 1}}\n", jid)
		}
		// As a script would: again until it says that all is well.
		for {
			put := exec.Command(oarlock(t), "put", "work", "--jobs", "--file", "-", "--redis", r.url)
			put.Env = append(os.Environ(), r.mark)
			put.Stdin = bytes.NewReader(lines.Bytes())
			if out, err := put.CombinedOutput(); err == nil {
				break
			} else if repeats++; repeats > 10*calls {
				t.Fatalf("put fails again and again: %v\n%s", err, out)
			}
		}
	}
	r.note("lost_replies", r.proxy.Dropped(), "repeats", repeats)
	if r.proxy.Dropped() == 0 {
		t.Error("no reply was lost: the row shows nothing")
	}
	r.loseReplies(0)
	r.start(t, "a", pool{})
	allDone(t, r.settled(t))
	r.check(t, allowed{})
}

func manySupervisorsWait(t *testing.T, r *rig) {
	n, seconds := 20, 15
	r.put(t, n, work{MS: 1000 * seconds})
	for i := range n {
		r.start(t, fmt.Sprint("s", i), pool{children: 1})
	}
	r.ledger.await(t, "a begun job of each", begun(n))
	r.put(t, 200*n, work{MS: 5})
	r.proxy.Refuse()
	r.proxy.Cut()
	last(time.Duration(seconds+2) * time.Second) // all verdicts come while Redis is away, and are held
	calls := r.listen("renew", "exchange")
	r.proxy.Accept()
	r.finish(t, allowed{})
	first, renewedFirst, early, pops := make(map[string]string), 0, 0, 0
	heard := calls()
	for _, c := range heard {
		if first[c.pid] == "" {
			first[c.pid] = c.script
			if c.script == "renew" {
				renewedFirst++
			}
		}
		if c.script == "exchange" {
			pops++
			if c.at < heard[0].at+1 {
				early++
			}
		}
	}
	if renewedFirst != n {
		t.Errorf("%d of %d supervisors renewed before they took", renewedFirst, n)
	}
	steady := float64(pops) / (heard[len(heard)-1].at - heard[0].at)
	if float64(early) > 3*steady {
		t.Errorf("%d calls in the first second, %.0f a second in all: more than three times as many", early, steady)
	}
	r.note("supervisors", n, "renewed_first", renewedFirst, "calls_in_first_s", early, "calls_per_s", steady)
}

// call is a script that a supervisor asked Redis to run.
type call struct {
	at          float64
	script, pid string
	text        string // of the request, or its first part
}

// listen notes which of these scripts supervisors call from now on, through the proxy.
func (r *rig) listen(scripts ...string) (calls func() []call) {
	names := make(map[string]string) // by the script's SHA
	for _, name := range scripts {
		text, _ := queue.Script(queue.Batch, name, queue.DefaultNamespace)
		names[fmt.Sprintf("%x", sha1.Sum([]byte(text)))] = name
	}
	var mu sync.Mutex
	var heard []call
	r.proxy.Intercept(func(d faultproxy.Direction, data []byte) []byte {
		if d == faultproxy.Requests {
			if m := scriptCall.FindSubmatch(data); m != nil && names[string(m[1])] != "" {
				mu.Lock()
				defer mu.Unlock()
				heard = append(heard, call{now(), names[string(m[1])], string(m[2]), string(data)})
			}
		}
		return data
	})
	return func() []call {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(heard)
	}
}

// scriptCall finds the SHA of the script and the pid in the worker's name.
var scriptCall = regexp.MustCompile(`(?s)evalsha\r\n\$40\r\n([0-9a-f]{40}).*?-(\d+)-work-`)
