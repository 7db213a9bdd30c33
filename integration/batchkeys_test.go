package integration

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"oarlock/queue"
)

// notesOrder is a preloaded program whose function notes each job that it is given, and in which process.
const notesOrder = `import os, sys
sys.path.insert(0, sys.argv[1])
import oarlock

@oarlock.job("Work")
def work(job):
    line = "%s %d %d\n" % (job.data["key"], job.data["n"], os.getpid())
    os.write(ledger, line.encode())

ledger = os.open(sys.argv[2], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
oarlock.serve()
`

// Forks of a preloaded program are given several jobs in a message, of any keys; the jobs of each key are worked in order, each once.
func TestPreloadedMessagesKeepTheOrderOfKeys(t *testing.T) {
	t.Parallel()
	interpreter := got(python())(t)
	r := newRig(t, 1, rigOptions{})
	program, ledger := filepath.Join(r.dir, "order.py"), filepath.Join(r.dir, "order")
	helpers := got(filepath.Abs("../examples/python"))(t)
	writeFile(t, program, notesOrder)
	const keys, each = 8, 6
	var puts []queue.Put
	for n := range each {
		for key := range keys {
			puts = append(puts, queue.Put{Queue: "work", Klass: "Work", Key: fmt.Sprint("k", key), Data: fmt.Appendf(nil, `{"key":"k%d","n":%d}`, key, n)})
		}
	}
	r.putAll(t, puts)
	r.start(t, "a", pool{mode: "preload", children: 2, command: []string{interpreter, "-I", "-S", program, helpers, ledger}, more: "batch = 10"})
	allDone(t, r.settled(t))
	text := got(os.ReadFile(ledger))(t)
	next, of, most := map[string]int{}, map[int]int{}, 0
	for line := range strings.Lines(string(text)) {
		var key string
		var n, pid int
		got(fmt.Sscan(line, &key, &n, &pid))(t)
		if n != next[key] {
			t.Errorf("job %d of %s was worked when job %d was next", n, key, next[key])
		}
		next[key] = n + 1
		of[pid]++
		most = max(most, of[pid])
	}
	if len(next) != keys || most < 2 {
		t.Errorf("worked are %v; the largest message had %d jobs", next, most)
	}
}
