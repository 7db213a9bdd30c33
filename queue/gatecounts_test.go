package queue

import (
	"fmt"
	"maps"
	"testing"
	"time"
)

// counted adds what the gate said in a reply to counts, by queue and word.
func counted(counts map[string]int, replies ...Reply) map[string]int {
	for _, reply := range replies {
		for _, c := range reply.Gate {
			counts[c.Queue+" "+string(c.Word)] += c.Jobs
		}
	}
	return counts
}

// TestTheGateSaysWhatItDid: of each job that runs, is filed or is put off it says why, once, whatever the queue is named.
func TestTheGateSaysWhatItDid(t *testing.T) {
	for _, name := range []string{"q", "a b:\n\x00%"} {
		t.Run(fmt.Sprintf("%q", name), func(t *testing.T) {
			w := newGateWorld(t)
			w.rule(map[string]string{name: `{"shape":"a","throttles":["erp"],"klass":{"Free":{"weight":1,"bypass":true}}}`, "other": `{"shape":"a"}`},
				map[string]string{"erp": `{"limit":2,"patience":60}`})
			w.put(putsOf(5, func(int) Put { return Put{Queue: name, Klass: "K"} })...)
			w.put(Put{Queue: name, JID: "free", Klass: "Free"}, Put{Queue: "other", JID: "o", Klass: "K"})
			reply := w.exchange("w", nil, Take{Queues: []string{name, "other"}, Count: 100})
			want := map[string]int{name + " free": 2, name + " bypass": 1, name + " full": 1, name + " behind": 2, "other free": 1}
			if got := counted(map[string]int{}, reply); !maps.Equal(got, want) {
				t.Errorf("of jobs that come in it says %v, want %v", got, want)
			}
			w.now++
			reply = w.exchange("w", done(reply.Jobs...), Take{Queues: []string{name}, Count: 100})
			if got, want := counted(map[string]int{}, reply), map[string]int{name + " waited": 2}; !maps.Equal(got, want) {
				t.Errorf("of jobs from a waitlist it says %v, want %v", got, want)
			}
			w.now++
			reply = w.exchange("w", nil, Take{Queues: []string{name}, Count: 100})
			if len(reply.Gate) != 0 {
				t.Errorf("where nothing happens it says %v", reply.Gate)
			}
		})
	}
}

// TestTheGateSaysSharesAndRates: what waits for a share or a rate is told from what waits for a place, and what is lent from what is had.
func TestTheGateSaysSharesAndRates(t *testing.T) {
	w := newGateWorld(t)
	w.rule(map[string]string{
		"hard": `{"shape":"a","throttles":["region"],"by":{"region":["path","region"]}}`,
		"lent": `{"shape":"a","throttles":["loan"],"by":{"loan":["path","region"]}}`,
		"rate": `{"shape":"a","throttles":["api"]}`,
	}, map[string]string{
		"region": `{"limit":4,"patience":60,"by":["path","region"],"shares":{"east":0.5,"west":0.5}}`,
		"loan":   `{"limit":4,"patience":60,"by":["path","region"],"shares":{"east":0.5,"west":0.5},"borrow":true}`,
		"api":    `{"limit":0,"patience":60,"rate":[2,10,2]}`,
	})
	for _, queue := range []string{"hard", "lent", "rate"} {
		w.put(putsOf(5, func(i int) Put {
			return Put{Queue: queue, JID: fmt.Sprint(queue, i), Klass: "K", Data: []byte(`{"region":"east"}`)}
		})...)
	}
	got := map[string]int{}
	for range 3 { // lent is only once all that came in is sorted
		w.now++
		counted(got, w.exchange("w", nil, Take{Queues: []string{"hard", "lent", "rate"}, Count: 100}))
	}
	for word, want := range map[string]int{"hard free": 2, "hard share": 1, "hard behind": 2, "lent free": 2, "lent lent": 2, "rate free": 2, "rate rate": 1, "rate behind": 2} {
		if got[word] != want {
			t.Errorf("%s: %d, want %d; it says %v", word, got[word], want, got)
		}
	}
}

// TestTheGateSaysWindowsAndAnswers: a job that its window puts off is told of once a move, and one that goes on with its answer as that.
func TestTheGateSaysWindowsAndAnswers(t *testing.T) {
	w := newGateWorld(t)
	w.now = float64(time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC).Unix())
	w.windowed("q", 0, "UTC|05:00-07:00")
	w.call("learn", openings([]any{"UTC|05:00-07:00", "UTC|00:00-24:00"}, w.now)...)
	w.put(putsOf(3, func(int) Put { return Put{Queue: "q", Klass: "K"} })...)
	w.put(Put{Queue: "q", JID: "pay", Klass: "Free"})
	reply := w.exchange("w", nil, Take{Queues: []string{"q"}, Count: 100})
	if got, want := counted(map[string]int{}, reply), map[string]int{"q window": 3, "q free": 1}; !maps.Equal(got, want) {
		t.Errorf("it says %v, want %v", got, want)
	}
	parks := done(reply.Jobs...)
	parks[0].Action, parks[0].Correlation, parks[0].Delay = Park, "order-1", time.Hour
	w.exchange("w", parks, Take{})
	w.now++
	if raw := w.call("respond", "Free", "order-1", "", "data", "1", ""); raw.([]any)[0] != "resumed" {
		t.Fatalf("the answer is %v", raw)
	}
	reply = w.exchange("w", nil, Take{Queues: []string{"q"}, Count: 100})
	if got, want := counted(map[string]int{}, reply), map[string]int{"q resumed": 1}; !maps.Equal(got, want) {
		t.Errorf("of an answer it says %v, want %v", got, want)
	}
}

// TestTendSaysWhatItGaveBack: places by throttle, those of a value as those of the throttle that counts by it.
func TestTendSaysWhatItGaveBack(t *testing.T) {
	w := newGateWorld(t)
	w.rule(map[string]string{"q": `{"shape":"a","throttles":["region"],"by":{"region":["path","region"]},"klass":{"Heavy":{"weight":2}}}`},
		map[string]string{"region": `{"limit":4,"patience":60,"by":["path","region"],"shares":{"east":0.5,"west":0.5}}`})
	w.put(Put{Queue: "q", JID: "a", Klass: "Heavy", Data: []byte(`{"region":"east"}`)})
	if jobs := w.take("w", 1, "q"); len(jobs) != 1 {
		t.Fatalf("took %v", jobs)
	}
	w.redis.HSet(t.Context(), "ql:j:a", "state", "complete")
	w.redis.ZRem(t.Context(), "ql:q:q-locks", "a")
	now := w.client.Now()
	tended, err := w.client.Tend(t.Context(), nil, []string{"q"}, 0)
	if err != nil || !maps.Equal(tended.Places, map[string]int{"region": 4}) || tended.Mended != nil {
		t.Errorf("at %v: %+v, %v", now, tended, err)
	}
	if tended, err = w.client.Tend(t.Context(), nil, []string{"q"}, 0); err != nil || tended.Places != nil {
		t.Errorf("again: %+v, %v", tended, err)
	}
}
