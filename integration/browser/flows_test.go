package browser

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"oarlock/internal/must"

	"github.com/chromedp/chromedp"
)

// inShort are the flows of a short run: the overview, an action that asks first, and what comes by itself.
var inShort = []string{"from health to the stderr of a failure", "retry those of a filter", "a child and its lines"}

// What people come for can be done by clicks, and by whoever has no scripts as well.
func TestWhatPeopleComeFor(t *testing.T) {
	p := start(t, configuration)
	p.put("thumbs", "Resize", 30, `,"retries":0`)
	p.put("thumbs", "Crop", 3, `,"retries":0`)
	p.put("mail", "Send", 3, "")
	p.run("", "put", "mail", "{}", "--klass", "Send", "--jid", "letter")
	p.await(func() bool { return strings.Contains(p.run("", "failed", "ls"), "exit-1") }) // the page tells groups as of loading
	for _, mode := range []struct {
		name    string
		width   int64
		scripts bool
	}{{"with scripts", 1280, true}, {"without scripts", 320, false}} {
		t.Run(mode.name, func(t *testing.T) {
			if testing.Short() && !mode.scripts {
				t.Skip("long: the same again in a browser without scripts")
			}
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
				{"a child and its lines", linesFlow}, {"a recurring job", recurringFlow}, {"a throttle", throttleFlow}, {"rules, and what a job needs by them", rulesFlow}, {"a list that programs push to", listFlow}, {"choose some of a list", chosenFlow}, {"answer a parked job", parkedFlow}, {"have it looked at", doctorFlow},
				{"haste, two tabs, and a job that goes meanwhile", hasteFlow}, {"who did what, and the keys", auditFlow},
			} {
				t.Run(flow.name, func(t *testing.T) {
					if testing.Short() && !slices.Contains(inShort, flow.name) {
						t.Skip("long: one of many flows")
					}
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
	tb.follow("Retry all that match…")
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
	must.Do(t, os.Remove(spoilt))
}

// Two clicks lead from the overview to what a child prints that has a job, and one more from its pool; with scripts its next lines come by themselves.
func linesFlow(t *testing.T, _ *program, tb *tab, scripts bool) {
	tb.visit("/")
	tb.follow("Pools")
	tb.follow("slot 0")
	tb.sees("connected to mx1")
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

// The rules say what they are and whose, and what a job would need.
func rulesFlow(t *testing.T, _ *program, tb *tab, _ bool) {
	tb.visit("/rules")
	tb.sees("throttles.erp")
	tb.fill("queue", "ruled")
	tb.fill("klass", "Send")
	tb.follow("Explain")
	tb.sees("It needs 1 place of each throttle below")
	tb.fill("weight", "2")
	tb.fill("window", "05:00-07:00; 12:00-13:00")
	tb.fill("zone", "Asia/Tokyo")
	tb.follow("Explain")
	tb.sees("It needs 2 places of each throttle below")
	tb.sees(" JST")
	tb.follow("erp")
	tb.sees("0 of 3 places are held")
	tb.visit("/windows")
	tb.sees("Europe/Berlin")
}

// What is pushed stands in the list, and nobody deletes it by one click.
func listFlow(t *testing.T, _ *program, tb *tab, _ bool) {
	tb.visit("/lists/hworker:pics")
	eval[bool](tb, `(() => { document.querySelector("main details").open = true; return true })()`)
	eval[bool](tb, `(() => { document.querySelector("textarea[name=data]").value = '{"path": "cat.jpg"}'; return true })()`)
	tb.follow("Push")
	tb.sees("Done: pushed to hworker:pics")
	tb.sees("cat.jpg")
	tb.visit("/lists")
	tb.follow("hworker:pics")
	tb.follow("Destroy…")
	eval[bool](tb, `(() => { document.querySelector("input[name=sure]").checked = true; return true })()`)
	tb.follow("Destroy it")
	tb.sees("hworker:pics is deleted, with 1 entry")
}

// Boxes choose; each of those is changed, and no other.
func chosenFlow(t *testing.T, p *program, tb *tab, _ bool) {
	for _, jid := range []string{"c1", "c2", "c3"} {
		p.run("", "put", "later", "{}", "--klass", "Letter", "--jid", jid, "--delay", "1h")
	}
	tb.visit("/queues/later?state=scheduled")
	eval[bool](tb, `(() => { for (const jid of ["c1", "c3"]) [...document.querySelectorAll("tbody tr")].find(r => r.textContent.includes(jid)).querySelector("input").checked = true; return true })()`)
	tb.follow("Cancel those chosen…")
	tb.sees("Cancel 2 jobs")
	tb.follow("Cancel 2 jobs")
	tb.sees("Done: 2 jobs canceled")
	tb.await(`document.querySelectorAll("tbody[data-rows=jobs] tr").length === 1`)
	tb.press("Run now", "c2")
	tb.sees("Done: 1 job made due")
	p.run("", "job", "cancel", "c2")
}

// Who waits for an answer stands in a list, and is answered there.
func parkedFlow(t *testing.T, p *program, tb *tab, scripts bool) {
	correlation := map[bool]string{true: "17", false: "18"}[scripts]
	jid := strings.TrimSpace(p.run("", "put", "asks", correlation, "--klass", "Pay"))
	p.await(func() bool { return strings.Contains(p.run("", "park", "ls"), jid[:8]) })
	tb.visit("/parked")
	tb.sees("Pay")
	tb.follow("Answer…")
	tb.fill("data", `{"paid": true}`)
	tb.fill("end", "complete")
	tb.follow("Answer")
	tb.sees("Done: it is answered")
	p.await(func() bool { return strings.Contains(p.run("", "job", "show", jid), "complete") })
	tb.visit("/parked")
	tb.await(`!document.querySelector("tbody")`)
}

func doctorFlow(t *testing.T, _ *program, tb *tab, _ bool) {
	tb.visit("/doctor")
	tb.follow("Look now")
	tb.sees("Done: it was looked at")
	tb.sees("append-only file")
}

// Whoever clicks twice, works in two tabs, goes back, or comes too late hurts nothing, and is told what happened.
func hasteFlow(t *testing.T, p *program, tb *tab, scripts bool) {
	for _, jid := range []string{"h1", "h2", "h3"} {
		p.run("", "put", "thumbs", "{}", "--klass", "Haste", "--jid", jid, "--retries", "0")
	}
	p.await(func() bool { return strings.Count(p.run("", "failed", "ls", "exit-1", "--limit", "100"), "Haste") == 3 })
	p.run("", "queue", "pause", "thumbs")
	defer p.run("", "queue", "resume", "thumbs")
	other := p.enter(t, 1280, scripts)
	other.refused = true
	other.visit("/failures/exit-1?klass=Haste")
	tb.visit("/failures/exit-1?klass=Haste")
	tb.press("Retry", "h1", "again") // twice
	tb.sees("Done: ")
	if told := p.run("", "job", "show", "h1", "--json"); strings.Count(told, `"what": "put"`) > 2 || !strings.Contains(told, `"waiting"`) {
		t.Errorf("after two clicks: %s", told)
	}
	other.press("Retry", "h1")
	other.sees("1 job left alone: changed meanwhile, or gone")
	eval[bool](tb, `(() => { history.back(); return true })()`)
	tb.sees("exit-1")
	p.run("", "job", "cancel", "h2")
	other.visit("/jobs/h2")
	other.sees("It is not here")
	tb.visit("/failures/exit-1?klass=Haste")
	tb.follow("Retry all that match…")
	tb.sees("This would retry 1 job")
	tb.follow("Retry 1 job")
	tb.sees("What became of them")
	must.Do(t, chromedp.Do(tb.ctx, chromedp.Reload()))
	tb.sees("What became of them")
	tb.sees("0 done")
	p.run("", "job", "cancel", "h1", "h3")
}

func auditFlow(t *testing.T, _ *program, tb *tab, _ bool) {
	tb.visit("/audit")
	tb.sees("pause queue")
	tb.visit("/help")
	tb.sees("next row")
}
