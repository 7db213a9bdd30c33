// Package pagestest has a value for every page in each of its states, for tests of what pages look like to people,
// browsers and attackers. It owns these examples and nothing else, and must not be part of the program.
package pagestest

import (
	"math"

	"oarlock/internal/web/chart"
	"oarlock/internal/web/pages"
	"oarlock/supervisor"
)

// Sample is a page in one of its states.
type Sample struct {
	Name     string // of page and state: "pool, rolling"
	Template string
	Page     pages.Page
}

// Samples are all pages, in all of their states.
func Samples() []Sample {
	var all []Sample
	add := func(name, template, path string, body any, change ...func(*pages.Page)) {
		p := pages.Page{
			Title: name, Section: path, Path: path, Live: true, Who: "anna", Rights: "read,write", Write: true, Leave: true, Keys: true, Version: "1.2.3", Host: "web2",
			Headline: pages.Headline{Tone: pages.Good, Says: "Work flows.", Facts: "20 of 20 supervisors · 96 of 100 children busy · nothing waits longer than 38 s"},
			Scope:    "all supervisors", Age: "1 s ago", Body: body,
		}
		for _, c := range change {
			c(&p)
		}
		all = append(all, Sample{name, template, p})
	}
	looks := func(p *pages.Page) { p.Write, p.Rights = false, "read" }
	away := func(p *pages.Page) {
		p.Stale, p.Write, p.Age = true, false, "as of 10:02:11 UTC"
		p.Notices = []pages.Notice{{Tone: pages.Bad, Text: "Redis does not answer now (away)."}}
	}
	told := func(p *pages.Page) { p.Notices = []pages.Notice{{Tone: pages.Good, Text: "Mail is paused."}} }
	trouble := func(p *pages.Page) {
		p.Headline = pages.Headline{Tone: pages.Bad, Says: "2 things keep work from flowing.", Facts: "18 of 20 supervisors"}
		p.Refresh = 10
	}
	add("overview", "overview", "/", overview())
	add("overview, empty", "overview", "/", pages.Overview{})
	add("overview, trouble", "overview", "/", overview(), trouble)
	add("overview, Redis away", "overview", "/", overview(), away)
	add("supervisors", "supervisors", "/supervisors", pages.Supervisors{Hosts: hosts(), Asked: 3, Says: "2 of 3 supervisors answered.", Silent: "web7 did not.", Deeds: deeds(), Looked: true, Unheard: []pages.Unheard{{Name: "web7", PID: 4711, Pools: []string{"mail", "render"}, Workers: []string{"web7-4711-mail-0123456789", "web7-4711-render-0123456789"}, Says: "holds 3 jobs", Seen: "2 s ago"}, {Name: "web9", PID: 1, Pools: []string{"mail"}, Workers: []string{"web9-1-mail-0123456789"}, Says: "its locks ran out: it stands still, is cut off, or died", Seen: "3 min ago", Odd: true}}})
	add("supervisors, looking only", "supervisors", "/supervisors", pages.Supervisors{Looked: true}, looks)
	add("pools", "pools", "/pools", pages.Pools{Rows: []pages.PoolRow{pool(), {PoolSnapshot: supervisor.PoolSnapshot{Name: "render", Children: 4}, State: "slow", Trouble: "It goes slowly: exit-1"}}})
	add("pools, empty", "pools", "/pools", pages.Pools{Empty: "No supervisor runs here."})
	add("pool, rolling", "pool", "/pools/mail", poolPage(), told)
	add("pool, given up", "pool", "/pools/mail", pages.PoolPage{PoolRow: pool(), Sign: &pages.Sign{Generation: 5, Ago: "2 min ago", Message: "exit-1\nno such module"}}, looks)
	add("slot", "slot", "/pools/mail/1", pages.SlotPage{Pool: "mail", SlotRow: slot(1), Facts: facts(), Lines: lines()})
	add("slot, idle", "slot", "/pools/mail/1", pages.SlotPage{Pool: "mail", SlotRow: pages.SlotRow{SlotSnapshot: supervisor.SlotSnapshot{State: "empty"}}}, looks)
	add("queues", "queues", "/queues", pages.Queues{Rows: queues(), Match: "mail*", Sort: "lag", Shown: "1 to 50 of 412", First: "/queues", Next: "/queues?at=50", Print: "p"})
	add("queues, empty", "queues", "/queues", pages.Queues{Sort: "name"}, looks)
	add("queue", "queue", "/queues/mail", pages.QueuePage{Queue: queues()[0], States: []pages.State{{Name: "waiting", Jobs: 3, Href: "/queues/mail?state=waiting", Here: true}, {Name: "running", Jobs: 1, Href: "/queues/mail?state=running"}},
		State: "waiting", Jobs: jobs(false), Deeds: deeds(), Bulk: deeds(), Listeners: []pages.Listener{{Host: "web2", Pool: "mail", Href: "/pools/mail", Busy: 3, Children: 4, Trouble: "it is quiet"}}, NextDue: 12, Fair: "values of /tenant take turns; 2 values wait, next acme, longest globex for 3 s", MayPut: true, Limited: "0", Line: spark(), StatsHref: "/queues/mail/stats"})
	add("queue, empty", "queue", "/queues/mail", pages.QueuePage{Queue: pages.Queue{Name: "mail", Rate: math.NaN()}, State: "waiting", Jobs: pages.Jobs{Empty: "No job waits."}}, looks)
	add("statistics", "stats", "/queues/mail/stats", pages.QueueStats{Queue: "mail", Day: "2026-01-31", Earlier: "/a", Later: "/b", Failures: 3, Failed: 1, Retries: 2,
		Spreads: []pages.Spread{{Name: "Waited", Count: 5, Mean: 1.5, Std: 0.5, Histogram: columns()}, {Name: "Ran"}}, Days: []pages.Day{{Day: "2026-01-31", Href: "/c", Done: 5, Mean: 1}}, DaysChart: columns()})
	add("failures", "failures", "/failures", pages.Failures{Groups: groups(), Total: 2, Sorted: true, Next: "/failures?cursor=x"})
	add("failures, empty", "failures", "/failures", pages.Failures{}, looks)
	add("failure group", "failure", "/failures/exit-1", pages.FailureGroup{Name: "exit-1", Jobs: 300, Filter: pages.Filter{Klass: "Resize", Key: "cat.jpg", Since: "2h"}, Matched: "287 of 300 looked at match.", Newest: story(), List: choosing(jobs(true)), Deeds: deeds()})
	add("failure group, empty", "failure", "/failures/exit-1", pages.FailureGroup{Name: "exit-1", List: pages.Jobs{Empty: "No job of this group is there."}}, looks)
	fields := []pages.Field{{Name: "action", Value: "retry"}}
	add("bulk, plan", "bulk", "/bulk", pages.Bulk{Verb: "Drop", Does: "drop", What: "jobs of group exit-1", Action: "/bulk/do", Fields: fields, Back: "/failures/exit-1", Count: 287, Typed: true, To: true, Irrevocable: true, Failed: true,
		ByKlass: []pages.Tally{{Name: "Resize", Jobs: 287}}, ByQueue: []pages.Tally{{Name: "thumbs", Jobs: 287}}, Span: "The oldest is from 2 h ago.", Samples: jobs(true).Rows})
	add("bulk, nothing", "bulk", "/bulk", pages.Bulk{Verb: "Retry", Does: "retry", What: "jobs", Action: "/bulk/do", Back: "/failures"})
	add("bulk, half way", "bulk", "/bulk/do", pages.Bulk{Verb: "Retry", What: "jobs", Action: "/bulk/do", Fields: fields, Back: "/failures", Done: &pages.BulkDone{Done: 5000, Changed: 2, Refused: 1, Refusals: []string{"it runs"}}})
	add("job, failed", "job", "/jobs/j", job("failed"))
	add("job, running", "job", "/jobs/j", job("running"), told)
	add("job, waiting, looking only", "job", "/jobs/j", pages.Job{JID: "j", Klass: "Send", Queue: "mail", State: "waiting", Asks: "Why it does not run", Data: "{}", DataCut: "It is too big to be shown.", Damage: "its priority is no number"}, looks)
	add("recurring", "recurring", "/recurring", pages.RecurringList{Rows: []pages.Recurring{recur()}, Says: "1 of 1"})
	add("recurring, empty", "recurring", "/recurring", pages.RecurringList{}, looks)
	add("recurring job", "recur", "/recurring/nightly", pages.RecurringPage{Recurring: recur(), Facts: facts(), Data: "{}", Runs: []float64{1.7e9, 1.7001e9}})
	add("workers", "workers", "/workers", pages.Workers{Rows: []pages.Worker{{Name: "web2-4711-mail", Host: "web2", PID: "4711", Pool: "mail", Seen: "2 s ago", Jobs: 3, Stalled: 1, Odd: "x"}, {Name: "other", Seen: "1 d ago"}}, Says: "2 of 2 workers"})
	add("workers, empty", "workers", "/workers", pages.Workers{})
	add("worker", "worker", "/workers/w", pages.WorkerPage{Worker: pages.Worker{Name: "web2-4711-mail", Host: "web2", PID: "4711", Pool: "mail", Seen: "2 s ago"}, List: jobs(false)})
	add("host", "host", "/supervisors/web3/7", pages.HostPage{Host: hosts()[0], Name: "web3", PID: 7, Facts: facts(), Says: "It has more.", Pools: []pages.HostPool{{Name: "mail", State: "slow", Trouble: "It goes slowly.", Slots: []pages.SlotRow{slot(1)}}, {Name: "render", State: "flows"}}})
	add("tail", "tail", "/supervisors/web3/7/mail/1", pages.TailPage{Host: "web3", HostHref: "/supervisors/web3/7", Pool: "mail", SlotRow: slot(1), Lines: lines()})
	add("tail, silent", "tail", "/supervisors/web3/7/mail/1", pages.TailPage{Host: "web3", HostHref: "/supervisors/web3/7", Pool: "mail", Wrong: "It did not tell in time."})
	key := pages.Key{Queue: "orders", Name: "customer-17", Holder: "8f2c", Behind: 3, Waits: "12 s"}
	add("keys", "keys", "/queues/orders/keys", pages.Keys{Queue: "orders", By: "name", Rows: []pages.Key{key, {Queue: "orders", Name: "b", Nobody: "nobody; a supervisor gives it on"}}, Says: "2 of 2 keys", First: "/a", Next: "/b", Deeds: deeds()[2:]})
	add("keys, none", "keys", "/queues/orders/keys", pages.Keys{Queue: "orders", By: "blocked", Empty: "Nobody stands behind another."}, looks)
	add("key", "key", "/queues/orders/keys/customer-17", pages.KeyPage{Key: key, State: "failed", Why: []string{"It has failed."}, Next: jobs(false), Deeds: deeds()})
	add("key, nobody", "key", "/queues/orders/keys/b", pages.KeyPage{Key: pages.Key{Queue: "orders", Name: "b", Nobody: "nobody"}, Next: pages.Jobs{Empty: "Nobody stands behind."}}, looks)
	add("parked", "parked", "/parked", pages.ParkedPage{Rows: []pages.Parked{{JID: "8f2c", Klass: "Pay", Queue: "orders", Correlation: "order-17", Deadline: 1.7e9, Left: "in 58 min", Deeds: deeds()}, {JID: "9a", Klass: "Pay", Queue: "orders", Correlation: "order-18", Left: "in vain", Late: true}}, Queue: "orders", Looked: "2 parked, of 40 looked at", First: "/parked", Next: "/parked?cursor=x"})
	add("parked, empty", "parked", "/parked", pages.ParkedPage{}, looks)
	add("doctor", "doctor", "/doctor", pages.Doctor{At: 1.7e9, Ago: "2 min ago", Says: "2 things.", Over: "It was not looked to the end: Redis does not answer.", Elsewhere: "`oarlock doctor` looks at a host.", Deeds: deeds()[:1], Rows: []pages.Finding{
		{Subject: "keys", Text: "j stands in two places", Word: "bad", Tone: pages.Bad, Advice: "puts it back", Command: "oarlock doctor --fix"}, {Subject: "clock", Text: "2 s apart", Word: "warning", Tone: pages.Warn, Advice: "Let both hosts take their time from NTP."}, {Subject: "user", Text: "root", Word: "note"}, {Subject: "version", Text: "Redis 7", Word: "ok", Tone: pages.Good}}})
	add("doctor, never", "doctor", "/doctor", pages.Doctor{}, looks)
	add("tags", "tags", "/tags", pages.Tags{Rows: []string{"urgent", "large"}, First: "/tags", Next: "/tags?at=100"})
	add("tags, empty", "tags", "/tags", pages.Tags{})
	add("tracked", "jobs", "/tracked", pages.JobsPage{Heading: "Tracked jobs", Says: "What happens to these is published.", List: jobs(false), Gone: []string{"j9"}})
	add("throttles", "throttles", "/throttles", pages.Throttles{Rows: []pages.Throttle{{ID: "api", Maximum: 5, Limit: "5, 100/10s", Held: 5, Waits: 3, TTL: 60, Damage: "x"}}, Says: "1 of 1 throttle"})
	add("throttles, empty", "throttles", "/throttles", pages.Throttles{}, looks)
	add("throttle", "throttle", "/throttles/api", pages.ThrottlePage{Throttle: pages.Throttle{ID: "api", Maximum: 5, Held: 5, Waits: 1, TTL: 9}, Holders: jobs(false), Waiters: pages.Jobs{Empty: "No job waits for it."}, Idle: []string{"j1 holds it, but does not run."}})
	add("throttle, by value", "throttle", "/throttles/region", pages.ThrottlePage{Throttle: pages.Throttle{ID: "region", Maximum: 100, Held: 90, Waits: 7}, Ruled: "Somebody set this limit by hand.", Rate: "It starts 100 in 10 s at most, which lets one start now.", Oldest: "12 s", By: "/region",
		Values:    []pages.Value{{Name: "east", Share: "40 %", Cap: 40, Part: 100, Used: 40, Waits: 7}, {Name: "*", Share: "10 %", Cap: 10, Used: 1, Part: 10}, {Name: "x"}},
		Waitlists: []pages.Waitlist{{Queue: "orders", Party: "east", For: "12 s", Places: 1, Jobs: 7}}, Holders: jobs(false), Waiters: jobs(false)}, looks)
	add("rules", "rules", "/rules", pages.Rules{Version: "3", Installed: 1.7e9, Owner: "web2:/etc/oarlock/config.toml", Differs: []string{"throttles.erp would be added: limit 5"}, Deeds: deeds()[1:2],
		Rows:    []pages.Rule{{Entry: "throttles.erp", Says: "limit 5, rate 100/10s", Owner: "web2:/etc/oarlock/config.toml", Revision: 3, Href: "/throttles/erp", ByHand: "by hand 9", Deeds: deeds()[2:]}, {Entry: "klass.Pay", Says: "weight 2", Owner: "web3"}},
		Klasses: []pages.Klass{{Name: "Pay*", Takes: "2 places", Queues: []string{"orders", "mail"}, Throttles: []string{"erp"}, Windows: []string{"night", "noon"}, AtPut: []string{"priority 5", "3 retries"}, AtWork: []string{"timeout 30s", "waits quartic from 1s between attempts"}}, {Name: "Other", Takes: "none"}},
		Asked:   pages.Asked{Queue: "orders", Klass: "Pay", Data: "{}", Weight: "2", Windows: "night; 12:00-13:00", Zone: "Europe/Berlin", Bypass: true}, Needs: &pages.Needs{Says: []string{"It needs 2 places of each throttle below."}, Places: []pages.NeedsPlace{{ID: "erp", Has: "5 places", Used: 3}}, Order: "higher priority first"}})
	add("rules, none", "rules", "/rules", pages.Rules{Asked: pages.Asked{Queue: "orders"}, Wrong: "{ is no JSON."}, looks)
	add("windows", "windows", "/windows", pages.Windows{Rows: []pages.Window{{Name: "night", Spec: "22:00-06:00; -2026-12-24", Zone: "Europe/Berlin", Open: true, Change: "Mon 2026-11-23 22:00 CET", At: 1.7e9, Spans: []string{"a – b"}, Queues: []string{"orders"}, Klasses: []string{"Pay"}}, {Name: "never", Spec: "Mon 22:00-06:00", Zone: "UTC"}}, Spec: "Mon 10:00-11:00", Zone: "UTC", Spans: []string{"a – b"}, Wrong: "It does not open within 400 days."})
	add("windows, none", "windows", "/windows", pages.Windows{}, looks)
	list := pages.List{Name: "hworker:pics", Waiting: 4120, Progress: 2, Failed: 3, Broken: 1}
	add("lists", "lists", "/lists", pages.Lists{Rows: []pages.List{list, {Name: "new-orders", Damage: "its key is a hash"}}, Says: "2 lists", First: "/lists", Next: "/lists?cursor=0+17"})
	add("lists, none", "lists", "/lists", pages.Lists{}, looks)
	parts := []pages.State{{Name: "waiting", Jobs: 4120, Href: "/a"}, {Name: "failed", Jobs: 3, Href: "/b", Here: true}}
	add("list, failed", "list", "/lists/hworker:pics", pages.ListPage{List: list, Part: "failed", Parts: parts, Rows: []pages.Entry{{Text: `["a",{"n":1}]`, JID: "a", When: "2 min ago", Why: "exit-1: cannot open"}, {Text: "x"}}, Says: "1 to 2 of 3", First: "/a", Next: "/b", Deeds: deeds()})
	add("list, nothing", "list", "/lists/plain", pages.ListPage{List: pages.List{Name: "plain", Damage: "its key is a hash"}, Part: "waiting", Empty: "Nothing waits there."}, looks)
	add("search", "search", "/search", pages.Search{Help: true})
	add("search, found", "search", "/search?q=x", pages.Search{Term: "x", Exact: []pages.Hit{{Kind: "job", Name: "x", Href: "/jobs/x", Says: "failed"}}, List: jobs(false), Looked: "Looked at 10,000 of 640,000; 12 found.", Onward: "/search?q=x&cursor=y"})
	add("search, wrong", "search", "/search?q=x:", pages.Search{Term: "tag:", Wrong: "tag: has no value.", Help: true})
	add("settings", "settings", "/settings", pages.Settings{Rows: []pages.Setting{{Name: "heartbeat", Value: "60", Default: true}, {Name: "mail-max-concurrency", Value: "5"}}})
	add("settings, looking only", "settings", "/settings", pages.Settings{Rows: []pages.Setting{{Name: "heartbeat", Value: "60"}}}, looks)
	add("events", "events", "/events", pages.Events{Lines: lines(), Says: "What happened lately."})
	add("audit", "audit", "/audit", pages.Deeds{Rows: []pages.Done{{At: 1.7e9, Who: "anna", From: "web 127.0.0.1", Action: "pause queue", What: "mail", Result: "done", Good: true}, {At: 1.7e9, Who: "bob", Action: "stop", Result: "no_right", Count: "3"}}})
	add("audit, empty", "audit", "/audit", pages.Deeds{})
	add("help", "help", "/help", pages.Help{Keys: facts(), Words: facts(), Switch: "/prefer?keys=off"})
	add("login", "login", "/login", pages.Login{Wrong: "This token is not known here.", Back: "/queues"}, func(p *pages.Page) { p.Who, p.Live, p.Write, p.Headline = "", false, false, pages.Headline{} })
	add("trouble", "trouble", "/jobs/x", pages.Trouble{What: "It is not here", Why: "There is no job x.", Does: "It may have been canceled.", Links: []pages.Link{{Href: "/", Text: "Overview"}}})
	add("form", "form", "/jobs/x/move", pages.Form{Heading: "Move x", Says: []string{"It keeps its data."}, Action: "/jobs/x/move", Hidden: fields, Label: "Move", Back: "/jobs/x", Wrong: "Name a queue.", Danger: true,
		Asks: []pages.Ask{{Name: "to", Label: "into queue", Wanted: true}, {Name: "n", Label: "number", Kind: "number", Hint: "a number"}, {Name: "data", Label: "data", Kind: "area", Value: "{}"}, {Name: "none", Label: "none", Kind: "check", Value: "1"}, {Name: "end", Label: "then", Choices: []pages.Choice{{Value: "a", Text: "one"}, {Value: "b", Text: "other"}}}}})
	return all
}

func deeds() []pages.Deed {
	return []pages.Deed{{Label: "Retry", Action: "/x", Fields: []pages.Field{{Name: "jid", Value: "j"}}, Tone: pages.Good}, {Label: "Move…", Form: "/y"}, {Label: "Cancel…", Form: "/z", Tone: pages.Bad}}
}

func spark() chart.Line {
	return chart.Spark("Done", []float64{1, 5, 3, math.NaN(), 2, 8}, func(steps int) string { return pages.Span(float64(steps)*10) + " ago" }, pages.RateWords)
}

func columns() chart.Bars {
	return chart.Columns("Ran", []string{"under 1 s", "1 s", "a day"}, []float64{5, 0, 1}, pages.RateWords)
}

func facts() []pages.Fact {
	return []pages.Fact{{Name: "attempt", Value: "2 of 6"}, {Name: "worker", Value: "web2", Href: "/workers/web2"}}
}

func lines() []pages.LogLine {
	return []pages.LogLine{{At: "10:02:11.000", Stream: "stdout", JID: "j", Text: "connected to mx1"}, {At: "10:02:12.000", Stream: "stderr warn", Text: "slow"}}
}

func hosts() []pages.Host {
	return []pages.Host{{Name: "web2", Here: true, Version: "1.2.3", Up: 9000, State: "ready", Pools: 2, Busy: 3, Children: 8, Redis: "ok", Page: "https://web2.example/oarlock/"}, {Name: "web3", Inside: "/supervisors/web3/7", State: "draining", Redis: "is away", Trouble: "1 pool in a roll"}}
}

func queues() []pages.Queue {
	return []pages.Queue{{Name: "mail", Waiting: 4120, Running: 64, Scheduled: 3, Lag: 38, Outlook: "in 13 min (4 min if no more came)", Stalled: 2, Limit: 100,
		Keys: "12 keys; 40 jobs behind others of 3 keys, the longest for 5 min", Windows: []string{"window night is shut; it opens Mon 2026-11-23 22:00:00 CET", "window always is open, and stays so"}}, {Name: "render", Waiting: 1900, Paused: true, Outlook: "never: paused", Damage: "ql:q:render-work is a string"}}
}

func groups() []pages.Group {
	return []pages.Group{{Name: "exit-1", Jobs: 287, When: "2 min ago", Klass: "Resize", Queue: "thumbs", Message: "cannot open cat.jpg", Newest: "j1"}, {Name: "timeout", Jobs: 13}}
}

func overview() pages.Overview {
	return pages.Overview{
		Wrong:   []pages.Notice{{Tone: pages.Bad, Text: "Pool render on web2 goes slowly: exit-1", Links: []pages.Link{{Href: "/pools/render", Text: "see why"}}}, {Tone: pages.Warn, Text: "Pool mail rolls: 3 of 8 slots.", Deeds: deeds()}},
		Figures: []pages.Figure{{Key: "done", Name: "Done", Value: "312/s", Note: "here", Line: spark()}, {Key: "redis", Name: "Redis", Value: "0.4 ms", Note: "lease margin 11 s of 20 s"}},
		Queues:  queues(), Total: 412, Groups: groups(), Failed: 300, Hosts: hosts(), Silent: "18 of 20 supervisors answered.",
	}
}

func slot(n int) pages.SlotRow {
	percent := 40.0
	run := supervisor.RunSnapshot{JID: "8f2c", Klass: "Send", Queue: "mail", Run: "r", Attempt: 2, Age: 12, Lease: 18, TimeoutLeft: 48, Percent: &percent, Progress: "sending"}
	return pages.SlotRow{
		SlotSnapshot: supervisor.SlotSnapshot{Slot: n, State: "busy", PID: 4711, Generation: 5, Age: 180, Jobs: 812, Memory: 98 << 20, LastOutput: 1},
		Href:         "/pools/mail/1", Runs: []pages.SlotRun{{RunSnapshot: run, Done: "40 %"}}, Works: "Send 8f2c, attempt 2, 12 s", Last: "connected to mx1", New: n == 1, Deeds: deeds(),
	}
}

func pool() pages.PoolRow {
	return pages.PoolRow{PoolSnapshot: supervisor.PoolSnapshot{
		Name: "mail", Worker: "web2-4711-mail", Mode: "reuse", Queues: []string{"mail", "mail-*"}, Children: 2, Least: 2, Most: 8, Generation: 5, Rolling: true, Ready: 1,
		Roll:      &supervisor.RollSnapshot{From: 4, To: 5, Changed: 1, Of: 2, OnTrial: true, Ended: 3, Bad: 1, Slot: 2, JID: "8f2c", Waits: 12, Since: 40},
		LastRolls: []supervisor.EndedRoll{{From: 3, To: 4, Result: "done", Took: 12, Ago: 9000}, {From: 2, To: 3, Result: "given_up", Message: "no such module", Took: 1, Ago: 99999}, {Result: "overtaken"}},
	}, State: "rolling", Trouble: "A call to Redis has an unknown outcome", Busy: 1, Working: []int{1}, Idle: 1}
}

func poolPage() pages.PoolPage {
	return pages.PoolPage{PoolRow: pool(), Figures: overview().Figures, Slots: []pages.SlotRow{slot(1), slot(2)}, Deeds: deeds(), Scale: &pages.Scale{Action: "/pools/mail/scale", Now: 2, Says: "Between 2 and 8."}, Settings: facts(), Sum: facts()}
}

func jobs(failed bool) pages.Jobs {
	return pages.Jobs{
		Caption: "Some jobs", Says: "2 of 4,120 jobs shown", First: "/a", Next: "/b", Print: "p", Failed: failed,
		Rows: []pages.JobRow{
			{JID: "8f2c", Klass: "Resize", Queue: "thumbs", Key: "cat.jpg", State: "failed", When: "2 min ago", Attempt: "6 of 6", Crashes: 1, Message: "cannot open cat.jpg", Data: `{"path":"cat.jpg"}`, Tags: []string{"urgent"}, Deeds: deeds()},
			{JID: "9a", State: "gone"},
		},
	}
}

// choosing lets jobs be chosen.
func choosing(j pages.Jobs) pages.Jobs {
	j.Choose, j.Action = true, "/jobs"
	j.Chosen = []pages.Button{{Label: "Retry", Value: "retry"}, {Label: "Drop…", Value: "drop", Tone: pages.Bad}}
	for i := range j.Rows[:1] {
		j.Rows[i].Ref, j.Rows[i].Buttons = "failed-1.5~8f2c", []pages.Button{{Label: "Retry", Value: "retry failed-1.5~8f2c", Tone: pages.Good}}
	}
	return j
}

func story() *pages.Story {
	return &pages.Story{JID: "8f2c", Title: "Resize in thumbs, attempt 6: exit-1", Told: []string{"Attempt 6 ran for 3.2 s.", "It left with exit code 1."}, Stderr: "Traceback (most recent call last):\n  cannot open cat.jpg", Stdout: "reading", OOM: "memory.events says oom_kill 1"}
}

func job(state string) pages.Job {
	j := pages.Job{
		JID: "8f2c", Klass: "Resize", Queue: "thumbs", State: state, Says: "It failed as exit-1, 2 min ago.", Deeds: deeds(), Asks: "Why it stands still", Print: "p",
		Why:   []pages.Reason{{Text: "It has failed: exit-1: cannot open cat.jpg", Deeds: deeds()[:1]}, {Text: "It waits for 77.", Links: []pages.Link{{Href: "/jobs/77", Text: "see what holds that"}}}},
		Facts: facts(), Story: story(), Data: "{\n  \"path\": \"cat.jpg\"\n}", DataSize: 18, Redacted: true, Checkpoint: "7", DependsOn: jobs(false).Rows, Dependents: jobs(false).Rows, Throttles: []string{"api"}, Tags: []string{"urgent"},
		History: []pages.Moment{{At: 1.7e9, Ago: "2 min ago", Local: "11:00:00 CET", What: "failed", Says: "failed as exit-1", Inferred: true}},
	}
	if state == "running" {
		j.Runs, j.Log = &pages.Run{Pool: "mail", Href: "/pools/mail/1", Slot: 1, PID: 4711, Age: 12, Left: 48, Done: "40 %", Progress: "sending"}, lines()
	}
	return j
}

func recur() pages.Recurring {
	return pages.Recurring{JID: "nightly", Klass: "Report", Queue: "reports", Schedule: "0 4 * * Mon-Fri Europe/Berlin", Next: "in 3 h", Count: 12, Last: "due 20 h ago", LastHref: "/jobs/nightly@1", State: "paused", Deeds: deeds()}
}
