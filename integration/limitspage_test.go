package integration

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"oarlock/internal/ops"
	"oarlock/internal/show"
	"oarlock/queue"
)

// works is a pool for the queues of a block, that does nothing.
func works(queues string) string {
	return fmt.Sprintf("[pools.p]\nqueues = [%s]\ncommand = [\"true\"]\ninput = \"none\"\n", queues)
}

// TestLimitsAsWritten plays docs/limits.md: what stands there is a configuration, what is typed there does it, and what that prints is what stands below.
func TestLimitsAsWritten(t *testing.T) {
	p := readPage(t, "limits.md")
	erp, windows := p.block("toml", "[throttles.erp]"), p.block("toml", "[windows.night]")
	p.configure(erp + windows + "[queues.ledger]\nthrottles = [\"erp\"]\n")
	p.shell("oarlock rules apply")
	p.atWork(queue.Put{Queue: "invoices", Klass: "Close"})
	for range 4 {
		p.atWork(queue.Put{Queue: "ledger", Klass: "Post"})
	}
	p.session(p.block("console", "rules explain"))

	jids := p.session(p.block("console", "oarlock put invoices"))
	for i, want := range []string{`"weight": 2`, `"bypass": true`, `"night"`, `"Europe/Berlin|05:00-07:00|Sat,Sun 00:00-24:00"`} {
		if shown := p.shell("oarlock job show --json " + jids[i]); !strings.Contains(shown, want) {
			t.Errorf("job show says\n%s\nwithout %s", shown, want)
		}
	}

	{ // rates
		rates, queues := p.block("toml", "[throttles.api]"), "[queues.q]\nthrottles = [\"api\"]\n"+works(`"q"`)
		for _, word := range []string{"burst", "sliding"} { // one in place of the other
			var kept []string
			for line := range strings.Lines(rates) {
				if !strings.HasPrefix(line, word) {
					kept = append(kept, line)
				}
			}
			p.configure(strings.Join(kept, "") + queues)
			p.shell("oarlock rules apply --force")
			if out := p.shell("oarlock rules explain --queue q"); !strings.Contains(out, "100 starts in") {
				t.Errorf("without %s it is explained as %s", word, out)
			}
		}
		p.configure(rates + queues)
		if out := p.shell("oarlock check && exit 1 || true"); !strings.Contains(out, "a sliding rate has none") {
			t.Errorf("of both at once check says %s", out)
		}
	}

	{ // shares
		p.configure(p.block("toml", "[throttles.region]") + "[queues.visits]\nthrottles = [\"region\"]\n" + works(`"visits"`))
		p.shell("oarlock rules apply --force")
		for data, places := range map[string]string{`{"region":"east"}`: "region=east 40 places", `{"region":"west"}`: "region=west 30 places", `{}`: "region=* 1 place"} {
			if out := p.shell("oarlock rules explain --queue visits --data '" + data + "'"); !strings.Contains(strings.Join(strings.Fields(out), " "), places) {
				t.Errorf("a job of %s is explained as\n%s\nand not %s", data, out, places)
			}
		}
	}

	{ // turns
		p.configure(p.block("toml", "fair_by") + works(`"mail"`))
		p.shell("oarlock rules apply --force")
		if out := p.shell(`oarlock rules explain --queue mail --data '{"tenant":"enterprise"}'`); !strings.Contains(out, "values of /tenant take turns, this job in that of enterprise") {
			t.Errorf("a job of a fair queue is explained as\n%s", out)
		}
	}

	{ // a class
		p.configure(p.block("toml", "[klass.Pay]") + works(`"mail"`))
		p.shell("oarlock rules apply --force")
		p.session(p.block("console", "klass show Pay"))
		put := `oarlock put mail '{"order_id": 17}' --klass Pay 2>said`
		if once, twice := p.shell(put), p.shell(put); once != twice {
			t.Errorf("an order that is put twice is two jobs, %s and %s", once, twice)
		}
	}

	{ // the next opening
		typed, want, _ := strings.Cut(p.block("console", "window next"), "\n")
		if typed != `$ oarlock window next "02:15-02:45" --zone Europe/Berlin` {
			t.Fatalf("another window is asked for: %s", typed)
		}
		p.configure("")
		if out := p.shell(strings.TrimPrefix(typed, "$ ")); strings.Count(out, "\n") != strings.Count(want, "\n") || !strings.HasPrefix(out, "(02:15-02:45, Europe/Berlin) is ") {
			t.Errorf("today it prints\n%s", out)
		}
		autumn := got(ops.NextOfSpans([]string{"02:15-02:45"}, "Europe/Berlin", time.Date(2026, time.October, 24, 12, 0, 0, 0, time.UTC)))(t)
		var out strings.Builder
		show.Window(&out, autumn)
		if out.String() != want {
			t.Errorf("on the day before it prints\n%s\nand not\n%s", out.String(), want)
		}
	}
	{ // a planner: two at a time, and none of a node that drains
		p.file("planner.py", p.block("python", "candidates"))
		p.configure(p.block("toml", "[throttles.planner]") + `
[pools.render]
queues = ["render"]
children = 5
command = ["sh", "-c", "until [ -e go ]; do sleep 0.05; done"]
input = "none"
`)
		stop := p.run()
		defer stop()
		drains := p.put(queue.Put{Queue: "render", Klass: "Render", Data: []byte(`{"node": 7}`)})
		var others []string
		for node := range 3 {
			others = append(others, p.put(queue.Put{Queue: "render", Klass: "Render", Data: fmt.Appendf(nil, `{"node": %d}`, node)}))
		}
		running := func() (n int) {
			for _, jid := range others {
				if p.field(jid, "state") == "running" {
					n++
				}
			}
			return n
		}
		until(t, "two run", func() bool { return running() == 2 })
		until(t, "why the other does not is known", func() bool { return strings.Contains(p.shell("oarlock job why "+drains), `"node 7 drains"`) })
		if n := running(); n != 2 || p.field(drains, "state") != "throttled" {
			t.Errorf("%d run, and the one of the node is %s", n, p.field(drains, "state"))
		}
		p.file("go", "")
		until(t, "all but that one are done", func() bool { return p.db.ZCard(t.Context(), "ql:completed").Val() == 3 })
	}
}
