package integration

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// TestRecyclingAndRolling works jobs off while children are recycled by their number
// of jobs and a rolling change comes every two seconds: no job is lost, failed or
// run twice, no child works more than it should, and a new child is there when the old
// one leaves: its slot is without a job for no longer than one takes.
func TestRecyclingAndRolling(t *testing.T) {
	long(t, "it measures gaps between jobs")
	row(t, "rolling", rigOptions{}, func(t *testing.T, r *rig) {
		const each, length = 50, 40 * time.Millisecond
		n := 10_000
		r.put(t, n, work{MS: int(length.Milliseconds())})
		a := r.start(t, "a", pool{children: 4, worker: "tells-its-slot.py", more: fmt.Sprint("max_jobs = ", each)})
		rolls := 0
		every := time.NewTicker(2 * time.Second)
		defer every.Stop()
		for {
			<-every.C
			if count(r.ledger.all(t), "end") >= n {
				break
			}
			a.control(t, "recycle")
			rolls++
		}
		jobs := r.settled(t)
		r.doneFree(t, jobs)
		entries := r.ledger.all(t)
		worked := make(map[int]int) // jobs by child
		for _, e := range entries {
			if e.what == "begin" {
				worked[e.pid]++
			}
		}
		for pid, jobs := range worked {
			if jobs > each {
				t.Errorf("child %d worked %d jobs, want %d at most", pid, jobs, each)
			}
		}
		r.note("rolls", rolls, "children", len(worked))
		within, between := gaps(entries)
		r.note("handovers", len(between), "gap_at_handover_ms", 1000*slices.Max(between), "gap_within_a_child_ms", 1000*slices.Max(within))
		r.note("gaps_at_handover_p99_ms", 1000*percentile(between, 0.99), "gaps_within_a_child_p99_ms", 1000*percentile(within, 0.99))
		// What the machine does to a child that just goes on, it does to a handover; and on a busy one a start of Python may take longer than
		// the last jobs of the old child. Were the new one not begun before, each handover would wait for its start.
		most := max(length.Seconds(), slices.Max(within))
		late := slices.DeleteFunc(slices.Sorted(slices.Values(between)), func(gap float64) bool { return gap <= most })
		if len(late) > len(between)/2 {
			t.Errorf("%d of %d slots had no job for %.3f s when their children were replaced, want %.3f s at most", len(late), len(between), late, most)
		}
		r.check(t, allowed{})
		a.stop(t)
	})
}

// gaps returns for how long each slot had no job between two of them, in seconds of fair time: of
// one child, and of one child and the next.
func gaps(entries []entry) (within, between []float64) {
	slots := make(map[int]string) // by pid; a child says it before all else
	last := make(map[string]entry)
	for _, e := range entries {
		switch e.what {
		case "boot":
			slots[e.pid] = e.run
		case "end":
			last[slots[e.pid]] = e
		case "begin":
			before, ok := last[slots[e.pid]]
			switch {
			case !ok:
			case before.pid == e.pid:
				within = append(within, fairly(before.at, e.at))
			default:
				between = append(between, fairly(before.at, e.at))
			}
		}
	}
	return within, between
}

// percentile returns the value that so large a share of them does not exceed.
func percentile(values []float64, share float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[int(share*float64(len(sorted)-1))]
}

// control speaks to the running supervisor with one command of the program.
func (s *supervisor) control(t testing.TB, verb ...string) string {
	t.Helper()
	return ran(t, exec.Command(oarlock(t), append(verb, "-c", s.config)...))
}

// TestDrainReloadRestartUnderLoad drains, reloads and restarts a supervisor again
// and again while it works: none of it costs a job a retry.
func TestDrainReloadRestartUnderLoad(t *testing.T) {
	row(t, "deploys", rigOptions{}, func(t *testing.T, r *rig) {
		n := scaled(300, 6000)
		r.put(t, n, work{MS: 10})
		changed := 0
		for at := 100; at < n; at += 100 {
			p := pool{more: "max_jobs = " + string(rune('1'+changed%9)) + "00"}
			a := r.start(t, "a", p)
			r.ledger.await(t, "50 more jobs ended", ended(at-50))
			changed++
			p.more = "max_jobs = " + string(rune('1'+changed%9)) + "00"
			a.write(t, r.config(t, "a", p)) // a reload, by itself
			r.ledger.await(t, "50 more jobs ended", ended(at))
			a.stop(t)
		}
		r.start(t, "a", pool{})
		r.finish(t, allowed{})
		r.note("restarts", changed)
	})
}

// Programs that stand in the place of one that works: each is written over it.
var brokenPrograms = map[string]string{
	"hangs at its start":         "import time\ntime.sleep(600)\n",
	"exits soon after its start": "import sys, time\nprint('{\"@\":\"hello\",\"v\":[1]}', flush=True)\ntime.sleep(0.5)\nsys.exit(1)\n",
	"is not Python":              "def work(:\n",
	"raises at each job": `import json, sys
print('{"@":"hello","v":[1]}', flush=True)
for line in sys.stdin:
    job = json.loads(line)
    if job.get("@") == "job":
        print(json.dumps({"@": "fail", "run": job["run"], "raised": True, "group": "Error"}), flush=True)
`,
}

// TestBadNewCode recycles a pool at work to programs that hang, leave, do not start or
// raise at each job: the old children go on, no slot is lost, and no job pays for it. The
// next good program is at work at once.
func TestBadNewCode(t *testing.T) {
	long(t, "it waits for programs that hang")
	row(t, "badcode", rigOptions{}, func(t *testing.T, r *rig) {
		program := filepath.Join(r.dir, "program.py")
		write := func(text string) {
			t.Helper()
			must(t, os.WriteFile(program, []byte(text), 0o600))
		}
		good := fmt.Sprintf("import runpy\nprint('{\"@\":\"hello\",\"v\":[1]}', flush=True)\nrunpy.run_path(%q)\n", fixture(t, "worker.py"))
		write(good)
		python := command(t, "worker.py")
		a := r.start(t, "a", pool{command: append(python[:len(python)-1], program), more: "start_timeout = \"8s\""})
		r.put(t, 100, work{MS: 10})
		jobs := 100
		r.ledger.await(t, "all jobs of the good program ended", ended(jobs))
		generation := 1
		for _, name := range []string{"hangs at its start", "exits soon after its start", "is not Python", "raises at each job"} {
			write(brokenPrograms[name])
			a.control(t, "recycle")
			generation++
			r.put(t, 100, work{MS: 10})
			jobs += 100
			r.ledger.await(t, name+": the old children worked all jobs", ended(jobs))
			givenUp := []string{"new generation given up", fmt.Sprintf(`"generation":%d`, generation)}
			for n := 0; n < 50 && name == "raises at each job" && a.saying(givenUp...) == 0; n++ { // the new ones may have come when few were left
				r.put(t, 100, work{MS: 10})
				jobs += 100
				r.ledger.await(t, name+": the old children worked more jobs", ended(jobs))
			}
			a.said(t, givenUp...)
			a.manned(t, name, 1)
		}
		write(good)
		a.control(t, "recycle")
		r.put(t, 100, work{MS: 10})
		a.said(t, "new generation at work", fmt.Sprintf(`"generation":%d`, generation+1))
		a.manned(t, "good again", generation+1)
		all := r.settled(t)
		allDone(t, all)
		r.uncounted(t, all)
		r.check(t, allowed{})
		a.stop(t)
	})
}

// manned fails the test unless the pool has four children that work, of that generation.
func (s *supervisor) manned(t testing.TB, when string, generation int) {
	t.Helper()
	var shot struct {
		Pools []struct {
			Generation int
			Slots      []struct{ State string }
		}
	}
	text := s.control(t, "status", "--json")
	must(t, json.Unmarshal([]byte(text), &shot))
	n := 0
	for _, slot := range shot.Pools[0].Slots {
		if slot.State == "ready" || slot.State == "busy" {
			n++
		}
	}
	if n != 4 || shot.Pools[0].Generation != generation {
		t.Errorf("%s: %d of 4 slots have a child that works, generation %d, want %d", when, n, shot.Pools[0].Generation, generation)
	}
}
