package browser

import (
	"os"
	"path/filepath"
	"testing"
)

// What people come for can be done by clicks, and by whoever has no scripts as well.
func TestWhatPeopleComeFor(t *testing.T) {
	p := start(t, configuration)
	p.put("thumbs", "Resize", 30, `,"retries":0`)
	p.put("thumbs", "Crop", 3, `,"retries":0`)
	p.put("mail", "Send", 3, "")
	p.run("", "put", "mail", "{}", "--klass", "Send", "--jid", "letter")
	for _, mode := range []struct {
		name    string
		width   int64
		scripts bool
	}{{"with scripts", 1280, true}, {"without scripts", 320, false}} {
		t.Run(mode.name, func(t *testing.T) {
			tb := p.enter(t, mode.width, mode.scripts)
			tb.mu.Lock()
			tb.refused = true
			tb.mu.Unlock()
			for _, flow := range []struct {
				name string
				do   func(*testing.T, *program, *tab, bool)
			}{
				{"from health to the stderr of a failure", failureFlow}, {"why a job waits", whyFlow}, {"retry those of a filter", bulkFlow},
				{"pause and resume a queue", pauseFlow}, {"scale a pool", scaleFlow}, {"recycle a pool and follow the roll", rollFlow},
				{"a child and its lines", linesFlow}, {"a recurring job", recurringFlow}, {"a throttle", throttleFlow}, {"who did what, and the keys", auditFlow},
			} {
				t.Run(flow.name, func(t *testing.T) {
					tb.t = t
					flow.do(t, p, tb, mode.scripts)
				})
			}
			tb.t = t
		})
	}
	p.write("enough", "")
}

// On the page that opens first is what is wrong; two clicks further stands what the newest failure printed.
func failureFlow(t *testing.T, _ *program, tb *tab, _ bool) {
	tb.visit("/")
	tb.sees("exit-1")
	tb.follow("exit-1")
	tb.sees("cannot open cat.jpg")
	tb.await(`document.querySelector("#stderr").textContent.includes("cannot open")`)
}

// The search leads to a job in one click, which says what it waits for.
func whyFlow(t *testing.T, _ *program, tb *tab, _ bool) {
	tb.visit("/")
	eval[bool](tb, `(() => { window.before = true; document.querySelector("#search").value = "letter"; document.querySelector("form.search").requestSubmit(); return true })()`)
	tb.await("window.before === undefined && document.readyState === 'complete'")
	tb.follow("letter")
	tb.await(`document.querySelector("#why")`)
	tb.sees("letter")
	tb.await(`document.querySelectorAll(".why li").length > 0`)
}

// A filter chooses, a count is shown, and only those are retried.
func bulkFlow(t *testing.T, p *program, tb *tab, scripts bool) {
	p.run("", "queue", "pause", "thumbs")
	defer p.run("", "queue", "resume", "thumbs")
	klass := "Crop"
	if !scripts {
		klass = "Resize"
	}
	tb.visit("/failures/exit-1?klass=" + klass)
	tb.sees("looked at match")
	tb.follow("Retry…")
	tb.sees("Nothing is done yet")
	tb.sees("This would retry")
	button := eval[string](tb, `document.querySelector("main form button").textContent.trim()`)
	tb.follow(button)
	tb.sees("What became of them")
	tb.visit("/failures/exit-1?klass=" + klass)
	tb.sees("No job of this group matches")
}

func pauseFlow(t *testing.T, _ *program, tb *tab, _ bool) {
	tb.visit("/queues/mail")
	tb.follow("Pause")
	tb.sees("Done: queue mail is paused")
	tb.await(`document.querySelector("h1").textContent.includes("paused")`)
	tb.follow("Resume")
	tb.sees("Done: queue mail is resumed")
	tb.visit("/queues/mail")
	tb.await(`!document.querySelector("h1").textContent.includes("paused") && !document.body.innerText.includes("is resumed")`)
}

func scaleFlow(t *testing.T, _ *program, tb *tab, scripts bool) {
	tb.visit("/pools/keep")
	n := "3"
	if !scripts {
		n = "4"
	}
	tb.fill("children", n)
	tb.follow("Scale")
	tb.sees("Done: keep is to have " + n + " children")
	tb.visit("/pools/keep")
	tb.await(`document.querySelectorAll("tbody[data-list=slots] tr").length == ` + n)
}

// A roll is followed to its end, and one whose children do not come up is given up, with what they printed.
func rollFlow(t *testing.T, p *program, tb *tab, _ bool) {
	tb.visit("/pools/keep")
	tb.follow("Recycle")
	tb.sees("Done: recycling the children of keep")
	spoilt := filepath.Join(p.dir, "spoilt")
	until := func(text string) {
		tb.t.Helper()
		tb.await(`fetch(location.pathname, {cache: "no-store"}).then(r => r.text()).then(t => window.seen = t), (window.seen || "").includes("` + text + `")`)
	}
	p.put("keep", "Ping", 3, "")
	until("1 → 2")
	p.write("spoilt", "")
	tb.visit("/pools/keep")
	tb.follow("Recycle")
	until("was given up")
	tb.visit("/pools/keep")
	tb.sees("no such module: mail")
	if err := os.Remove(spoilt); err != nil {
		t.Fatal(err)
	}
}

// Three clicks lead from the pools to what a child prints; with scripts its next lines come by themselves.
func linesFlow(t *testing.T, _ *program, tb *tab, scripts bool) {
	tb.visit("/pools")
	tb.follow("mail")
	tb.sees("busy")
	tb.follow("slot 0")
	tb.sees("connected to mx1")
	if scripts {
		before := eval[string](tb, `document.querySelector("[data-log]").lastElementChild.textContent`)
		tb.await(`document.querySelector("[data-log]").lastElementChild.textContent !== ` + quoted(before))
		tb.await(`document.querySelector("#live").textContent.includes("live")`)
	}
}

func recurringFlow(t *testing.T, _ *program, tb *tab, scripts bool) {
	name := "nightly"
	if !scripts {
		name = "weekly"
	}
	tb.visit("/recurring")
	tb.follow("Add…")
	for field, value := range map[string]string{"name": name, "queue": "reports", "klass": "Report", "cron": "0 4 * * *", "zone": "Europe/Berlin"} {
		tb.fill(field, value)
	}
	tb.follow("Add")
	tb.sees(name + " recurs, next at")
	tb.follow("Pause")
	tb.sees("puts nothing until it is resumed")
	tb.follow("End…")
	tb.follow("End it")
	tb.sees("recurs no longer")
}

func throttleFlow(t *testing.T, _ *program, tb *tab, _ bool) {
	tb.visit("/throttles")
	eval[bool](tb, `(() => { document.querySelector("main details").open = true; return true })()`)
	tb.fill("id", "api")
	tb.fill("maximum", "5")
	tb.follow("Set")
	tb.sees("Done: api lets 5 jobs run at a time")
	tb.follow("Remove the limit")
	tb.sees("has no limit any more")
}

func auditFlow(t *testing.T, _ *program, tb *tab, _ bool) {
	tb.visit("/audit")
	tb.sees("pause queue")
	tb.visit("/help")
	tb.sees("next row")
}
