package queue

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
)

// TestAQueueWhoseJobsNeedNothing hands its jobs out as one without rules does, whatever they have, however large they are, and if somebody damaged some: two key spaces have
// the same jobs, and rules for one of them say nothing of most.
func TestAQueueWhoseJobsNeedNothing(t *testing.T) {
	for seed := range Seeds(t, 20) {
		plain, ruled := newGateWorld(t), newGateWorld(t)
		ruled.rule(map[string]string{"q": `{"shape":"a","klass":{"Other":{"throttles":["wide"]}}}`}, map[string]string{"wide": `{"limit":1000,"patience":60}`})
		var had [2][]Taken
		random := rand.New(rand.NewPCG(seed, 1))
		for range 12 {
			puts, harm := somePuts(random), random.IntN(6)
			take := Take{Queues: []string{"q"}, Count: 1 + random.IntN(30), MaxJob: []int64{0, 0, 1000}[random.IntN(3)], Order: []Order{Ordered, RoundRobin}[random.IntN(2)]}
			var replies [2]Reply
			var left [2][]string
			for i, w := range []*gateWorld{plain, ruled} {
				w.now++
				w.call("put", appendPuts([]any{"w"}, puts)...)
				w.harm(harm, puts[0].JID)
				sent, settled, results := checkSettlements(done(had[i]...))
				raw := w.call([]string{"exchange", "ruled"}[i], exchangeArgs("w", sent, settled, take)...)
				var err error
				replies[i], err = readExchange(raw, w.now, results, take.Queues)
				must0(t, err)
				replies[i].Gate, had[i] = nil, nil
				for k := range replies[i].Jobs {
					job := &replies[i].Jobs[k]
					if job.Damage == "" {
						had[i] = append(had[i], *job)
					}
					job.Places = "" // of class Other
				}
				left[i] = w.redis.ZRange(t.Context(), "ql:q:q-work", 0, -1).Val()
			}
			if !reflect.DeepEqual(replies[0], replies[1]) {
				t.Fatalf("seed %d: %+v answers, without rules\n%s\nwith\n%s", seed, take, shortly(replies[0]), shortly(replies[1]))
			}
			if !reflect.DeepEqual(left[0], left[1]) {
				t.Fatalf("seed %d: %+v leaves %q without rules, and with %q", seed, take, left[0], left[1])
			}
		}
	}
}

// somePuts are jobs of many kinds; the first is as most are.
func somePuts(random *rand.Rand) []Put {
	return putsOf(1+random.IntN(30), func(i int) Put {
		p := Put{Queue: "q", JID: fmt.Sprintf("j%08x", random.Uint32()), Klass: []string{"K", "K", "K", "Other"}[random.IntN(4)]}
		if i == 0 {
			p.Klass = "K"
			return p
		}
		switch random.IntN(12) {
		case 0:
			p.Data = []byte(`"` + strings.Repeat("x", random.IntN(3000)) + `"`)
		case 1:
			p.Data = []byte(`"` + strings.Repeat("x", call4MiB/2) + `"`)
		case 2:
			p.Timeout = Duration(5)
		case 3:
			p.Tags = []string{"a"}
		case 4:
			p.Delay = Duration(random.Float64() * 3)
		}
		return p
	})
}

// call4MiB is how many bytes of data a call hands out.
const call4MiB = 4 << 20

// harm does something to a job that no client does.
func (w *gateWorld) harm(kind int, jid string) {
	ctx, key := w.t.Context(), "ql:j:"+jid
	switch kind {
	case 0:
		w.redis.Del(ctx, key)
	case 1:
		w.redis.HDel(ctx, key, "data")
	case 2:
		w.redis.HDel(ctx, key, "jid")
	case 3:
		w.redis.Del(ctx, key)
		w.redis.Set(ctx, key, "no hash", 0)
	}
}

// shortly is a reply without the data of its jobs.
func shortly(reply Reply) string {
	var jobs []string
	for _, job := range reply.Jobs {
		jobs = append(jobs, fmt.Sprintf("%s %s %d %q %q", job.JID, job.Klass, job.Size, job.Damage, job.Places))
	}
	reply.Jobs = nil
	return fmt.Sprintf("%q %+v", jobs, reply)
}
