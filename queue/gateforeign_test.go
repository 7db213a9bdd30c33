package queue

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// foreign is a command of another client of the protocol.
func (w *gateWorld) foreign(dialect Dialect, words ...string) any {
	w.t.Helper()
	reply, err := callUnified(w.t.Context(), w.lab, dialect, step{Argv: append([]string{words[0], fmt.Sprintf("%.3f", w.now)}, words[1:]...)})
	stop(w.t, err != nil, "%q: %v", words, err)
	return reply
}

// stray does what the pop of a client does that knows no rules, with the next of the inbox: it runs, and has asked for no place.
func (w *gateWorld) stray(worker, queue string) string {
	w.t.Helper()
	ctx := w.t.Context()
	jids := w.redis.ZRangeArgs(ctx, redis.ZRangeArgs{Key: "ql:q:" + queue + "-work", Start: 0, Stop: 0, Rev: true}).Val()
	stop(w.t, len(jids) == 0, "nothing of %s is left to be taken", queue)
	lock := redis.Z{Score: w.now + 60, Member: jids[0]}
	w.redis.ZRem(ctx, "ql:q:"+queue+"-work", jids[0])
	w.redis.HSet(ctx, "ql:j:"+jids[0], "state", "running", "worker", worker, "expires", w.now+60, "time", fmt.Sprintf("%.20f", w.now))
	w.redis.ZAdd(ctx, "ql:q:"+queue+"-locks", lock)
	w.redis.ZAdd(ctx, "ql:w:"+worker+":jobs", lock)
	return jids[0]
}

func newForeignWorld(t *testing.T) *gateWorld {
	w := gateWorldOn(t, "redis")
	w.rule(map[string]string{"q": `{"shape":"a","throttles":["erp"]}`}, map[string]string{"erp": `{"limit":2,"patience":60}`})
	return w
}

// TestWhatOthersPutWaits: whatever another client puts, retries, brings back or lets recur in a ruled queue stands in its inbox, and all rules hold for
// it.
func TestWhatOthersPutWaits(t *testing.T) {
	w := newForeignWorld(t)
	w.foreign(Qless, "put", "other", "q", "put", "K", "{}", "0", "retries", "2")
	w.foreign(Qless, "put", "other", "q", "failed", "K", "{}", "0")
	w.foreign(Reqless, "queue.put", "other", "q", "reput", "K", "{}", "0", "throttles", "[]")
	w.foreign(Qless, "recur", "q", "again", "K", "{}", "interval", "60", "0")
	first := w.take("w", 2, "q")
	for _, job := range first {
		w.foreign(Qless, "fail", job.JID, "w", "g", "m")
	}
	w.foreign(Qless, "unfail", "q", "g", "9")
	w.now += 6 // another client has given no place back
	w.tend("q")
	began := map[string]bool{}
	for range 20 {
		w.now += 1
		w.tend("q")
		jobs := w.take("w", 9, "q")
		if w.many("erp") > 2 {
			t.Fatalf("%d places are taken", w.many("erp"))
		}
		for _, job := range jobs {
			w.foreign(Qless, "retry", job.JID, "q", "w", "0")
			began[job.JID] = true
		}
	}
	for _, jid := range []string{"put", "failed", "reput", "again-1"} {
		never(t, !began[jid], "%s never began: %v", jid, began)
	}
}

// TestWhoKnowsNoRulesIsNamed: a client that knows none takes jobs past the limit, until mending gives them the places that they need: from then on
// nobody begins before there is room, and the worker is named. A job that ends so gives them back by mending.
func TestWhoKnowsNoRulesIsNamed(t *testing.T) {
	w := newForeignWorld(t)
	w.put(putsOf(9, func(int) Put { return Put{Queue: "q", Klass: "K"} })...)
	mine := w.take("w", 1, "q")
	strays := []string{w.stray("ruby", "q"), w.stray("ruby", "q")}
	w.now += 6
	w.tend("q")
	if w.many("erp") != 3 {
		t.Fatalf("%d places are taken by three jobs that run", w.many("erp"))
	}
	jobs := w.exchange("w", done(mine...), Take{Queues: []string{"q"}, Count: 9}).Jobs
	never(t, len(jobs) > 0 || w.many("erp") != 2, "beside two that were taken past the limit %d begin", len(jobs))
	if known, err := w.client.Strangers(t.Context()); err != nil || len(known) != 1 || known[0].Worker != "ruby" || known[0].Queue != "q" {
		t.Errorf("named are %+v, %v", known, err)
	}
	for _, jid := range strays {
		w.foreign(Qless, "complete", jid, "ruby", "q", "{}")
	}
	w.now += 6
	w.tend("q")
	if jobs := w.take("w", 9, "q"); len(jobs) != 2 || w.many("erp") != 2 {
		t.Errorf("when they are over %d begin", len(jobs))
	}
}

// TestOthersChangeWhatWaits: another client cancels a job that waits for a place, moves one, and gives one another priority: the first two are dropped when
// it would be their turn, nothing is left of them, and what is behind goes on.
func TestOthersChangeWhatWaits(t *testing.T) {
	w := newForeignWorld(t)
	w.put(putsOf(6, func(int) Put { return Put{Queue: "q", Klass: "K"} })...)
	running := w.take("w", 6, "q")
	w.redis.Del(t.Context(), "ql:j:j0002") // as whoever cancels with scripts that know no waitlists
	w.foreign(Qless, "put", "other", "elsewhere", "j0003", "K", "{}", "0")
	w.foreign(Qless, "priority", "j0005", "9")
	var order []string
	for len(running) > 0 {
		w.now++
		running = w.exchange("w", done(running...), Take{Queues: []string{"q"}, Count: 1}).Jobs
		for _, job := range running {
			order = append(order, job.JID)
		}
	}
	never(t, !slices.Equal(order, []string{"j0005", "j0004"}), "then began %q", order)
	if keys := w.ownKeys(); len(keys) > 0 || w.many("erp") > 0 {
		t.Errorf("keys are left: %q, and %d places", keys, w.many("erp"))
	}
	if jobs := w.take("w", 1, "elsewhere"); len(jobs) != 1 {
		t.Error("the one that was moved is not where it was moved to")
	}
}

// TestWhoIsCanceledWaitsForNothing: a job that waits for a place is canceled, or put elsewhere, by whatever door of ours: nobody counts it from then on, and when nobody
// is left the next take ends the waitlist, without a place that is given back.
func TestWhoIsCanceledWaitsForNothing(t *testing.T) {
	w := newForeignWorld(t)
	w.put(putsOf(5, func(int) Put { return Put{Queue: "q", Klass: "K"} })...)
	w.take("w", 2, "q")
	w.take("w", 1, "q") // who has no room is filed now
	left := func() (int64, int) {
		waits := int64(0)
		for _, key := range w.redis.Keys(t.Context(), "ql:oarlock:waitlist:*").Val() {
			waits += w.redis.ZCard(t.Context(), key).Val()
		}
		counts := must(w.client.Queue(t.Context(), "q"))(t)
		return waits, counts.Throttled
	}
	if n, counted := left(); n != 3 || counted != 3 {
		t.Fatalf("%d wait, %d are counted", n, counted)
	}
	w.foreign(Qless, "cancel", "j0002")
	w.put(Put{Queue: "elsewhere", JID: "j0003", Klass: "K"})
	if n, counted := left(); n != 1 || counted != 1 {
		t.Errorf("%d wait, %d are counted", n, counted)
	}
	if queues := w.wakesOf(func() { w.amend("j0004", "cancel") }); !slices.Equal(queues, []string{"q"}) {
		t.Errorf("woken are %q", queues)
	}
	if n, counted := left(); n != 0 || counted != 0 {
		t.Errorf("%d wait, %d are counted", n, counted)
	}
	if w.take("w", 1, "q"); w.redis.Exists(t.Context(), "ql:oarlock:waitlists:q", "ql:oarlock:open:q", "ql:oarlock:waited").Val() != 0 {
		t.Errorf("keys are left: %q", w.ownKeys())
	}
}

// TestWhoOthersCancelIsFound: of those that another client cancels, whose scripts know no waitlists, tend finds some each time: they are counted no more.
func TestWhoOthersCancelIsFound(t *testing.T) {
	w := newForeignWorld(t)
	w.put(putsOf(305, func(int) Put { return Put{Queue: "q", Klass: "K"} })...)
	first := w.take("w", 2, "q")
	for range 4 {
		w.take("w", 1, "q") // who has no room is filed now
	}
	for i := 2; i < 305; i++ {
		if i != 200 {
			w.redis.Del(t.Context(), fmt.Sprintf("ql:j:j%04d", i))
		}
	}
	for n := 0; ; n++ {
		counts := must(w.client.Queue(t.Context(), "q"))(t)
		if counts.Throttled == 1 {
			break
		}
		if w.now += 6.017; n == 100 {
			t.Fatalf("after %d looks %d are counted", n, counts.Throttled)
		}
		w.tend("q")
	}
	if keys := w.redis.Keys(t.Context(), "ql:oarlock:waitlist:*").Val(); len(keys) != 1 || w.redis.ZCard(t.Context(), keys[0]).Val() != 1 {
		t.Errorf("in %q somebody waits who is no more", keys)
	}
	w.now++
	if next := w.exchange("w", done(first...), Take{Queues: []string{"q"}, Count: 3}).Jobs; len(next) != 1 || next[0].JID != "j0200" {
		t.Errorf("then begins %v", next)
	}
}

// TestOthersSeeThrottles: the commands of reqless about throttles work on those of the rules: who holds one, what it is limited to, taking a place
// from a job; and its counts have the jobs that wait.
func TestOthersSeeThrottles(t *testing.T) {
	w := newForeignWorld(t)
	w.put(putsOf(6, func(int) Put { return Put{Queue: "q", Klass: "K"} })...)
	running := w.take("w", 6, "q")
	if text := fmt.Sprint(w.foreign(Reqless, "queue.counts", "q")); !strings.Contains(text, `"throttled":4`) {
		t.Errorf("counted is %s", text)
	}
	if text := fmt.Sprint(w.foreign(Reqless, "throttle.locks", "erp")); !strings.Contains(text, "j0000") || !strings.Contains(text, "j0001") {
		t.Errorf("it is said to be held by %s", text)
	}
	w.foreign(Reqless, "throttle.set", "erp", "3", "0")
	w.now++
	w.tend("q")
	if jobs := w.take("w", 6, "q"); len(jobs) != 1 || w.many("erp") != 3 {
		t.Errorf("with one place more %d begin", len(jobs))
	}
	w.foreign(Reqless, "throttle.release", "erp", running[0].JID)
	w.now++
	w.tend("q")
	if jobs := w.take("w", 6, "q"); len(jobs) != 1 || w.many("erp") != 3 {
		t.Errorf("with a place that was taken from its holder %d begin", len(jobs))
	}
}

// TestPlacesThatNobodyGave: a place may be left taken in a throttle of which the gate gave none, by a program that let its job go
// otherwise. Whoever waits for it, in a ruled queue or another, waits no longer than until somebody has looked.
func TestPlacesThatNobodyGave(t *testing.T) {
	for _, queue := range []string{"q", "plain"} {
		t.Run(queue, func(t *testing.T) {
			w := newForeignWorld(t)
			w.redis.HSet(t.Context(), "ql:th:lone", "id", "lone", "maximum", 1)
			w.redis.ZAdd(t.Context(), "ql:th:lone-locks", redis.Z{Score: 1, Member: "long gone"})
			w.put(Put{JID: "j", Queue: queue, Klass: "K", Data: []byte("{}"), Throttles: []string{"lone"}})
			if jobs := w.take("w", 1, queue); len(jobs) > 0 {
				t.Fatal("it begins though the place is taken")
			}
			w.now += 6
			w.tend("q")
			if jobs := w.take("w", 1, queue); len(jobs) != 1 || w.many("lone") != 1 {
				t.Errorf("%d begin, %d hold the place", len(jobs), w.many("lone"))
			}
		})
	}
}

// lose lets the lock of a job that runs end, as of a worker that is no more, and the grace that it has besides; all others run on.
func (w *gateWorld) lose(queue, jid string) {
	w.t.Helper()
	ctx := w.t.Context()
	for _, other := range w.redis.ZRange(ctx, "ql:q:"+queue+"-locks", 0, -1).Val() {
		w.redis.ZAdd(ctx, "ql:q:"+queue+"-locks", redis.Z{Score: w.now + 1e6, Member: other})
	}
	w.redis.ZAdd(ctx, "ql:q:"+queue+"-locks", redis.Z{Score: w.now - 1, Member: jid})
	w.redis.HSet(ctx, "ql:j:"+jid, "grace", "1")
}

// TestWhoIsTakenOverIsAskedAgain: of a job whose worker died what it has counts. Of what it was never given it is asked as any, so no limit is passed by
// whoever takes it over, and where it must wait it has nothing meanwhile.
func TestWhoIsTakenOverIsAskedAgain(t *testing.T) {
	for name, tt := range map[string]struct {
		mended bool // the places that it needs were noted, past the limit
		full   bool // another runs that has what there is
		runs   int
	}{
		"it had asked for nothing, and there is room":   {false, false, 1},
		"it had asked for nothing, and there is none":   {false, true, 0},
		"it was noted, and others have what there is":   {true, true, 0},
		"it was noted, and what there is is enough yet": {true, false, 1},
	} {
		t.Run(name, func(t *testing.T) {
			w := newForeignWorld(t)
			w.put(putsOf(3, func(int) Put { return Put{Queue: "q", Klass: "K"} })...)
			var mine []Taken
			if tt.full {
				mine = w.take("w", 2, "q")
			}
			jid := w.stray("ruby", "q")
			if w.now += 6; tt.mended {
				w.tend("q")
			}
			w.lose("q", jid)
			jobs := w.take("w", 1, "q")
			if n := w.many("erp"); len(jobs) != tt.runs || n > 2 || n != len(mine)+len(jobs) {
				t.Fatalf("%d begin, and %d places are taken", len(jobs), n)
			}
			if state := w.redis.HGet(t.Context(), "ql:j:"+jid, "state").Val(); tt.runs == 0 && state != "throttled" {
				t.Errorf("it is %s", state)
			}
			w.now++
			if mine = append(mine, jobs...); len(w.exchange("w", done(mine...), Take{Queues: []string{"q"}, Count: 3}).Jobs) == 0 {
				t.Error("nothing begins when all places are free")
			}
		})
	}
}

// TestWhoIsTakenOverHasItsPlaces: a job of ours whose worker died goes on with the places that it has, before all that wait, though there is no other.
func TestWhoIsTakenOverHasItsPlaces(t *testing.T) {
	w := newGateWorld(t)
	w.rule(map[string]string{"q": `{"shape":"a","throttles":["erp"],"limited":true,"limit_of_queue":1,"klass":{"K":{"weight":2}}}`}, map[string]string{"erp": `{"limit":2,"patience":60}`})
	w.put(putsOf(3, func(int) Put { return Put{Queue: "q", Klass: "K"} })...)
	first := w.take("dead", 3, "q")
	if len(first) != 1 || w.many("erp") != 2 {
		t.Fatalf("%v began, with %d places", first, w.many("erp"))
	}
	w.lose("q", first[0].JID)
	if next := w.take("w", 3, "q"); len(next) != 1 || next[0].JID != first[0].JID || w.many("erp") != 2 || w.many("ql:q:q") != 1 {
		t.Errorf("then begins %v, with %d places", next, w.many("erp"))
	}
}

// TestWhoIsTakenOverIsNotInItsOwnWay: a job has the only place there is, its worker dies, and its queue is ruled no more by then: it goes on with the place. Where
// another of its throttles has no room, it waits for that, and has none.
func TestWhoIsTakenOverIsNotInItsOwnWay(t *testing.T) {
	for name, other := range map[string]bool{"it has all that it needs": true, "another has what it needs besides": false} {
		t.Run(name, func(t *testing.T) {
			w := newGateWorld(t)
			throttles := map[string]string{"erp": `{"limit":1}`, "db": `{"limit":1}`}
			w.rule(map[string]string{"q": `{"shape":"a","throttles":["erp"]}`}, throttles)
			w.put(Put{Queue: "q", JID: "j", Klass: "K", Throttles: []string{"erp", "db"}}, Put{Queue: "q", JID: "waits", Klass: "K"})
			if jobs := w.take("dead", 2, "q"); len(jobs) != 1 || w.many("erp") != 1 || w.many("db") != 1 {
				t.Fatalf("%v begins, with %d and %d places", jobs, w.many("erp"), w.many("db"))
			}
			if !other {
				w.redis.Del(t.Context(), "ql:th:db-locks")
				w.redis.ZAdd(t.Context(), "ql:th:db-locks", redis.Z{Score: 1, Member: "another"})
			}
			w.rule(map[string]string{"p": `{"shape":"b","throttles":["erp"]}`}, throttles)
			if jobs := w.take("w", 2, "q"); len(jobs) != 1 || jobs[0].JID != "waits" {
				t.Fatalf("without rules begins %v", jobs)
			}
			w.lose("q", "j")
			jobs := w.take("w", 1, "q")
			if len(jobs) == 1 != other || w.many("erp") != len(jobs) || w.many("db") != 1 {
				t.Errorf("then begin %v, with %d and %d places", jobs, w.many("erp"), w.many("db"))
			}
		})
	}
}

// TestWhoNamesWhatItNeedsAskedTheGate: a job that says itself what the rules say of it began by them, as any other that we take.
func TestWhoNamesWhatItNeedsAskedTheGate(t *testing.T) {
	w := newGateWorld(t)
	w.rule(map[string]string{"q": `{"shape":"a","limited":true,"limit_of_queue":2}`}, nil)
	w.put(Put{Queue: "q", JID: "says", Klass: "K", Throttles: []string{"erp"}}, Put{Queue: "q", JID: "does not", Klass: "K"})
	if jobs := w.take("w", 2, "q"); len(jobs) != 2 {
		t.Fatalf("%v began", jobs)
	}
	for range 3 {
		w.now += 10
		w.tend("q")
	}
	if past, err := w.redis.HGetAll(t.Context(), "ql:oarlock:outside").Result(); err != nil || len(past) > 0 || w.many("ql:q:q") != 2 {
		t.Errorf("%v, %v began past the rules, and %d places are taken", err, past, w.many("ql:q:q"))
	}
}

// TestNobodyIsTakenOverOutsideOfItsWindow: a job whose worker died while its window shut waits for the next opening, and has no place until then.
func TestNobodyIsTakenOverOutsideOfItsWindow(t *testing.T) {
	w := newGateWorld(t)
	noon := w.now - float64(int64(w.now)%86400) + 12*3600
	w.now = noon
	w.rule(map[string]string{"q": `{"shape":"a","throttles":["erp"],"windows":[{"name":"w","spec":"UTC|11:00-13:00"}]}`}, map[string]string{"erp": `{"limit":1}`})
	w.call("learn", openings([]any{"UTC|11:00-13:00"}, w.now)...)
	w.put(putsOf(1, func(int) Put { return Put{Queue: "q", Klass: "K"} })...)
	first := w.take("dead", 1, "q")
	stop(t, len(first) != 1, "it does not begin in its window")
	w.now = noon + 2*3600
	w.lose("q", first[0].JID)
	if jobs := w.take("w", 1, "q"); len(jobs) > 0 || w.many("erp") > 0 {
		t.Errorf("%d begin outside, and %d places are taken", len(jobs), w.many("erp"))
	}
	w.now = noon + 23*3600
	if jobs := w.take("w", 1, "q"); len(jobs) != 1 || w.many("erp") != 1 {
		t.Errorf("%d begin when it opens, and %d places are taken", len(jobs), w.many("erp"))
	}
}

// TestWhoWaitsHoldsNothing: a job that was answered needs more than it has, for the rules are others since. While it waits for that it holds nothing, or two could
// wait for each other.
func TestWhoWaitsHoldsNothing(t *testing.T) {
	w := newForeignWorld(t)
	w.put(putsOf(2, func(int) Put { return Put{Queue: "q", Klass: "K"} })...)
	jobs := w.take("w", 2, "q")
	w.exchange("w", []Settlement{{JID: jobs[0].JID, Queue: "q", Popped: jobs[0].Popped, Action: Park, Correlation: "c", Delay: time.Hour}}, Take{})
	w.rule(map[string]string{"q": `{"shape":"b","throttles":["erp"],"klass":{"K":{"weight":2}}}`}, map[string]string{"erp": `{"limit":2,"patience":60}`})
	w.call("respond", (&Response{Klass: "K", Correlation: "c", Data: []byte("1")}).words()...)
	if next := w.take("w", 1, "q"); len(next) > 0 || w.many("erp") != 1 {
		t.Fatalf("%v begins, and %d places are taken", next, w.many("erp"))
	}
	w.now++
	if next := w.exchange("w", done(jobs[1]), Take{Queues: []string{"q"}, Count: 1}).Jobs; len(next) != 1 || next[0].Answer == nil || w.many("erp") != 2 {
		t.Errorf("then begins %v, with %d places", next, w.many("erp"))
	}
}

// TestOneThrottleOfTwoQueues: a queue with rules and one without share a throttle, which one call of one worker takes places of for both, in turn: what
// the one took counts for the other.
func TestOneThrottleOfTwoQueues(t *testing.T) {
	w := newForeignWorld(t)
	for i := range 4 {
		w.put(Put{Queue: "q", JID: fmt.Sprint("q", i), Klass: "K"}, Put{Queue: "plain", JID: fmt.Sprint("p", i), Klass: "K", Throttles: []string{"erp"}})
	}
	jobs := w.exchange("w", nil, Take{Queues: []string{"q", "plain"}, Count: 3, Order: RoundRobin}).Jobs
	if len(jobs) != 2 || jobs[0].Queue == jobs[1].Queue || w.many("erp") != 2 {
		t.Errorf("of two places %d are taken, by %+v", w.many("erp"), jobs)
	}
}

// TestWhoGoesOnGivesUpWhatItNeedsNoMore: a job that was parked while other rules held goes on with the places that it needs by those of now.
func TestWhoGoesOnGivesUpWhatItNeedsNoMore(t *testing.T) {
	w := newGateWorld(t)
	throttles := map[string]string{"erp": `{"limit":3}`, "db": `{"limit":3}`, "new": `{"limit":3}`}
	w.rule(map[string]string{"q": `{"shape":"a","throttles":["erp","db"],"klass":{"K":{"weight":3}}}`}, throttles)
	w.put(Put{Queue: "q", JID: "j", Klass: "K"})
	park := done(w.take("w", 1, "q")...)
	park[0].Action, park[0].Correlation, park[0].Delay = Park, "c", time.Hour
	w.exchange("w", park, Take{})
	w.rule(map[string]string{"q": `{"shape":"b","throttles":["new","db"],"klass":{"K":{"weight":2}}}`}, throttles)
	w.call("respond", (&Response{Klass: "K", Correlation: "c", Data: []byte("1")}).words()...)
	jobs := w.take("w", 1, "q")
	if len(jobs) != 1 || w.many("erp") != 0 || w.many("db") != 2 || w.many("new") != 2 {
		t.Fatalf("%v begins, with %d, %d and %d places", jobs, w.many("erp"), w.many("db"), w.many("new"))
	}
	if w.exchange("w", done(jobs...), Take{}); w.many("db") != 0 || w.many("new") != 0 {
		t.Errorf("when it is over %d and %d places are taken", w.many("db"), w.many("new"))
	}
}

// TestAParkThatIsVoidOpensNoWindow: of a job that was parked, and then put again by somebody who knows of no parks, a window is asked as of any.
func TestAParkThatIsVoidOpensNoWindow(t *testing.T) {
	w := newGateWorld(t)
	day := w.now - float64(int64(w.now)%86400)
	w.now = day + 12*3600
	w.rule(map[string]string{"q": `{"shape":"a","windows":[{"name":"w","spec":"UTC|11:00-13:00"}]}`}, nil)
	w.call("learn", openings([]any{"UTC|11:00-13:00"}, w.now)...)
	w.put(Put{Queue: "q", JID: "j", Klass: "K"})
	park := done(w.take("w", 1, "q")...)
	park[0].Action, park[0].Correlation, park[0].Delay = Park, "c", 48*time.Hour
	w.exchange("w", park, Take{})
	w.now = day + 14*3600
	w.redis.HSet(t.Context(), "ql:j:j", "time", fmt.Sprintf("%.20f", w.now), "state", "waiting")
	w.redis.ZRem(t.Context(), "ql:q:q-scheduled", "j")
	w.redis.ZAdd(t.Context(), "ql:q:q-work", redis.Z{Score: 0, Member: "j"})
	if jobs := w.take("w", 1, "q"); len(jobs) > 0 {
		t.Fatalf("%v begins outside of its window", jobs)
	}
	w.now = day + 35*3600
	if jobs := w.take("w", 1, "q"); len(jobs) != 1 || jobs[0].Answer != nil || jobs[0].Expired {
		t.Errorf("when it opens %+v begins", jobs)
	}
}

// TestNobodyRunsTwiceThatStandsTwice: a job stands in a waitlist, and somebody who knows of none brings it in besides, as reqless does with whom a place was
// given back for: it runs once.
func TestNobodyRunsTwiceThatStandsTwice(t *testing.T) {
	w := newForeignWorld(t)
	w.put(putsOf(3, func(int) Put { return Put{Queue: "q", Klass: "K"} })...)
	first := w.take("w", 3, "q")
	w.redis.ZAdd(t.Context(), "ql:q:q-work", redis.Z{Score: -1e9, Member: "j0002"})
	w.now++
	if next := w.exchange("w", done(first...), Take{Queues: []string{"q"}, Count: 3}).Jobs; len(next) != 1 || next[0].JID != "j0002" {
		t.Fatalf("then begins %v", next)
	}
	if again := w.take("other", 3, "q"); len(again) > 0 || w.many("erp") != 1 {
		t.Errorf("and again %v, with %d places", again, w.many("erp"))
	}
	if n := w.redis.ZCard(t.Context(), "ql:q:q-work").Val(); n != 0 {
		t.Errorf("%d stand in the inbox", n)
	}
}

// TestWhoWasFiledIsNamedToo: what the gate has looked at once, and somebody takes who knows no rules, gets its places as well.
func TestWhoWasFiledIsNamedToo(t *testing.T) {
	w := newForeignWorld(t)
	w.put(putsOf(3, func(int) Put { return Put{Queue: "q", Klass: "K"} })...)
	w.take("w", 3, "q")
	w.redis.ZAdd(t.Context(), "ql:q:q-work", redis.Z{Score: -1e9, Member: "j0002"})
	w.stray("ruby", "q")
	w.now += 6
	w.tend("q")
	if w.many("erp") != 3 {
		t.Errorf("%d places are taken by three jobs that run", w.many("erp"))
	}
	if known, err := w.client.Strangers(t.Context()); err != nil || len(known) != 1 || known[0].Worker != "ruby" {
		t.Errorf("named are %+v, %v", known, err)
	}
}

// TestWhoRunsUnaskedNeedsWhatRulesSayNow: who was filed by rules that are no more, and is taken by somebody who knows none, gets the places that it needs by those
// that are there, and none of those that only the others gave it.
func TestWhoRunsUnaskedNeedsWhatRulesSayNow(t *testing.T) {
	w := newForeignWorld(t)
	w.put(putsOf(3, func(int) Put { return Put{Queue: "q", Klass: "K"} })...)
	w.exchange("w", done(w.take("w", 3, "q")...), Take{})
	w.redis.ZAdd(t.Context(), "ql:q:q-work", redis.Z{Score: -1e9, Member: "j0002"})
	w.stray("ruby", "q")
	w.rule(map[string]string{"q": `{"shape":"b","throttles":["new"]}`}, map[string]string{"erp": `{"limit":2}`, "new": `{"limit":2}`})
	w.now += 6
	w.tend("q")
	if w.many("erp") != 0 || w.many("new") != 1 {
		t.Errorf("it has %d and %d places", w.many("erp"), w.many("new"))
	}
	if f := w.redis.HMGet(t.Context(), "ql:j:j0002", "throttles", "oarlock-gate").Val(); f[0] != `["new"]` || f[1] != "1" {
		t.Errorf("of it is said %v", f)
	}
}

// pop is what a pop of the unified script hands out.
func (w *gateWorld) pop(dialect Dialect, command, queue, worker string, count int) []Taken {
	w.t.Helper()
	var shown []struct{ JID, Queue, State, Worker string }
	if text := w.foreign(dialect, command, queue, worker, fmt.Sprint(count)).(string); text != "{}" {
		ok(w.t, json.Unmarshal([]byte(text), &shown))
	}
	jobs := make([]Taken, len(shown))
	for i, one := range shown {
		never(w.t, one.State != "running" || one.Worker != worker || one.Queue != queue, "%s pops %+v of %s", worker, one, queue)
		jobs[i] = Taken{JID: one.JID, Queue: one.Queue}
	}
	return jobs
}

// pops are the commands by which another client takes jobs.
var pops = map[Dialect]string{Qless: "pop", Reqless: "queue.pop"}

// TestPopOfTheUnifiedScriptAsksTheGate: whoever pops from a ruled queue by our script passes no limit, has its places from then on, and gives them back by its verdict;
// who has no room is filed. With nobody beside him who looks after places he is handed what waits for those that he gave back.
func TestPopOfTheUnifiedScriptAsksTheGate(t *testing.T) {
	for dialect, pop := range pops {
		t.Run(string(dialect), func(t *testing.T) {
			w := newForeignWorld(t)
			w.put(putsOf(5, func(int) Put { return Put{Queue: "q", Klass: "K"} })...)
			jobs := w.pop(dialect, pop, "q", "ruby", 3)
			if n := w.redis.ZCard(t.Context(), "ql:q:q-locks").Val(); len(jobs) != 2 || n != 2 || w.many("erp") != 2 {
				t.Fatalf("%v is popped, %d run, with %d places", jobs, n, w.many("erp"))
			}
			if more := w.take("w", 5, "q"); len(more) > 0 {
				t.Errorf("%v begin beside two of two", more)
			}
			if got := w.foreign(dialect, pop, "q", "ruby", "3"); got != map[Dialect]string{Qless: "{}", Reqless: "[]"}[dialect] {
				t.Errorf("of those that wait for a place are popped %v", got)
			}
			complete := map[Dialect]string{Qless: "complete", Reqless: "job.complete"}[dialect]
			for began := 2; began < 5; {
				w.now++
				w.foreign(dialect, complete, jobs[0].JID, "ruby", "q", "{}")
				next := w.pop(dialect, pop, "q", "ruby", 3)
				if began += len(next); len(next) == 0 || w.many("erp") > 2 {
					t.Fatalf("%v begin when one is over, with %d places", next, w.many("erp"))
				}
				jobs = append(jobs[1:], next...)
			}
			if known, err := w.client.Strangers(t.Context()); err != nil || len(known) > 0 {
				t.Errorf("named are %+v, %v", known, err)
			}
		})
	}
}

// TestPopOfTheUnifiedScriptKeepsRatesAndWindows: two workers, of whom one pops by the unified script, start no more jobs together than a rate lets, and none while
// the window is shut.
func TestPopOfTheUnifiedScriptKeepsRatesAndWindows(t *testing.T) {
	for dialect, pop := range pops {
		t.Run(string(dialect), func(t *testing.T) {
			w := newGateWorld(t)
			noon := w.now - float64(int64(w.now)%86400) + 12*3600
			w.now = noon - 60
			w.rule(map[string]string{"q": `{"shape":"a","throttles":["api"],"windows":[{"name":"w","spec":"UTC|12:00-13:00"}]}`},
				map[string]string{"api": `{"rate":[5,10,5],"sliding":true}`})
			w.call("learn", openings([]any{"UTC|12:00-13:00"}, w.now)...)
			w.put(putsOf(60, func(int) Put { return Put{Queue: "q", Klass: "K"} })...)
			var starts []float64
			for w.now < noon+100 {
				w.now += 0.7
				jobs := w.pop(dialect, pop, "q", "ruby", 2)
				for range jobs {
					starts = append(starts, w.now)
				}
				for _, job := range jobs {
					w.foreign(dialect, map[Dialect]string{Qless: "complete", Reqless: "job.complete"}[dialect], job.JID, "ruby", "q", "{}")
				}
				ours := w.take("w", 2, "q")
				for range ours {
					starts = append(starts, w.now)
				}
				w.exchange("w", done(ours...), Take{})
			}
			if len(starts) < 40 || starts[0] < noon {
				t.Errorf("%d begin, the first %.1f s after the window opens", len(starts), starts[0]-noon)
			}
			for i := 5; i < len(starts); i++ {
				if starts[i]-starts[i-5] < 10 {
					t.Fatalf("six begin within %.3f s", starts[i]-starts[i-5])
				}
			}
		})
	}
}

// TestPopOfTheUnifiedScriptAndACommandThatDecides: no client of the protocol asks a command. Where it fails closed, and while a supervisor has it, he is handed what it let
// start and nothing else; where it fails open and nobody has it, each job as if there were none.
func TestPopOfTheUnifiedScriptAndACommandThatDecides(t *testing.T) {
	for onFailure, alone := range map[string]int{asksClosed: 0, asksOpen: 2} {
		t.Run(onFailure, func(t *testing.T) {
			w := newGateWorld(t)
			w.asks(onFailure, map[string]string{"erp": `{"limit":2,"patience":60}`})
			w.put(putsOf(3, func(int) Put { return Put{Queue: "q", Klass: "K"} })...)
			jobs := w.pop(Qless, "pop", "q", "ruby", 3)
			stop(t, len(jobs) != alone, "with nobody who has the command %v begin", jobs)
			for _, job := range jobs {
				w.foreign(Qless, "complete", job.JID, "ruby", "q", "{}")
			}
			w.now++
			w.ask("web1")
			if jobs := w.pop(Qless, "pop", "q", "ruby", 3); len(jobs) > 0 {
				t.Fatalf("while it is asked %v begin", jobs)
			}
			w.now += 8
			w.pop(Qless, "pop", "q", "ruby", 3)
			w.decide(w.ask("web1").Number, Decision{Verdicts: []Verdict{verdict("j0002", VerdictStart, 10)}})
			if jobs := w.pop(Qless, "pop", "q", "ruby", 3); len(jobs) != 1 || jobs[0].JID != "j0002" {
				t.Errorf("of those that it let start begin %v", jobs)
			}
		})
	}
}

// TestPopOfTheUnifiedScriptGoesThroughManyThatWait: in front stand more jobs without room than a call of ours sorts; one pop is enough to be handed the free one behind them.
func TestPopOfTheUnifiedScriptGoesThroughManyThatWait(t *testing.T) {
	w := newForeignWorld(t)
	w.put(putsOf(350, func(i int) Put { return Put{Queue: "q", Klass: "K"} })...)
	w.rule(map[string]string{"q": `{"shape":"b","throttles":["erp"],"klass":{"Free":{"bypass":true}}}`}, map[string]string{"erp": `{"limit":2,"patience":60}`})
	w.put(Put{Queue: "q", JID: "free", Klass: "Free"})
	if jobs := w.pop(Reqless, "queue.pop", "q", "ruby", 3); len(jobs) != 3 || jobs[2].JID != "free" {
		t.Errorf("popped are %v", jobs)
	}
}

// TestPopOfTheUnifiedScriptSaysWhatIsWrong: of a queue whose rules cannot be read nothing is popped, and the refusal says why.
func TestPopOfTheUnifiedScriptSaysWhatIsWrong(t *testing.T) {
	w := newForeignWorld(t)
	w.put(Put{Queue: "q", JID: "j", Klass: "K"})
	w.redis.HSet(t.Context(), "ql:oarlock:rules", "q:q", "{")
	for dialect, pop := range pops {
		_, err := callUnified(t.Context(), w.lab, dialect, step{Argv: []string{pop, fmt.Sprint(w.now), "q", "ruby", "1"}})
		never(t, err == nil || !strings.Contains(err.Error(), "Pop(): its rules cannot be read: "), "%s: %v", dialect, err)
	}
}

// TestWhatRulesGaveGoesWithThem: a job was tried again, or waits for an answer, while its queue had rules. When it has none any more the job needs what it named itself, whoever
// takes it: what only rules gave it, it neither asks for nor keeps.
func TestWhatRulesGaveGoesWithThem(t *testing.T) {
	takes := map[string]func(w *gateWorld) []Taken{
		"ours":    func(w *gateWorld) []Taken { return w.take("w", 1, "q") },
		"qless":   func(w *gateWorld) []Taken { return w.pop(Qless, "pop", "q", "ruby", 1) },
		"reqless": func(w *gateWorld) []Taken { return w.pop(Reqless, "queue.pop", "q", "ruby", 1) },
	}
	for name, take := range takes {
		for _, tt := range []struct {
			own     string
			verdict Action
		}{{"", Retry}, {"db", Retry}, {"", Park}, {"free", Park}, {"erp", Park}} {
			own, verdict := tt.own, tt.verdict
			t.Run(name+" "+string(verdict)+" "+own, func(t *testing.T) {
				w := newGateWorld(t)
				throttles := map[string]string{"erp": `{"limit":2}`, "db": `{"limit":2}`, "free": `{"limit":2,"free":true}`}
				w.rule(map[string]string{"q": `{"shape":"a","limited":true,"limit_of_queue":5,"throttles":["erp","free"],"klass":{"K":{"weight":2}}}`}, throttles)
				p := Put{Queue: "q", JID: "j", Klass: "K"}
				if own != "" {
					p.Throttles = []string{own}
				}
				w.put(p)
				settlements := done(w.take("w", 1, "q")...)
				settlements[0].Action, settlements[0].Delay, settlements[0].Correlation = verdict, 100*time.Second, "c"
				w.exchange("w", settlements, Take{})
				w.rule(map[string]string{"p": `{"shape":"b","throttles":["erp"]}`}, throttles)
				for range 3 { // the queue is left
					w.now++
					w.take("w", 1, "q")
				}
				for _, tid := range []string{"erp", "free"} {
					if tid != own {
						w.redis.ZAdd(t.Context(), "ql:th:"+tid+"-locks", redis.Z{Score: 1, Member: "another"}, redis.Z{Score: 1, Member: "third"})
					}
				}
				if verdict == Park {
					w.call("respond", (&Response{Klass: "K", Correlation: "c", Data: []byte("1")}).words()...)
				}
				w.now += 200
				before := w.many("erp")
				if jobs := take(w); len(jobs) != 1 {
					t.Fatalf("%v begins, of %v", jobs, w.redis.HGetAll(t.Context(), "ql:j:j").Val())
				}
				want := map[bool]string{true: "", false: `["` + own + `","ql:q:q"]`}[own == ""]
				if name == "reqless" && own == "" {
					want = `["ql:q:q"]` // as of any job
				}
				f := w.redis.HGetAll(t.Context(), "ql:j:j").Val()
				if f["throttles"] != want || f["oarlock-gate"] != "" {
					t.Errorf("it has %q and %q of rules, and %d places of erp, of %d", f["throttles"], f["oarlock-gate"], w.many("erp"), before)
				}
				for _, key := range w.redis.Keys(t.Context(), "ql:th:*-locks").Val() {
					tid := strings.TrimSuffix(strings.TrimPrefix(key, "ql:th:"), "-locks")
					for _, holder := range w.redis.ZRange(t.Context(), key, 0, -1).Val() {
						if strings.HasPrefix(holder, "j") && (holder != "j" || !strings.Contains(want, `"`+tid+`"`)) {
							t.Errorf("%q has a place of %s still", holder, tid)
						}
					}
				}
			})
		}
	}
}

// TestAChildThatTakesANameLeavesTheWaitlist: a recurring job is made again, and its child has the jid of one that waits for a place: that waits no more, and of what rules gave it
// the new one has nothing.
func TestAChildThatTakesANameLeavesTheWaitlist(t *testing.T) {
	w := newGateWorld(t)
	w.rule(map[string]string{"q": `{"shape":"a","throttles":["erp"],"klass":{"K":{"weight":2}}}`}, map[string]string{"erp": `{"limit":2,"patience":60}`})
	w.put(Put{Queue: "q", JID: "runs", Klass: "K"}, Put{Queue: "q", JID: "again-1", Klass: "K"})
	w.take("w", 2, "q")
	w.take("w", 1, "q") // who has no room is filed now
	waitlists := func() int { return len(w.redis.Keys(w.t.Context(), "ql:oarlock:waitlist:*").Val()) }
	if state := w.redis.HGet(t.Context(), "ql:j:again-1", "state").Val(); state != "throttled" || waitlists() != 1 {
		t.Fatalf("it is %s, with %d waitlists", state, waitlists())
	}
	w.foreign(Qless, "recur", "other", "again", "Light", "{}", "interval", "3600", "0")
	w.now++
	if jobs := w.pop(Qless, "pop", "other", "ruby", 1); len(jobs) != 1 || jobs[0].JID != "again-1" {
		t.Fatalf("popped is %v", jobs)
	}
	if f := w.redis.HMGet(t.Context(), "ql:j:again-1", "throttles", "oarlock-gate").Val(); waitlists() != 0 || f[0] != nil || f[1] != nil {
		t.Errorf("%d waitlists are left, and it has %v", waitlists(), f)
	}
}

// refusedAbroad is the text with which a command of another client is refused.
func (w *gateWorld) refusedAbroad(words ...string) string {
	w.t.Helper()
	before := dump(w.t.Context(), w.redis)
	reply, err := callUnified(w.t.Context(), w.lab, Qless, step{Argv: append([]string{words[0], fmt.Sprintf("%.3f", w.now)}, words[1:]...)})
	stop(w.t, err == nil, "%q is answered %v", words, reply)
	for key, now := range dump(w.t.Context(), w.redis) {
		never(w.t, before[key] != now, "%q is refused, and changes %s", words, key)
	}
	return err.Error()
}

// TestAnotherClientParks: a worker of another client lets a job wait for an answer, by the unified script; whoever answers, by whichever door, it comes back to
// the front, and its worker reads the answer, also when it was tried again or its first worker died; in a queue with rules it has kept its places.
func TestAnotherClientParks(t *testing.T) {
	for dialect, pop := range pops {
		for _, queue := range []string{"plain", "q"} {
			t.Run(string(dialect)+" "+queue, func(t *testing.T) {
				w := newForeignWorld(t)
				w.foreign(dialect, map[Dialect]string{Qless: "put", Reqless: "queue.put"}[dialect], "other", queue, "j", "Pay", `{"order":17}`, "0")
				run := func(worker string) {
					t.Helper()
					if jobs := w.pop(dialect, pop, queue, worker, 2); len(jobs) != 1 || jobs[0].JID != "j" {
						t.Fatalf("%s pops %v", worker, jobs)
					}
				}
				response := func(worker string) (data string) {
					t.Helper()
					var told struct {
						Correlation string
						Data        json.RawMessage
					}
					if text := w.foreign(dialect, "oarlock.response", "j", worker); text != nil {
						ok(t, json.Unmarshal([]byte(text.(string)), &told))
						never(t, told.Correlation != "order-17", "answered is %v", text)
					}
					return string(told.Data)
				}
				run("ruby")
				if got := response("ruby"); got != "" {
					t.Errorf("before it parks it is answered %s", got)
				}
				places := w.many("erp")
				if got := w.foreign(dialect, "oarlock.park", "j", "ruby", queue, "order-17", "3600", "data", `{"asked":true}`); got != "scheduled" || w.many("erp") != places {
					t.Fatalf("it is %v, with %d places of %d", got, w.many("erp"), places)
				}
				w.now += 10
				if jobs := w.pop(dialect, pop, queue, "ruby", 2); len(jobs) > 0 {
					t.Fatalf("popped is %v, which waits", jobs)
				}
				if got := w.foreign(dialect, "oarlock.respond", "Pay", "order-17", `{"paid": 1}`); got != "resumed" {
					t.Errorf("its answer is %v", got)
				}
				if got := w.foreign(dialect, "oarlock.respond", "Pay", "order-17", `{"paid": 2}`); got != "again" {
					t.Errorf("its second answer is %v", got)
				}
				run("ruby")
				if got := response("other"); got != "" {
					t.Errorf("another worker is told %s", got)
				}
				if got := response("ruby"); got != `{"paid": 1}` || w.redis.HGet(t.Context(), "ql:j:j", "data").Val() != `{"asked":true}` {
					t.Errorf("it is answered %s", got)
				}
				w.foreign(dialect, map[Dialect]string{Qless: "retry", Reqless: "job.retry"}[dialect], "j", queue, "ruby", "0")
				run("python")
				if got := response("python"); got != `{"paid": 1}` {
					t.Errorf("when it is tried again it is answered %q", got)
				}
				w.lose(queue, "j")
				run("php")
				if got := response("php"); got != `{"paid": 1}` {
					t.Errorf("after a death it is answered %q", got)
				}
				// An answer that an attempt was given is none to what it asks next.
				if got := w.foreign(dialect, "oarlock.park", "j", "php", queue, "order-17", "60"); got != "scheduled" {
					t.Errorf("it asks again, and is %v", got)
				}
				w.now += 61
				run("php")
				if got := response("php"); got != "" {
					t.Errorf("when it has waited in vain it is answered %q", got)
				}
				if got := w.foreign(dialect, map[Dialect]string{Qless: "complete", Reqless: "job.complete"}[dialect], "j", "php", queue, "{}"); got != "complete" || w.many("erp") != 0 {
					t.Errorf("it is %v, with %d places", got, w.many("erp"))
				}
				if got := w.foreign(dialect, "oarlock.respond", "Pay", "order-17", "3"); got != "late" {
					t.Errorf("an answer to what is over is %v", got)
				}
			})
		}
	}
}

// TestOneParksAnotherGoesOn: what a worker of ours parked goes on with one of another client, and the other way round; each is told the answer.
func TestOneParksAnotherGoesOn(t *testing.T) {
	for _, queue := range []string{"plain", "q"} {
		t.Run(queue, func(t *testing.T) {
			w := newForeignWorld(t)
			w.put(Put{Queue: queue, JID: "ours", Klass: "K"}, Put{Queue: queue, JID: "theirs", Klass: "K"})
			park := done(w.take("w", 1, queue)...)
			park[0].Action, park[0].Correlation, park[0].Delay = Park, "a", time.Hour
			w.exchange("w", park, Take{})
			w.pop(Qless, "pop", queue, "ruby", 1)
			w.foreign(Qless, "oarlock.park", "theirs", "ruby", queue, "b", "3600")
			w.foreign(Qless, "oarlock.respond", "K", "a", "1")
			if jobs := w.pop(Qless, "pop", queue, "ruby", 1); len(jobs) != 1 || !strings.Contains(fmt.Sprint(w.foreign(Qless, "oarlock.response", "ours", "ruby")), `"data":1`) {
				t.Errorf("with the answer to ours goes on %v", jobs)
			}
			w.call("respond", (&Response{Klass: "K", Correlation: "b", Data: []byte("2")}).words()...)
			if jobs := w.take("w", 1, queue); len(jobs) != 1 || jobs[0].JID != "theirs" || jobs[0].Answer == nil || string(jobs[0].Answer.Data) != "2" {
				t.Errorf("with the answer to theirs goes on %+v", jobs)
			}
		})
	}
}

// TestParkingByNameGivesPlacesBack: of a throttle that is free while a job is parked, and whoever waits for the place has it.
func TestParkingByNameGivesPlacesBack(t *testing.T) {
	w := gateWorldOn(t, "redis")
	w.rule(map[string]string{"q": `{"shape":"a","throttles":["erp"]}`}, map[string]string{"erp": `{"limit":1,"free":true,"patience":60}`})
	w.put(putsOf(2, func(int) Put { return Put{Queue: "q", Klass: "K"} })...)
	if jobs := w.pop(Qless, "pop", "q", "ruby", 2); len(jobs) != 1 {
		t.Fatalf("%v begin", jobs)
	}
	if queues := w.wakesOf(func() { w.foreign(Qless, "oarlock.park", "j0000", "ruby", "q", "c", "60") }); len(queues) != 1 || w.many("erp") != 0 {
		t.Errorf("woken are %v, and %d places are taken", queues, w.many("erp"))
	}
	if jobs := w.pop(Qless, "pop", "q", "ruby", 2); len(jobs) != 1 || jobs[0].JID != "j0001" {
		t.Errorf("then begins %v", jobs)
	}
}

// TestParkAndRespondAreRefused: with a reason, and nothing changes.
func TestParkAndRespondAreRefused(t *testing.T) {
	w := newForeignWorld(t)
	w.put(Put{Queue: "q", JID: "j", Klass: "K"}, Put{Queue: "q", JID: "waits", Klass: "K"})
	w.pop(Qless, "pop", "q", "ruby", 1)
	for _, tt := range []struct{ words, says string }{
		{"oarlock.park", "Job(): no jid provided"},
		{"oarlock.park j", `Park(): Arg "worker" missing`},
		{"oarlock.park j ruby q", `Park(): Arg "correlation" missing`},
		{"oarlock.park j ruby q c", `Park(): Arg "seconds" missing or not a number`},
		{"oarlock.park j ruby q c inf", `Park(): Arg "seconds" not a finite number`},
		{"oarlock.park j ruby q c 0", "Park(): a park without an end"},
		{"oarlock.park j ruby q c 9 then fail", "Park(): then must be complete: fail"},
		{"oarlock.park j ruby q c 9 data {", "Expected object key string"},
		{"oarlock.park j other q c 9", "Park(): given to another worker: ruby"},
		{"oarlock.park waits ruby q c 9", "Park(): not running but waiting"},
		{"oarlock.park gone ruby q c 9", "Park(): the job does not exist"},
		{"oarlock.respond K c", `Respond(): Arg "data" missing`},
		{"oarlock.respond K c {", "Respond(): the answer is no JSON"},
		{"oarlock.respond K c nan", "Respond(): the answer is no JSON"},
		{"oarlock.respond K c 1 end well", "Respond(): bad end: it is complete or fail, not well"},
		{"oarlock.response", "Job(): no jid provided"},
	} {
		if text := w.refusedAbroad(strings.Fields(tt.words)...); !strings.Contains(text, tt.says) {
			t.Errorf("%s: %s", tt.words, text)
		}
	}
	if text := w.refusedAbroad("oarlock.park", "j", "ruby", "q", "", "9"); !strings.Contains(text, "Park(): the correlation is empty") {
		t.Error(text)
	}
}

// TestAJobThatIsLetTryInTheSameTakeStands: of two jobs of a queue whose rules are gone the first waits for a throttle, and the second gives back the place
// that rules gave it. The first stands in the queue again, whoever takes.
func TestAJobThatIsLetTryInTheSameTakeStands(t *testing.T) {
	for _, command := range []string{"exchange", "pop", "queue.pop"} {
		t.Run(command, func(t *testing.T) {
			w := newGateWorld(t)
			ctx := t.Context()
			w.foreign(Reqless, "throttle.set", "a", "1")
			w.put(Put{Queue: "q", JID: "first", Klass: "K", Throttles: []string{"a"}}, Put{Queue: "q", JID: "second", Klass: "K"})
			// Rules that are no more had let the second take its place, and it was lost then.
			w.redis.HSet(ctx, "ql:j:second", "throttles", `["a"]`, "oarlock-gate", "1", "state", "stalled")
			w.redis.ZAdd(ctx, "ql:th:a-locks", redis.Z{Score: 1, Member: "second"})
			switch command {
			case "exchange":
				w.exchangePlain("w", nil, Take{Queues: []string{"q"}, Count: 2})
			case "pop":
				w.pop(Qless, command, "q", "w", 2)
			default:
				w.foreign(Reqless, "queue.pop", "q", "w", "2")
			}
			f := w.redis.HGet(ctx, "ql:j:first", "state").Val()
			waits := w.redis.ZScore(ctx, "ql:q:q-work", "first").Err() == nil || w.redis.ZScore(ctx, "ql:q:q-throttled", "first").Err() == nil
			if f != "running" && !waits {
				t.Errorf("the first is %s, and stands nowhere", f)
			}
		})
	}
}
