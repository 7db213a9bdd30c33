package integration

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"oarlock/internal/redistest"
	"oarlock/queue"
)

// fileIt is a child that notes which jobs it has done.
const fileIt = `import json, os, sys
ledger = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
for line in sys.stdin:
    job = json.loads(line)
    os.write(ledger, (job["jid"] + "\n").encode())
    print(json.dumps({"@": "ack", "run": job["run"]}), flush=True)
`

// TestListsThroughKills kills the supervisor of a list again and again: none of its entries is lost, whoever
// had it, and few run twice.
func TestListsThroughKills(t *testing.T) {
	t.Parallel()
	entries, kills := scaled(400, 10_000), scaled(4, 200)
	interpreter := got(python())(t)
	server, dir := redistest.Start(t), t.TempDir()
	ledger, program, config := filepath.Join(dir, "ledger"), filepath.Join(dir, "file.py"), filepath.Join(dir, "c.toml")
	write := func(name, text string) {
		must(t, os.WriteFile(name, []byte(text), 0o600))
	}
	write(program, fileIt)
	write(config, fmt.Sprintf("[redis]\nurl = %q\n[supervisor]\nstate_dir = %q\n[pools.mail]\nlist = \"hworker:mail\"\nmode = \"reuse\"\nchildren = 2\n"+
		"list_timeout = \"6s\"\ncommand = [%q, \"-I\", \"-S\", %q, %q]\n", server.URL, filepath.Join(dir, "state"), interpreter, program, ledger))
	client := got(queue.Open(t.Context(), queue.Options{URL: server.URL, ReadTimeout: 30 * time.Second}))(t)
	defer client.Close()
	db := server.Client(t)
	push := func(from, to int) {
		for i := from; i < to; i++ {
			must(t, db.LPush(t.Context(), "hworker-jobs-mail", fmt.Sprintf(`["id-%d",{}]`, i)).Err())
		}
	}
	filed := func() map[string]int {
		text, _ := os.ReadFile(ledger)
		times := map[string]int{}
		for line := range strings.Lines(string(text)) {
			times[line]++
		}
		return times
	}
	for k := range kills {
		run, before := begin(t, config), len(filed())
		push(k*entries/kills, (k+1)*entries/kills)
		enough := before + 1 + rand.IntN(entries/kills)
		until(t, "some are filed", func() bool { return len(filed()) >= enough })
		endNow(run)
	}
	begin(t, config)
	until(t, "nothing is left", func() bool {
		return got(client.CountLists(t.Context(), []string{"hworker:mail"}))(t)[0] == (queue.ListCounts{})
	})
	times, twice := filed(), 0
	for _, n := range times {
		if n > 1 {
			twice++
		}
	}
	if len(times) != entries {
		t.Errorf("%d of %d entries were worked", len(times), entries)
	}
	if most := 2 * 2 * (kills + 1); twice > most { // what the children had, and what had just ended
		t.Errorf("%d entries ran twice, and %d kills explain %d", twice, kills, most)
	}
	t.Logf("%d entries, %d kills, %d ran twice", entries, kills, twice)
}
