package queue

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"oarlock/queue/internal/wire"
)

// busyWorld is a key space in which jobs run and wait in all the ways that limits and order know.
type busyWorld struct {
	*gateWorld
	running []Taken
	lost    []string // what could not be settled or taken, in words
}

var busyQueues = []string{"limited", "ordered", "merging", "plain"}

// newBusyWorld fills a lab that is emptied for it. Its time begins now, since the doctor reads the clock of the server.
func newBusyWorld(t testing.TB, l *lab, client *Client) *busyWorld {
	t.Helper()
	ok(t, l.redis.FlushDB(t.Context()).Err())
	w := &busyWorld{gateWorld: &gateWorld{lab: l, t: t, client: client, now: client.Now()}}
	w.limits()
	w.call("order", "f", "0", "keep", "ordered", "order=key")
	w.call("order", "f", "0", "keep", "merging", "order=key merge=set")
	w.foreign(Reqless, "throttle.set", "own", "1")
	put := func(jid, queue, class string, more func(*Put)) {
		w.now += 0.001
		p := Put{JID: jid, Queue: queue, Klass: class, Data: []byte(`{"r":"x"}`), Tags: []string{"tag"}}
		if more != nil {
			more(&p)
		}
		if raw := w.call("put", appendPuts([]any{"w"}, []Put{p})...); strings.Contains(fmt.Sprint(raw), "refused") {
			t.Fatalf("put of %s: %v", jid, raw)
		}
	}
	for i := range 12 {
		put(fmt.Sprint("limited", i), "limited", []string{"K", "Heavy", "Slow"}[i%3], func(p *Put) { p.Data = fmt.Appendf(nil, `{"r":"%c"}`, "xyz"[i%3]) })
		put(fmt.Sprint("ordered", i), "ordered", "K", func(p *Put) { p.Key = fmt.Sprint("k", i%3) })
	}
	for i := range 6 {
		put(fmt.Sprint("merging", i), "merging", "K", func(p *Put) { p.Key, p.Data = fmt.Sprint("k", i%2), fmt.Appendf(nil, `%d`, i) })
		put(fmt.Sprint("plain", i), "plain", "K", func(p *Put) { p.Throttles = []string{"own"} })
	}
	w.turn()
	for _, job := range w.running { // jobs of one key that are put while another runs merge into the next
		if job.Queue == "merging" {
			put(job.JID+" next", "merging", "K", func(p *Put) { p.Key, p.Data = job.Key, []byte(`"next"`) })
		}
	}
	put("later", "limited", "K", func(p *Put) { p.Delay = 5 * time.Second })
	put("later in order", "ordered", "K", func(p *Put) { p.Key, p.Delay = "k0", 5*time.Second })
	put("after others", "ordered", "K", func(p *Put) { p.Key, p.Depends = "k1", []string{"limited11", "ordered11"} })
	put("ordinary", "plain", "K", nil)
	// Of those that run one parks, one is to be tried again, and one is canceled.
	stop(t, len(w.running) < 6, "only %v run", jidsOf(w.running))
	settlements := done(w.running[:3]...)
	settlements[0].Action, settlements[0].Correlation, settlements[0].Delay = Park, "c", 10*time.Second
	settlements[1].Action, settlements[1].Delay = Retry, 3*time.Second
	w.settle(settlements)
	w.running = w.running[3:]
	w.foreign(Qless, "cancel", w.running[0].JID)
	w.take()
	return w
}

// limits installs the rules.
func (w *busyWorld) limits() {
	w.t.Helper()
	w.rule(map[string]string{
		"limited": `{"shape":"a","limited":true,"limit_of_queue":4,"throttles":["t","region","share"],"by":{"region":["path","r"],"share":["path","r"]},
			"klass":{"Heavy":{"weight":2},"Slow":{"throttles":["pace"]}}}`,
		"ordered": `{"shape":"b","limited":true,"limit_of_queue":2,"throttles":["t"]}`,
		"merging": `{"shape":"c","throttles":["t"]}`,
	}, map[string]string{
		"t": `{"limit":6,"patience":5}`, "pace": `{"rate":[2,1,2],"patience":5}`,
		"region": `{"limit":6,"patience":5,"by":["path","r"],"each":2}`,
		"share":  `{"limit":4,"patience":5,"by":["path","r"],"shares":{"x":0.5,"y":0.5},"borrow":true}`,
	})
}

// turn is a second in which all that runs ends, and what may begins.
func (w *busyWorld) turn() {
	w.t.Helper()
	w.settle(done(w.running...))
	w.running = nil
	w.take()
}

func (w *busyWorld) settle(settlements []Settlement) {
	w.t.Helper()
	w.call("tend", append([]any{"0", 3, "limited", "ordered", "merging"}, "limited", "ordered", "merging")...)
	w.call("sweep", append([]any{"50"}, wire.Args(busyQueues)...)...)
	w.exchanges(settlements, Take{})
}

func (w *busyWorld) take() {
	w.t.Helper()
	w.exchanges(nil, Take{Queues: busyQueues, Count: 100})
}

// exchanges is as exchange, as often as there is more; it notes what was left out.
func (w *busyWorld) exchanges(settlements []Settlement, take Take) {
	w.t.Helper()
	for range 50 {
		sent, puts, results := checkSettlements(settlements)
		reply := must(readExchange(w.call("ruled", exchangeArgs("w", sent, puts, take)...), w.now, results, take.Queues))(w.t)
		for i, r := range reply.Results {
			if r.Err != nil {
				w.lost = append(w.lost, fmt.Sprintf("%s: %v", settlements[i].JID, r.Err))
			}
		}
		for _, b := range reply.Broken {
			w.lost = append(w.lost, fmt.Sprintf("broken: %+v", b))
		}
		w.running = append(w.running, reply.Jobs...)
		if settlements, take.Count = nil, take.Count-len(reply.Jobs); !reply.More || take.Count <= 0 {
			return
		}
	}
	w.t.Fatalf("there is more and more")
}

// standing plays until all jobs have ended, and nothing is kept of them, for three minutes at most; it tells what is left then.
func (w *busyWorld) standing() (left []string) {
	w.t.Helper()
	for i := range 60 {
		if w.now += 1.1; i >= 30 {
			w.now += 5
		}
		w.turn()
		if left = w.left(); len(left) == 0 {
			return nil
		}
	}
	return left
}

// left is what stands: jobs that have not ended, and keys that are there for such jobs alone.
func (w *busyWorld) left() (left []string) {
	ctx := w.t.Context()
	for _, key := range w.redis.Keys(ctx, "ql:*").Val() {
		name := strings.TrimPrefix(key, "ql:")
		kind, rest, _ := strings.Cut(name, ":")
		switch {
		case kind == "j" && w.redis.Type(ctx, key).Val() == "hash":
			if state := w.redis.HGet(ctx, key, "state").Val(); state != "complete" && state != "failed" {
				left = append(left, fmt.Sprintf("%s is %s", rest, state))
			}
		case kind == "q", kind == "w", kind == "th" && (strings.HasSuffix(rest, "-locks") || strings.HasSuffix(rest, "-pending")),
			kind == "j" && (strings.HasSuffix(rest, "-dependencies") || strings.HasSuffix(rest, "-dependents")), kind == "oarlock" && !mayStay(key):
			left = append(left, name)
		}
	}
	slices.Sort(left)
	return left
}

// TestAKeyThatIsDeletedHoldsNobodyUp deletes each key of a busy key space in turn, at three moments. All jobs that are left run to their end, and nothing is
// left of them, by what supervisors look after, or at least once a doctor has mended what it finds.
func TestAKeyThatIsDeletedHoldsNobodyUp(t *testing.T) {
	l := newLab(t, "redis", DefaultNamespace)
	client := labClient(t, l)
	begin := func(turns int) *busyWorld {
		w := newBusyWorld(t, l, client)
		for range turns {
			w.now++
			w.turn()
		}
		return w
	}
	for _, turns := range []int{0, 1, 4} {
		w := begin(turns)
		keys := w.redis.Keys(t.Context(), "ql:*").Val()
		slices.Sort(keys)
		if left := w.standing(); len(left) > 0 {
			t.Fatalf("with all keys there are left %q; %q", left, w.lost)
		}
		if testing.Short() {
			keys = []string{"ql:j:plain1", "ql:oarlock:waitlists:limited", "ql:th:t"}
		}
		for _, key := range keys {
			w := begin(turns)
			w.redis.Del(t.Context(), key)
			left := w.standing()
			if len(left) == 0 {
				continue
			}
			found := Repair(t, client)
			again := w.standing()
			if key == "ql:oarlock:rules" && len(again) > 0 { // no job, but keys that are for those who know the rules
				w.limits()
				again = w.standing()
			}
			if len(again) > 0 {
				t.Errorf("after %d turns %s is deleted: %q stand, the doctor finds %q, and %q are left", turns, key, left, found, again)
			} else {
				t.Logf("after %d turns %s is deleted: %q stand, and the doctor mends %q", turns, key, left, found)
			}
		}
		if testing.Short() {
			break
		}
	}
}
