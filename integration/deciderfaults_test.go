package integration

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"oarlock/queue"
)

// decides lets all start whom it is asked about; while there is a file broken it does what it is told by its argument instead.
const decides = `
read -r ask
echo "$1" >>asked
if [ -e broken ]; then case $1 in
hang) sleep 1000 & sleep 1000;;
die) kill -9 $$;;
exit) echo 'no such node' >&2; exit 3;;
nonsense) echo 'all of them may start'; exit;;
nothing) exit;;
flood) yes;;
esac fi
jids=$(printf %s "${ask%%,\"running\"*}" | grep -o '"jid":"[^"]*"' | cut -d: -f2 | paste -sd, -)
echo "{\"start\":[$jids]}"
`

// B27: whatever a command that decides does wrong, what on_failure says holds, it is said what is wrong, and all go on when it is mended. A
// supervisor that is killed while it is asked has decided nothing: another asks.
func TestB27ACommandThatDecidesWrongly(t *testing.T) {
	w := newRuledWorld(t)
	must(t, os.WriteFile(filepath.Join(w.dir, "decides.sh"), []byte(decides), 0o600))
	broken := filepath.Join(w.dir, "broken")
	must(t, os.WriteFile(broken, nil, 0o600))
	says := map[string]string{"hang": "did not answer within 2s", "die": "killed by SIGKILL", "exit": "exited with code 3: no such node",
		"nonsense": `its answer "all of them may start"`, "nothing": "it printed nothing", "flood": "printed more than 1048576 bytes"}
	config := "[pools.work]\nqueues = [\"*\"]\nmode = \"once\"\ninput = \"none\"\nchildren = 2\ncommand = [\"true\"]\n"
	for fault := range says {
		timeout := "60s"
		if fault == "hang" {
			timeout = "2s"
		}
		for _, then := range []string{"closed", "open"} {
			config += fmt.Sprintf("[throttles.%s-%s]\ncommand = [\"sh\", \"decides.sh\", %q]\ntimeout = %q\nevery = \"100ms\"\non_failure = %q\n[queues.%s-%s]\nthrottles = [\"%s-%s\"]\n",
				fault, then, fault, timeout, then, fault, then, fault, then)
		}
	}
	w.write(config)
	run := begin(t, w.config)
	until(t, "the rules count", func() bool { return w.db.Exists(t.Context(), "ql:oarlock:rules").Val() == 1 })
	jids := map[string]string{}
	for fault := range says {
		for _, then := range []string{"closed", "open"} {
			jids[fault+"-"+then] = w.put(queue.Put{Queue: fault + "-" + then, Klass: "K"})
		}
	}
	for fault, want := range says {
		until(t, "it starts though its command fails: "+fault, func() bool { return w.field(jids[fault+"-open"], "state") == "complete" })
		var shown struct{ Decider struct{ Trouble string } }
		until(t, "it is said what is wrong: "+fault, func() bool {
			return json.Unmarshal([]byte(w.do("throttle", "show", fault+"-closed", "--json")), &shown) == nil && shown.Decider.Trouble != ""
		})
		if !strings.Contains(shown.Decider.Trouble, want) {
			t.Errorf("of one that does %s is said %q; want %s", fault, shown.Decider.Trouble, want)
		}
		if jid := jids[fault+"-closed"]; w.field(jid, "state") != "throttled" || strings.Contains(w.field(jid, "history"), "popped") {
			t.Errorf("the command does %s, and its job is %s", fault, w.field(jid, "state"))
		}
	}

	asked := func() int {
		text, _ := os.ReadFile(filepath.Join(w.dir, "asked"))
		return strings.Count(string(text), "hang")
	}
	before := asked()
	until(t, "one that hangs is asked again", func() bool { return asked() > before })
	endNow(run)
	must(t, os.Remove(broken))
	w.run()
	for name, jid := range jids {
		until(t, name+" goes on", func() bool { return w.field(jid, "state") == "complete" })
	}
}
