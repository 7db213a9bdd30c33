package integration

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"oarlock/queue"
)

// TestMemoryOfFiftyPools works 30,000 jobs of 50 queues in as many pools, with a hundred children in all, and
// bounds the memory that the supervisor has for itself, and, with what is resident of its own file, in all. 35 to 39 MiB in all are usual.
func TestMemoryOfFiftyPools(t *testing.T) {
	long(t, "it measures memory")
	const pools, mostOwn, most = 50, 26 << 20, 42 << 20
	plain := got(plainBinary())(t)
	interpreter := got(python())(t)
	row(t, "memory", rigOptions{lock: time.Minute}, func(t *testing.T, r *rig) {
		r.binary = plain
		program, _ := json.Marshal([]string{interpreter, "-I", "-S", "-c", `
import json, sys
for line in sys.stdin:
    job = json.loads(line)
    if job["@"] == "job":
        print(json.dumps({"@": "ack", "run": job["run"]}), flush=True)
`})
		var others strings.Builder
		var puts []queue.Put
		for i := range pools {
			name := fmt.Sprint("work", i)
			if i == 0 {
				name = "work"
			} else {
				fmt.Fprintf(&others, "[pools.%s]\nqueues = [%q]\nmode = \"reuse\"\ncommand = %s\nchildren = 2\n", name, name, program)
			}
			for range 600 {
				puts = append(puts, queue.Put{Queue: name, Klass: "Work", Data: fmt.Appendf(nil, `{"text":%q}`, strings.Repeat("x", 100))})
			}
		}
		own, all := int64(0), int64(0)
		for n := 0; n == 0 || n < 4 && all > most; n++ { // a supervisor that starts on a busy machine has given back too soon what starting took
			r.putAll(t, puts)
			a := r.start(t, fmt.Sprint("a", n), pool{children: 2, more: others.String()})
			left := len(puts)
			own, all = 0, 0
			within(t, 5*time.Minute, func() error {
				own = max(own, anonymous(a.pid()))
				if left < len(puts)/2 { // by when it has given back what starting took, however slowly it started
					all = max(all, resident(a.pid()))
				}
				if left = r.unsettled(t); left > 0 {
					return fmt.Errorf("%d jobs are not settled", left)
				}
				return nil
			})
			a.stop(t)
		}
		allDone(t, readJobs(t, r.db, r.jids))
		r.note("own_mib", float64(own)/(1<<20), "resident_mib", float64(all)/(1<<20))
		if own > mostOwn {
			t.Errorf("the supervisor has %d KiB for itself, want %d at most", own>>10, mostOwn>>10)
		}
		if all > most {
			t.Errorf("%d KiB of the supervisor are resident, want %d at most", all>>10, most>>10)
		}
	})
}
