package queue

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"oarlock/internal/window"
	"oarlock/queue/internal/wire"
)

// windowed makes a queue whose jobs start within these windows, by their specs.
func (w *gateWorld) windowed(queue string, margin int, specs ...string) {
	w.t.Helper()
	text := ""
	for i, spec := range specs {
		text += fmt.Sprintf(`,{"name":"w%d","spec":%q,"margin":%d}`, i, spec, margin)
	}
	w.rule(map[string]string{queue: `{"shape":"s","windows":[` + text[1:] + `],"klass":{"Free":{"weight":1,"windows":[{"name":"any","spec":"UTC|00:00-24:00"}]}}}`}, nil)
}

// takeAll takes all that may start now, and lets the world learn what is wanted.
func (w *gateWorld) takeAll(queue string) (jids []string) {
	w.t.Helper()
	for {
		raw := w.call("ruled", exchangeArgs("w", nil, nil, Take{Queues: []string{queue}, Count: 1000})...)
		reply := must(readExchange(raw, w.now, nil, []string{queue}))(w.t)
		for _, b := range reply.Broken {
			w.t.Errorf("broken: %+v", b)
		}
		for _, job := range reply.Jobs {
			jids = append(jids, job.JID)
		}
		w.exchange("w", done(reply.Jobs...), Take{})
		rules := wire.Reader{Items: raw.([]any)[exchangeWidth+2:]}
		if args := openings(rules.List(), w.now); len(args) > 0 {
			w.call("learn", args...)
		}
		if !reply.More {
			return jids
		}
	}
}

// Through a change of the clocks in each of twelve zones a job starts when the clock on the wall is inside, and at no
// other time; and none is forgotten.
func TestWindowsThroughChangesOfTheClocks(t *testing.T) {
	w := newGateWorld(t)
	for _, tt := range []struct{ zone, at string }{
		{"Europe/Berlin", "2026-03-29T00:00:00Z"}, {"Europe/London", "2026-10-25T00:00:00Z"}, {"America/New_York", "2026-03-08T06:00:00Z"},
		{"America/Sao_Paulo", "2018-11-04T02:00:00Z"}, {"America/St_Johns", "2026-11-01T03:00:00Z"}, {"Australia/Lord_Howe", "2026-04-04T14:00:00Z"},
		{"Australia/Sydney", "2026-10-03T15:00:00Z"}, {"Africa/Casablanca", "2026-02-15T01:00:00Z"}, {"Pacific/Apia", "2011-12-30T00:00:00Z"},
		{"Asia/Tehran", "2022-03-21T20:00:00Z"}, {"Asia/Kathmandu", "2026-01-01T00:00:00Z"}, {"America/Havana", "2026-11-01T04:00:00Z"},
	} {
		t.Run(tt.zone, func(t *testing.T) {
			w.t = t
			ok(t, w.redis.FlushDB(t.Context()).Err())
			spec := tt.zone + "|02:15-02:45|Mon-Fri 22:00-00:30"
			open := must(window.ParseText(spec))(t)
			change := must(time.Parse(time.RFC3339, tt.at))(t)
			from := change.Add(-20 * time.Hour)
			w.now = float64(from.Unix())
			w.windowed("q", 0, spec)
			waiting, put, started := 0, 0, 0
			for at := from; at.Before(change.Add(28 * time.Hour)); at = at.Add(10 * time.Minute) {
				w.now = float64(at.Unix())
				w.put(Put{Queue: "q", JID: fmt.Sprintf("j%d", put), Klass: "K"})
				put, waiting = put+1, waiting+1
				w.now = float64(at.Unix()) + 1 // those that are due at one moment are a microsecond apart
				n := len(w.takeAll("q"))
				switch inside := open.Inside(time.Unix(int64(w.now), 0)); {
				case n > 0 && !inside:
					t.Fatalf("%d jobs started at %v", n, at.In(open.Zone()))
				case n != waiting && inside:
					t.Fatalf("of %d jobs %d started at %v", waiting, n, at.In(open.Zone()))
				}
				waiting, started = waiting-n, started+n
			}
			never(t, started == 0, "none started")
		})
	}
}

// A thousand jobs wait as their window shuts: they start when it opens, in the order that they had.
func TestJobsWaitForTheirWindowInOrder(t *testing.T) {
	w := newGateWorld(t)
	noon := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	w.now = float64(noon.Unix())
	w.windowed("q", 60, "UTC|05:00-07:00", "UTC|22:00-23:00")
	w.call("learn", openings([]any{"UTC|05:00-07:00", "UTC|22:00-23:00", "UTC|00:00-24:00"}, w.now)...)
	w.put(putsOf(1000, func(i int) Put {
		return Put{Queue: "q", JID: fmt.Sprintf("j%d", 1000-i), Klass: "K", Priority: new(float64(i / 500))}
	})...)
	w.put(Put{Queue: "q", JID: "free", Klass: "Free"})
	if jids := w.takeAll("q"); len(jids) != 1 || jids[0] != "free" {
		t.Fatalf("at noon %q start", jids)
	}
	ctx := t.Context()
	held := w.redis.ZRangeWithScores(ctx, "ql:q:q-scheduled", 0, -1).Val()
	stop(t, len(held) != 1000 || w.redis.ZCard(ctx, "ql:q:q-work").Val() != 0, "%d are held", len(held))
	if opens := float64(noon.Add(10 * time.Hour).Unix()); held[0].Score != opens || held[999].Score >= opens+1 {
		t.Errorf("they are due from %v to %v, want from %v", held[0].Score, held[999].Score, opens)
	}
	if f := w.redis.HMGet(ctx, "ql:j:j1", "state", "remaining", "oarlock-crashes").Val(); f[0] != "scheduled" || f[1] != "5" || f[2] != nil {
		t.Errorf("one of them is %v", f)
	}
	if at, err := w.client.Whereabouts(ctx, "q", "j500"); err != nil || at.Place != "scheduled" || !at.Window || at.Due != held[0].Score {
		t.Errorf("the first of them is at %+v, %v", at, err)
	}
	w.now = float64(noon.Add(10*time.Hour+59*time.Minute).Unix()) + 30 // within a minute of the end
	if jids := w.takeAll("q"); len(jids) != 0 {
		t.Errorf("%d start so late", len(jids))
	}
	w.now = float64(noon.Add(17*time.Hour).Unix()) + 1
	jids := w.takeAll("q")
	if len(jids) != 1000 || jids[0] != "j500" || jids[499] != "j1" || jids[500] != "j1000" || jids[999] != "j501" {
		t.Errorf("%d start, %.20q …", len(jids), jids)
	}
}

// A delay that ends inside of a window is kept; one that ends outside waits for the opening after it.
func TestDelaysAndWindows(t *testing.T) {
	w := newGateWorld(t)
	noon := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	w.now = float64(noon.Unix())
	w.windowed("q", 0, "UTC|05:00-07:00", "UTC|22:00-23:00")
	w.call("learn", openings([]any{"UTC|05:00-07:00", "UTC|22:00-23:00"}, w.now)...)
	w.put(Put{Queue: "q", JID: "inside", Klass: "K", Delay: 10*time.Hour + 30*time.Minute}, Put{Queue: "q", JID: "outside", Klass: "K", Delay: 12 * time.Hour})
	started := map[string]time.Duration{}
	for after := time.Duration(0); after < 20*time.Hour; after += 10 * time.Minute {
		w.now = float64(noon.Add(after).Unix()) + 1
		for _, jid := range w.takeAll("q") {
			started[jid] = after
		}
	}
	never(t, started["inside"] != 10*time.Hour+30*time.Minute || started["outside"] != 17*time.Hour, "they started after %v", started)
}

// Where no table tells, jobs wait some seconds, and the caller is asked for it; one that is to run out is asked for before.
func TestTablesOfWindowsAreAskedFor(t *testing.T) {
	w := newGateWorld(t)
	w.windowed("q", 0, "UTC|00:00-24:00", "not a window")
	w.put(Put{Queue: "q", JID: "j", Klass: "K"})
	if jids := w.takeAll("q"); len(jids) != 0 {
		t.Errorf("%q start, and nobody knows whether they may", jids)
	}
	w.now += 6
	if jids := w.takeAll("q"); len(jids) != 1 {
		t.Errorf("%q start when it is known", jids)
	}
	known := w.redis.HGetAll(t.Context(), "ql:oarlock:windows").Val()
	never(t, len(known) != 1, "known are %v", known)
	w.now += window.Horizon.Seconds() - 3*86400
	w.put(Put{Queue: "q", JID: "k", Klass: "K"})
	if jids := w.takeAll("q"); len(jids) != 1 {
		t.Errorf("%q start", jids)
	}
	if now := w.redis.HGetAll(t.Context(), "ql:oarlock:windows").Val(); now["UTC|00:00-24:00"] == known["UTC|00:00-24:00"] {
		t.Error("it was not told further")
	}
	never(t, w.call("learn", "UTC|00:00-24:00", "o 5").(int64) != 0, "a table of the past was taken")
}

// A job that begins in a window which stops what runs is told when that shuts; not so where another window is open, or one that lets it end.
func TestJobsAreToldWhenTheirWindowShuts(t *testing.T) {
	w := newGateWorld(t)
	day := w.now - float64(int64(w.now)%86400)
	w.now = day + 12*3600
	opened := func(spans string, stop bool) string {
		open := must(window.Parse(window.Spec{Open: []string{spans}}))(t)
		spec := window.Spec{Open: []string{spans}}.Text()
		ok(t, w.client.redis.HSet(t.Context(), "ql:oarlock:windows", spec, open.Table(time.Unix(int64(w.now), 0))).Err())
		return fmt.Sprintf(`{"name":"x","spec":%q,"stop":%v}`, spec, stop)
	}
	for name, tt := range map[string]struct {
		windows []string
		closes  float64
	}{
		"stop":             {[]string{"11:00-13:00 stop"}, day + 13*3600},
		"finish":           {[]string{"11:00-13:00"}, 0},
		"two that stop":    {[]string{"11:00-13:00 stop", "10:00-14:30 stop"}, day + 14.5*3600},
		"one lets it end":  {[]string{"11:00-13:00 stop", "10:00-14:00"}, 0},
		"another is shut":  {[]string{"11:00-13:00 stop", "14:00-15:00"}, day + 13*3600},
		"it is never shut": {[]string{"00:00-24:00 stop"}, 0},
	} {
		w.rule(map[string]string{name: `{"shape":"s"}`}, nil)
		text := ""
		for _, spans := range tt.windows {
			spans, stop := strings.CutSuffix(spans, " stop")
			text += "," + opened(spans, stop)
		}
		ok(t, w.client.redis.HSet(t.Context(), "ql:oarlock:rules", "q:"+name, `{"shape":"s","windows":[`+text[1:]+`]}`).Err())
		w.put(Put{Queue: name, JID: name, Klass: "K"})
		jobs := w.take("w", 1, name)
		never(t, len(jobs) != 1 || jobs[0].Closes != tt.closes, "%s: %+v, want it to shut at %v", name, jobs, tt.closes)
	}
}

// Jobs that a window holds start when rules name it no more, in the order that they had; what somebody has put off stays so. Until those were looked
// for, whoever works the queue is told that it is ruled, for else nobody would look: also where a take comes before.
func TestJobsOfAWindowThatIsTakenAway(t *testing.T) {
	w := newGateWorld(t)
	w.rule(map[string]string{"q": `{"shape":"a","windows":[{"name":"never","spec":"UTC|Mon 00:00-00:00:01"}]}`}, nil)
	ok(t, w.redis.HSet(t.Context(), "ql:oarlock:windows", "UTC|Mon 00:00-00:00:01", fmt.Sprintf("s %.0f %.0f", w.now+9e6, w.now+1e6)).Err())
	w.put(putsOf(700, func(int) Put { return Put{Queue: "q", Klass: "K"} })...)
	w.put(Put{JID: "later", Queue: "q", Klass: "K", Data: []byte("{}"), Delay: 1000 * time.Hour})
	for range 20 {
		if got := w.take("w1", 100, "q"); len(got) != 0 {
			t.Fatalf("%d run while the window is shut", len(got))
		}
	}
	if n := w.redis.ZCard(t.Context(), "ql:q:q-scheduled").Val(); n != 701 {
		t.Fatalf("%d wait for it", n)
	}
	w.rule(nil, nil)
	ruled := func() bool {
		seen, _, err := w.client.Outlook(t.Context(), []string{"q"})
		ok(t, err)
		return seen[0].Ruled
	}
	if jobs := w.take("w1", 1, "q"); len(jobs) > 0 || !ruled() {
		t.Errorf("%d run, and that somebody has to look for others is told: %v", len(jobs), ruled())
	}
	for n := 0; n < 9 && ruled(); n++ {
		w.now++
		w.tend()
		if w.redis.Exists(t.Context(), "ql:oarlock:reconsider").Val() == 0 {
			break
		}
	}
	w.now++
	got := w.take("w1", 1000, "q")
	never(t, ruled(), "it is ruled though nothing is left that only rules let stand so")
	if len(got) != 700 || got[0].JID != "j0000" || got[699].JID != "j0699" {
		t.Errorf("%d run, %s first", len(got), got[0].JID)
	}
	if n := w.redis.Exists(t.Context(), "ql:oarlock:reconsider").Val(); n != 0 {
		t.Error("it is looked at again for ever")
	}
}

// low makes lower priorities come first in some queues, whose compiled rules are given.
func (w *gateWorld) low(rules string, queues ...string) {
	w.t.Helper()
	known := must(w.client.Rules(w.t.Context()))(w.t)
	r := NewRules{Doc: "{}", LowFirst: queues}
	for _, queue := range queues {
		if rules != "" {
			r.Queues = append(r.Queues, RuledQueue{Queue: queue, Rules: rules})
		}
	}
	must(w.client.InstallRules(w.t.Context(), known.Version, r))(w.t)
}

// Lower numbers come first; ours see the number that was said, whoever looks, changes or moves it, and other clients what the protocol
// means by it.
func TestLowFirst(t *testing.T) {
	w := newGateWorld(t)
	ctx, c := t.Context(), w.client
	w.low("", "low", "other")
	p := func(n float64) *float64 { return &n }
	w.put(Put{Queue: "low", JID: "seven", Priority: p(7)}, Put{Queue: "low", JID: "none"}, Put{Queue: "low", JID: "one", Priority: p(1)},
		Put{Queue: "low", JID: "zero", Priority: p(0)}, Put{Queue: "low", JID: "half", Priority: p(0.1)}, Put{Queue: "high", JID: "high", Priority: p(3)})
	priority := func(jid string) float64 {
		t.Helper()
		job := must(c.Get(ctx, jid))(t)
		return job.Priority
	}
	stored := func(jid string) string { return c.redis.HGet(ctx, "ql:j:"+jid, "priority").Val() }
	for jid, want := range map[string]struct {
		shown  float64
		stored string
	}{"seven": {7, "-7"}, "none": {100, "-100"}, "one": {1, "-1"}, "zero": {0, "0"}, "half": {0.1, "-0.10000000000000001"}, "high": {3, "3"}} {
		if got := priority(jid); got != want.shown || stored(jid) != want.stored {
			t.Errorf("%s has %v, stored as %s", jid, got, stored(jid))
		}
	}
	ok(t, c.SetPriority(ctx, "none", 5))
	ok(t, c.SetPriority(ctx, "high", 4))
	seen := must(c.Get(ctx, "seven"))(t)
	change := seen.Amend(AmendPriority)
	change.Priority = 0.5
	amended := must(c.Amend(ctx, []Amendment{change}))(t)
	if priority("none") != 5 || priority("high") != 4 || priority("seven") != 0.5 {
		t.Errorf("changed: %v, %v, %v; %+v", priority("none"), priority("high"), priority("seven"), amended)
	}
	w.put(Put{Queue: "low", JID: "one"}) // put again without one
	if priority("one") != 1 {
		t.Errorf("put again it has %v", priority("one"))
	}
	var order []string
	for _, job := range w.take("w", 9, "low") {
		order = append(order, fmt.Sprintf("%s %v", job.JID, job.Priority))
	}
	if want := []string{"zero 0", "half 0.1", "seven 0.5", "one 1", "none 5"}; !slices.Equal(order, want) {
		t.Errorf("taken are %q, want %q", order, want)
	}
	args, _ := wishArgs("w", []Wish{{JID: "zero", Popped: w.now, Target: "none", Verb: "priority", Priority: 9}})
	if answer := w.call("wish", args...); priority("none") != 9 || stored("none") != "-9" {
		t.Errorf("wished for it has %v: %v", priority("none"), answer)
	}
	w.put(Put{Queue: "high", JID: "seven"})
	if priority("seven") != 0.5 || stored("seven") != "0.5" {
		t.Errorf("moved it has %v, stored as %s", priority("seven"), stored("seven"))
	}
	one := w.take("w", 1, "high")[0]
	reply := w.exchange("w", []Settlement{{JID: one.JID, Queue: "high", Popped: one.Popped, Action: Complete, Next: "other"}}, Take{})
	if reply.Results[0].State != "waiting" || priority(one.JID) != one.Priority || stored(one.JID) != "-4" {
		t.Errorf("it went on as %+v, with %v, stored as %s", reply.Results[0], priority(one.JID), stored(one.JID))
	}
	last := w.take("w", 1, "other")[0]
	w.exchange("w", done(last), Take{})
	if priority(last.JID) != last.Priority || stored(last.JID) != "-4" { // it is in no queue any more
		t.Errorf("complete it has %v, stored as %s", priority(last.JID), stored(last.JID))
	}
	w.put(Put{Queue: "other", JID: "stays"})
	if cleared, err := c.Clear(ctx, Clearing{Queue: "other", To: "high"}); err != nil || len(cleared.Left) != 1 {
		t.Errorf("all at once: %+v, %v", cleared, err)
	}
}

// TestTheTableOfTimesAndPriorities: by the minute, and within that the lower number first.
func TestTheTableOfTimesAndPriorities(t *testing.T) {
	w := newGateWorld(t)
	w.low(`{"shape":"a","slice":60}`, "q")
	start := 1763700000.0 - 1763700000%3600
	var want []string
	for _, job := range []struct{ minute, priority float64 }{{40, 7}, {33, 100}, {32, 700}, {40, 1}, {33, 50}} {
		w.now = start + 60*job.minute
		w.put(Put{Queue: "q", JID: fmt.Sprintf("%v/%v", job.minute, job.priority), Priority: &job.priority})
	}
	w.now = start + 3600
	for _, job := range w.take("w", 9, "q") {
		want = append(want, job.JID)
	}
	never(t, !slices.Equal(want, []string{"32/700", "33/50", "33/100", "40/1", "40/7"}), "taken are %q", want)
}

// A job that waits for an answer has no place of a throttle whose rules say so, and asks for it again, before those that came in later.
func TestPlacesThatAreFreeWhileParked(t *testing.T) {
	w := newGateWorld(t)
	w.rule(map[string]string{"q": `{"shape":"a","throttles":["free","hold","by"],"by":{"by":["klass"]}}`},
		map[string]string{"free": `{"limit":1,"free":true,"patience":60}`, "hold": `{"limit":9,"patience":60}`, "by": `{"limit":9,"each":1,"by":["klass"],"free":true,"patience":60}`})
	w.put(Put{Queue: "q", JID: "asks", Klass: "K"}, Put{Queue: "q", JID: "second", Klass: "K"}, Put{Queue: "q", JID: "third", Klass: "K"})
	asks := w.take("w", 9, "q")
	stop(t, len(asks) != 1 || asks[0].JID != "asks", "taken are %+v", asks)
	second := w.exchange("w", []Settlement{{JID: "asks", Queue: "q", Popped: asks[0].Popped, Action: Park, Correlation: "c", Delay: 1e12}}, Take{Queues: []string{"q"}, Count: 9}).Jobs
	if len(second) != 1 || second[0].JID != "second" || w.many("free") != 1 || w.many("hold") != 2 || w.many("by=K") != 1 {
		t.Fatalf("taken while it waits: %+v; of free are held %d, of hold %d, of by=K %d", second, w.many("free"), w.many("hold"), w.many("by=K"))
	}
	answered := must(w.client.Respond(t.Context(), Response{Klass: "K", Correlation: "c"}))(t)
	if more := w.take("w", 9, "q"); len(more) != 0 || answered.Word != Resumed {
		t.Fatalf("answered (%s) it does not wait for its places: %+v", answered.Word, more)
	}
	w.tend("q")
	last := w.exchange("w", done(second...), Take{Queues: []string{"q"}, Count: 9}).Jobs
	if len(last) != 1 || last[0].JID != "asks" || last[0].Answer == nil || w.many("free") != 1 || w.many("hold") != 1 {
		t.Fatalf("when there is room goes on: %+v; of free are held %d, of hold %d", last, w.many("free"), w.many("hold"))
	}
	third := w.exchange("w", done(last...), Take{Queues: []string{"q"}, Count: 9}).Jobs
	stop(t, len(third) != 1 || third[0].JID != "third", "then: %+v", third)
	w.exchange("w", done(third...), Take{})
	if w.many("free")+w.many("hold")+w.many("by=K") != 0 {
		t.Errorf("at the end are held %d, %d, %d", w.many("free"), w.many("hold"), w.many("by=K"))
	}
}
