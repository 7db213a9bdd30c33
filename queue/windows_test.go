package queue

import (
	"fmt"
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
		reply, err := readExchange(raw, w.now, nil, []string{queue})
		must0(w.t, err)
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
			must0(t, w.redis.FlushDB(t.Context()).Err())
			spec := tt.zone + "|02:15-02:45|Mon-Fri 22:00-00:30"
			open, err := window.ParseText(spec)
			must0(t, err)
			change, err := time.Parse(time.RFC3339, tt.at)
			must0(t, err)
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
			if started == 0 {
				t.Error("none started")
			}
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
	if len(held) != 1000 || w.redis.ZCard(ctx, "ql:q:q-work").Val() != 0 {
		t.Fatalf("%d are held", len(held))
	}
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
	if started["inside"] != 10*time.Hour+30*time.Minute || started["outside"] != 17*time.Hour {
		t.Errorf("they started after %v", started)
	}
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
	if len(known) != 1 {
		t.Errorf("known are %v", known)
	}
	w.now += window.Horizon.Seconds() - 3*86400
	w.put(Put{Queue: "q", JID: "k", Klass: "K"})
	if jids := w.takeAll("q"); len(jids) != 1 {
		t.Errorf("%q start", jids)
	}
	if now := w.redis.HGetAll(t.Context(), "ql:oarlock:windows").Val(); now["UTC|00:00-24:00"] == known["UTC|00:00-24:00"] {
		t.Error("it was not told further")
	}
	if w.call("learn", "UTC|00:00-24:00", "o 5").(int64) != 0 {
		t.Error("a table of the past was taken")
	}
}

// A job that begins in a window which stops what runs is told when that shuts; not so where another window is open, or one that lets it end.
func TestJobsAreToldWhenTheirWindowShuts(t *testing.T) {
	w := newGateWorld(t)
	day := w.now - float64(int64(w.now)%86400)
	w.now = day + 12*3600
	opened := func(spans string, stop bool) string {
		open, err := window.Parse(window.Spec{Open: []string{spans}})
		must0(t, err)
		spec := window.Spec{Open: []string{spans}}.Text()
		must0(t, w.client.redis.HSet(t.Context(), "ql:oarlock:windows", spec, open.Table(time.Unix(int64(w.now), 0))).Err())
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
		must0(t, w.client.redis.HSet(t.Context(), "ql:oarlock:rules", "q:"+name, `{"shape":"s","windows":[`+text[1:]+`]}`).Err())
		w.put(Put{Queue: name, JID: name, Klass: "K"})
		jobs := w.take("w", 1, name)
		if len(jobs) != 1 || jobs[0].Closes != tt.closes {
			t.Errorf("%s: %+v, want it to shut at %v", name, jobs, tt.closes)
		}
	}
}

// Jobs that a window holds start when rules name it no more, in the order that they had; what somebody has put off stays so. Until those were looked
// for, whoever works the queue is told that it is ruled, for else nobody would look: also where a take comes before.
func TestJobsOfAWindowThatIsTakenAway(t *testing.T) {
	w := newGateWorld(t)
	w.rule(map[string]string{"q": `{"shape":"a","windows":[{"name":"never","spec":"UTC|Mon 00:00-00:00:01"}]}`}, nil)
	must0(t, w.redis.HSet(t.Context(), "ql:oarlock:windows", "UTC|Mon 00:00-00:00:01", fmt.Sprintf("s %.0f %.0f", w.now+9e6, w.now+1e6)).Err())
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
		must0(t, err)
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
	if ruled() {
		t.Error("it is ruled though nothing is left that only rules let stand so")
	}
	if len(got) != 700 || got[0].JID != "j0000" || got[699].JID != "j0699" {
		t.Errorf("%d run, %s first", len(got), got[0].JID)
	}
	if n := w.redis.Exists(t.Context(), "ql:oarlock:reconsider").Val(); n != 0 {
		t.Error("it is looked at again for ever")
	}
}
