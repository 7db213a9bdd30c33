package web

import (
	"html"
	"log/slog"
	"strings"
	"testing"

	"oarlock/internal/rollcall"
	"oarlock/internal/web/pages"
	"oarlock/queue"
	"oarlock/supervisor"
)

// The overview says on top, each once and with what to do, which rules of files do not count, whichever host has them, and why a supervisor
// takes nothing; and it is silent where nothing of that is so.
func TestOverviewTellsOfRulesThatDoNotCount(t *testing.T) {
	const conflict = "throttles.erp: this rule (revision 1) differs from that in Redis (revision 2, of web2:/etc/oarlock.toml): raise rules.revision, or run `oarlock rules apply`"
	app, q := apart(t)
	for _, odd := range []bool{false, true} {
		sup := aSupervisor()
		sup.shot.Redis = "ok"
		disagrees := func() []string { return nil }
		if odd {
			disagrees = func() []string { return []string{conflict, "The rules of the file do not count: why"} }
			sup.shot.Abstains = "the key space needs shards"
		}
		a := New(Options{Redis: q, Supervisor: sup, Log: slog.New(slog.DiscardHandler), Host: "web1", Census: counting(t, q), Disagrees: disagrees})
		text := html.UnescapeString(as(t, "read").ask(a, "GET", "/", "").Body.String())
		for _, says := range []string{"In the file of web1: throttles.erp: this rule", "raise rules.revision, or run <code>oarlock rules apply</code>.", "The rules of the file do not count: why.", "takes no jobs: the key space needs shards."} {
			if strings.Contains(text, says) != odd {
				t.Errorf("it says %q: %t; %s", says, !odd, mainOf(text))
			}
		}
		if odd == strings.Contains(text, "Work flows.") {
			t.Errorf("the headline is wrong: %s", mainOf(text))
		}
	}
	w := &worry{}
	var all []rollcall.Answer
	for _, host := range []string{"web1", "web2"} {
		all = append(all, rollcall.Answer{Host: host, Disagrees: []string{"a", "b", "c", "d", "e", "f" + host}})
	}
	app.disagreeing(w, all)
	if n := len(w.notices); n != mostDisagreements+1 || w.notices[0].Text != "In the file of web1, web2: a." || w.notices[n-1].Text != "Beside these: 2 rules of files." {
		t.Errorf("%d notices: %+v", n, w.notices)
	}
	if h := (&worry{hosts: 1, notices: w.notices}).headline(); !strings.Contains(h.Says, "something to know") {
		t.Errorf("the headline is %q", h.Says)
	}
	if row := app.hostRow(&rollcall.Answer{Status: supervisor.Snapshot{Redis: "ok", Abstains: "why"}}); row.State != "abstains" {
		t.Errorf("its row says %q", row.State)
	}
}

// What cannot be a job of a list is told of by the headline until somebody has put it back, once for all hosts.
func TestOverviewTellsOfEntriesThatCannotBeJobs(t *testing.T) {
	a, _ := apart(t)
	w := &worry{link: a.book().Link}
	shot := supervisor.Snapshot{Redis: "ok", Intake: []supervisor.IntakeSnapshot{{List: "new orders", Queue: "q", Aside: 1201}, {List: "odd", Trouble: "why"}, {List: "well"}}}
	w.supervisor(shot, "web1", a.poolLinks)
	w.supervisor(shot, "web2", a.poolLinks)
	var says []string
	for _, n := range w.notices {
		says = append(says, n.Text)
	}
	if text := strings.Join(says, "\n"); text != "Of list new orders, 1,201 entries cannot be jobs, and wait for somebody to put them back.\n"+
		"List odd is not taken in on web1: why\nList odd is not taken in on web2: why" {
		t.Errorf("it says %s", text)
	}
	if href := w.notices[0].Links[0].Href; href != "/lists/new%20orders?part=broken" {
		t.Errorf("it leads to %s", href)
	}
}

// A queue that nobody listens to is told of by the headline, where all supervisors have answered and it waits for a minute; before, its
// outlook tells it. A headline never says that nothing waits while something does.
func TestOverviewTellsOfQueuesThatNobodyListensTo(t *testing.T) {
	a, _ := apart(t)
	listens := rollcall.Answer{Host: "web1", Status: supervisor.Snapshot{Redis: "ok", Pools: []supervisor.PoolSnapshot{{Name: "mail", Queues: []string{"mail", "mail-*"}, Children: 2}}}}
	const now = 1790000000
	waits := func(name string, since float64) queue.QueueCensus {
		return queue.QueueCensus{QueueCounts: queue.QueueCounts{Name: name, Waiting: 1}, ReadySince: now - since}
	}
	for _, c := range []struct {
		name    string
		of      []queue.QueueCensus
		roll    rollcall.Roll
		says    string // by the headline
		facts   string
		notices int
	}{
		{"nothing waits", nil, rollcall.Roll{Asked: 1, Answered: 1}, "Work flows.", "nothing waits for a child", 0},
		{"a mistyped queue, at once", []queue.QueueCensus{waits("mial", 39)}, rollcall.Roll{Asked: 1, Answered: 1}, "Work flows.", "nothing waits longer than 39 s", 0},
		{"a mistyped queue", []queue.QueueCensus{waits("mial", 120)}, rollcall.Roll{Asked: 1, Answered: 1}, "Work flows, but no supervisor listens to queue mial.", "nothing waits longer than 2 min", 1},
		{"a paused one", []queue.QueueCensus{{QueueCounts: queue.QueueCounts{Name: "mial", Waiting: 1, Paused: true}, ReadySince: now - 120}}, rollcall.Roll{Asked: 1, Answered: 1}, "Work flows.", "nothing waits for a child", 0},
		{"of a pattern", []queue.QueueCensus{waits("mail-de", 120)}, rollcall.Roll{Asked: 1, Answered: 1}, "Work flows.", "nothing waits longer than 2 min", 0},
		{"somebody is missing", []queue.QueueCensus{waits("mial", 120)}, rollcall.Roll{Asked: 2, Answered: 1, Missing: 1}, "Work flows, with something to know.", "nothing waits longer than 2 min", 1},
		{"nobody knows how many there are", []queue.QueueCensus{waits("mial", 120)}, rollcall.Roll{Asked: -1, Answered: 1}, "Work flows.", "nothing waits longer than 2 min", 0},
		{"many", []queue.QueueCensus{waits("a", 70), waits("b", 71), waits("c", 72), waits("d", 73), waits("e", 74), waits("f", 75), waits("g", 76)}, rollcall.Roll{Asked: 1, Answered: 1}, "Work flows, but no supervisor listens to 7 queues in which jobs wait.", "nothing waits longer than " + pages.Span(76), mostDeserted + 1},
	} {
		w := &worry{}
		c.roll.Items = []rollcall.Answer{listens}
		w.everybody(c.roll, a.poolLinks)
		w.queues(c.of, now, a.book().Link)
		h := w.headline()
		if h.Says != c.says || !strings.HasSuffix(h.Facts, c.facts) || len(w.notices) != c.notices {
			t.Errorf("%s: %q, %q, %+v", c.name, h.Says, h.Facts, w.notices)
		}
		for _, q := range c.of {
			row := pages.Queue{Name: q.Name, Waiting: q.Waiting, Outlook: "measuring"}
			w.outlook(&row)
			if deserted := row.Outlook != "measuring"; deserted != (q.Name != "mail-de" && c.roll.Complete()) {
				t.Errorf("%s: the outlook is %q", c.name, row.Outlook)
			}
		}
	}
}
