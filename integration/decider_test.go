package integration

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"oarlock/queue"
)

// planner lets two run at a time, holds those of node 7, and puts those of node 8 off; while there is a file hang it does not answer. It
// notes when it begins and ends.
const planner = `import json, os, sys, time
ask = json.loads(sys.stdin.readline())
with open("asked", "a") as f: f.write("begin %s\n" % os.getenv("OARLOCK_REDIS_PASSWORD", ""))
while os.path.exists("hang"): time.sleep(0.05)
answer = {"start": [], "hold": {}, "delay": {}, "why": {}}
for job in ask["candidates"]:
    if job["data"]["node"] == 7:
        answer["hold"][job["jid"]], answer["why"][job["jid"]] = 60, "node 7 drains"
    elif job["data"]["node"] == 8:
        answer["delay"][job["jid"]], answer["why"][job["jid"]] = 3600, "node 8 sleeps"
    elif len(answer["start"]) + len(ask["running"]) < 2:
        answer["start"].append(job["jid"])
print(json.dumps(answer))
with open("asked", "a") as f: f.write("end\n")
`

// P16: two supervisors have the command, one of them leaves, and never more run than it lets.
func TestAPlannerOfTwoSupervisors(t *testing.T) {
	long(t, "it waits for the lock of one that has left")
	w := newRuledWorld(t)
	must(t, os.WriteFile(filepath.Join(w.dir, "planner.py"), []byte(planner), 0o600))
	const rules = `
[pools.work]
queues = ["render"]
mode = "once"
children = 4
input = "none"
command = ["sh", "-c", "echo + >>ledger; sleep 0.1; echo - >>ledger"]
[throttles.planner]
command = ["python3", "planner.py"]
every = "100ms"
timeout = "4s"
[queues.render]
throttles = ["planner"]
`
	w.write(rules)
	second := filepath.Join(w.dir, "second.toml")
	text := fmt.Sprintf("[redis]\nurl = %q\n[supervisor]\nstate_dir = %q\nname = \"web2\"\npoll_interval = \"200ms\"\n%s", w.url, filepath.Join(w.dir, "state2"), rules)
	must(t, os.WriteFile(second, []byte(text), 0o600))
	other := begin(t, second)
	until(t, "the second has the command", func() bool { return w.db.Exists(t.Context(), "ql:oarlock:asker:planner").Val() == 1 })
	node := func(n int) queue.Put {
		return queue.Put{Queue: "render", Klass: "Render", Data: []byte(fmt.Sprintf(`{"node":%d}`, n))}
	}
	var free []string
	for range 10 {
		free = append(free, w.put(node(1)))
	}
	held, late := w.put(node(7)), w.put(node(8))
	until(t, "one is done", func() bool { return w.field(free[0], "state") == "complete" })
	w.run()
	other.Process.Signal(os.Interrupt) // it lets what runs come to an end
	for _, jid := range free {
		until(t, "each is done", func() bool { return w.field(jid, "state") == "complete" })
	}
	until(t, "one is held and one put off", func() bool { return w.field(held, "oarlock-asked") != "" && w.field(late, "state") == "scheduled" })
	if why := w.do("job", "why", held); !strings.Contains(why, "The command of throttle planner holds it for another") || !strings.Contains(why, `"node 7 drains"`) {
		t.Errorf("why: %s", why)
	}
	if why := w.do("job", "why", late); !strings.Contains(why, `The command of throttle planner has put it off: "node 8 sleeps".`) {
		t.Errorf("why: %s", why)
	}
	if shown := w.do("rules", "explain", "--queue", "render"); !strings.Contains(shown, "a command that decides") {
		t.Errorf("explained: %s", shown)
	}
	if shown := w.do("throttle", "show", "planner"); !strings.Contains(shown, "the command was asked by web1") || !strings.Contains(shown, "holds 1 job") || !strings.Contains(shown, "planner: as many jobs at a time as its command lets start") {
		t.Errorf("shown: %s", shown)
	}
	w.ledgerBelow(filepath.Join(w.dir, "ledger"), 2)

	hang := filepath.Join(w.dir, "hang")
	must(t, os.WriteFile(hang, nil, 0o600))
	last := w.put(node(1))
	until(t, "it is said that it does not answer", func() bool {
		return strings.Contains(w.do("throttle", "show", "planner"), "python3 did not answer within 4s; no job starts meanwhile")
	})
	if why := w.do("job", "why", last); !strings.Contains(why, "decides nothing: python3 did not answer within 4s; it is closed meanwhile") {
		t.Errorf("why: %s", why)
	}
	must(t, os.Remove(hang))
	until(t, "it decides again", func() bool { return w.field(last, "state") == "complete" })
}

// ledgerBelow fails if more ran at a time than may.
func (w *ruledWorld) ledgerBelow(file string, most int) {
	w.t.Helper()
	text := got(os.ReadFile(file))(w.t)
	running, top := 0, 0
	for line := range strings.Lines(string(text)) {
		n := got(strconv.Atoi(strings.TrimSpace(line) + "1"))(w.t)
		running += n
		top = max(top, running)
	}
	if top > most {
		w.t.Errorf("%d ran at a time", top)
	}
}
