package queue

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"oarlock/internal/window"
)

// wanting makes a world with rules: of queue q, with a limit of its own and a throttle, and of a window.
func wanting(t *testing.T) *gateWorld {
	w := newGateWorld(t)
	w.now = float64(time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC).Unix())
	night := window.Spec{Zone: "UTC", Open: []string{"22:00-06:00"}}
	open, err := window.Parse(night)
	ok(t, err)
	_, err = w.client.InstallRules(t.Context(), "", NewRules{
		Doc:       "{}",
		Queues:    []RuledQueue{{Queue: "q", Rules: `{"shape":"a","limited":true,"throttles":["erp"],"klass":{"Heavy":{"weight":3}}}`, Limit: 4}},
		Throttles: []RuledThrottle{{Name: "erp", Rules: `{"limit":4,"patience":60}`, Limit: 4}},
		Windows:   map[string]string{night.Text(): open.Table(time.Unix(int64(w.now), 0))},
		Named:     map[string]string{"night": fmt.Sprintf(`{"name":"night","spec":%q}`, night.Text())},
	})
	ok(t, err)
	return w
}

// refused puts a job that is not to be.
func (w *gateWorld) refused(put Put, why string) {
	w.t.Helper()
	before := w.dump()
	raw := w.call("put", appendPuts([]any{"w"}, []Put{put})...).([]any)[0]
	said, _ := raw.([]any)
	never(w.t, len(said) != 1 || !strings.Contains(fmt.Sprint(said[0]), why), "a put of %+v answers %v, want %q", put.Wants, raw, why)
	if after := w.dump(); after != before {
		w.t.Errorf("a put that is refused changes keys:\n%s\nbefore:\n%s", after, before)
	}
}

// dump is all that the hashes of the world hold.
func (w *gateWorld) dump() string {
	var all []string
	for _, key := range w.redis.Keys(w.t.Context(), "ql:*").Val() {
		all = append(all, fmt.Sprint(key, w.redis.HGetAll(w.t.Context(), key).Val()))
	}
	slices.Sort(all)
	return strings.Join(all, "\n")
}

// TestAJobSaysItsWeight: what a job says of its places counts in place of what is said of its class, more and less, and is given back whole.
func TestAJobSaysItsWeight(t *testing.T) {
	w := wanting(t)
	w.put(Put{Queue: "q", JID: "two", Klass: "K", Wants: Wants{Weight: 2}}, Put{Queue: "q", JID: "one", Klass: "Heavy", Wants: Wants{Weight: 1}},
		Put{Queue: "q", JID: "three", Klass: "Heavy"}, Put{Queue: "q", JID: "last", Klass: "K"})
	running := w.take("w", 10, "q")
	if names := jidsOf(running); fmt.Sprint(names) != "[two one last]" || w.many("erp") != 4 || w.many("ql:q:q") != 4 {
		t.Fatalf("%v run, in %d and %d places", names, w.many("erp"), w.many("ql:q:q"))
	}
	w.exchange("w", done(running...), Take{})
	if names := jidsOf(w.take("w", 10, "q")); fmt.Sprint(names) != "[three]" || w.many("erp") != 3 {
		t.Fatalf("%v run, in %d places", names, w.many("erp"))
	}
	// It belongs to the job: put again without a word, it has what it had; with one, that alone.
	for _, tt := range []struct {
		says Wants
		want int
	}{{Wants{Weight: 4}, 4}, {Wants{}, 4}, {Wants{Weight: 1}, 1}} {
		w.put(Put{Queue: "q", JID: "three", Klass: "Heavy", Wants: tt.says})
		w.redis.Del(t.Context(), "ql:th:erp-locks", "ql:th:ql:q:q-locks") // as if its last attempt were over
		if names := jidsOf(w.take("w", 10, "q")); fmt.Sprint(names) != "[three]" || w.many("erp") != tt.want {
			t.Errorf("put again with %+v %v run, in %d places", tt.says, names, w.many("erp"))
		}
	}
	g, err := w.client.Get(t.Context(), "three")
	never(t, err != nil || g.Kept.Wanted.Weight != 1 || g.Damage != "", "it has %+v, %v", g, err)
}

// TestAJobBypassesAFullQueue: nothing of the queue or its throttles is asked of a job that says so, though the queue has no class that may.
func TestAJobBypassesAFullQueue(t *testing.T) {
	w := wanting(t)
	w.put(putsOf(6, func(int) Put { return Put{Queue: "q", Klass: "K"} })...)
	if n := len(w.take("w", 10, "q")); n != 4 {
		t.Fatalf("%d of four run", n)
	}
	w.put(Put{Queue: "q", JID: "free", Klass: "Heavy", Wants: Wants{Bypass: true}})
	if names := jidsOf(w.take("w", 10, "q")); fmt.Sprint(names) != "[free]" || w.many("erp") != 4 {
		t.Errorf("beside a full queue %v runs, and %d places are taken", names, w.many("erp"))
	}
}

// TestAJobSaysWhenItStarts: in a window of the rules, as they say of it by then, or in spans of its own, of which any number is a union.
func TestAJobSaysWhenItStarts(t *testing.T) {
	w := wanting(t)
	noon := w.now
	w.put(Put{Queue: "q", JID: "night", Klass: "K", Wants: Wants{Windows: []string{"night"}}},
		Put{Queue: "q", JID: "now", Klass: "K", Wants: Wants{Windows: []string{"night", "11:00-14:00"}}},
		Put{Queue: "q", JID: "berlin", Klass: "K", Wants: Wants{Windows: []string{"14:00-15:00", "16:00-17:00"}, Zone: "Europe/Berlin"}})
	for _, tt := range []struct {
		after time.Duration
		want  string
	}{{0, "[now]"}, {20 * time.Second, "[]"}, {time.Hour - 20*time.Second, "[]"}, {time.Hour + time.Second, "[berlin]"},
		{10*time.Hour - 20*time.Second, "[]"}, {10*time.Hour + time.Second, "[night]"}} {
		w.now = noon + tt.after.Seconds()
		var started []string
		for range 2 { // the first may ask for the table
			started = append(started, w.takeAll("q")...)
			w.now += 5.5
		}
		never(t, fmt.Sprint(started) != tt.want, "%v after noon %v start, want %s", tt.after, started, tt.want)
	}
	// What the rules say of a window counts when the job is looked at, and one that they have no more holds nobody.
	w.now = noon + 86400
	w.put(Put{Queue: "q", JID: "again", Klass: "K", Wants: Wants{Windows: []string{"night"}}})
	if got := w.takeAll("q"); len(got) > 0 {
		t.Fatalf("%v start at noon", got)
	}
	w.rule(map[string]string{"q": `{"shape":"a","throttles":["erp"]}`}, map[string]string{"erp": `{"limit":4,"patience":60}`})
	w.now++
	w.tend("q")
	if got := w.takeAll("q"); fmt.Sprint(got) != "[again]" {
		t.Errorf("without its window %v start", got)
	}
}

// TestWantsAreRefusedWhereTheyDoNotCount: with one sentence, and without a trace.
func TestWantsAreRefusedWhereTheyDoNotCount(t *testing.T) {
	w := newGateWorld(t)
	none := "weight, bypass and windows count where a queue has rules, and queue q has none"
	w.refused(Put{Queue: "q", JID: "j", Klass: "K", Wants: Wants{Weight: 2}}, none)
	w = wanting(t)
	for why, put := range map[string]Put{
		"queue other has none":                             {Queue: "other", Wants: Wants{Bypass: true}},
		"the rules have no window day":                     {Queue: "q", Wants: Wants{Windows: []string{"night", "day"}}},
		"weight must be a whole number from 1 to 100: 101": {Queue: "q", Wants: Wants{Weight: 101}},
	} {
		put.JID, put.Klass = "j", "K"
		w.refused(put, why)
	}
	// A queue that is ruled no more, and is not clean yet.
	w.put(putsOf(9, func(int) Put { return Put{Queue: "q", Klass: "K"} })...)
	w.take("w", 9, "q")
	w.rule(nil, nil)
	w.refused(Put{Queue: "q", JID: "j", Klass: "K", Wants: Wants{Weight: 2}}, none)
	for why, wants := range map[string]Wants{
		"weight must be from 1 to 100: 101": {Weight: 101}, "weight must be from 1 to 100: -1": {Weight: -1}, "zone is of spans": {Windows: []string{"night"}, Zone: "UTC"},
		"25:00": {Windows: []string{"25:00-26:00"}}, "Mars": {Windows: []string{"01:00-02:00"}, Zone: "Mars"}, "no window": {Windows: []string{""}},
	} {
		if _, err := w.client.Put(t.Context(), Put{Queue: "q", Wants: wants}); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%+v: %v, want %q", wants, err, why)
		}
	}
}

// TestOtherLanguagesSayWhatJobsWant by the put of the unified script, in both dialects.
func TestOtherLanguagesSayWhatJobsWant(t *testing.T) {
	for dialect, put := range map[Dialect]string{Qless: "put", Reqless: "queue.put"} {
		t.Run(string(dialect), func(t *testing.T) {
			w := wanting(t)
			for _, words := range [][]string{{"heavy", "weight", "3"}, {"free", "bypass", "1"}, {"later", "windows", `["UTC|22:00-23:00","night"]`}} {
				w.now++
				w.foreign(dialect, put, "w", "q", words[0], "K", "{}", "0", words[1], words[2])
			}
			if names := w.takeAll("q"); fmt.Sprint(names) != "[heavy free]" {
				t.Errorf("%v run", names)
			}
			if f := w.redis.HGet(t.Context(), "ql:j:heavy", "oarlock-wants").Val(); f != `{"weight":3}` {
				t.Errorf("it has %s", f)
			}
		})
	}
}

// TestWhatSaysWhatItWantsMergesWithNone, neither as it is put nor while it waits.
func TestWhatSaysWhatItWantsMergesWithNone(t *testing.T) {
	w := wanting(t)
	for i, wants := range []Wants{{}, {Weight: 2}, {}, {}} {
		put := Put{Queue: "q", JID: fmt.Sprint("j", i), Klass: "K", Data: []byte("1"), Key: "k", Merge: MergeAll, Wants: wants}
		w.now++
		w.call("put", appendPuts([]any{"w"}, []Put{put})...)
	}
	there := w.redis.Exists(t.Context(), "ql:j:j0", "ql:j:j1", "ql:j:j2", "ql:j:j3").Val()
	never(t, there != 3, "%d jobs are there, want j0, j1 and j2 with the payload of j3", there)
}

// TestTablesOfWindowsThatAreOverGo, while others come: jobs have any number of windows of their own.
func TestTablesOfWindowsThatAreOverGo(t *testing.T) {
	w := newGateWorld(t)
	for i := range 2000 {
		w.now += 86400
		w.call("learn", fmt.Sprintf("UTC|00:00-00:%02d:%02d", i/60%60, i%60+1), fmt.Sprintf("s %.0f", w.now+8*86400))
	}
	if n := w.redis.HLen(t.Context(), "ql:oarlock:windows").Val(); n > 200 {
		t.Errorf("%d tables are kept, of which 8 are true", n)
	}
}
