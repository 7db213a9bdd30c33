package bench

import (
	"bytes"
	"encoding/json"
	"io"
	"testing"

	"oarlock/internal/must"
	"oarlock/queue/admin"
)

// Of a spike of entries, which are there all at once, the supervisor holds no more than its children work: its memory is what a few
// cost, and it works them no slower than jobs of a queue; an entry that is pushed to an idle one is begun soon after a bare BLPOP would have it.
func TestSpikesOfLists(t *testing.T) {
	if testing.Short() {
		t.Skip("long: a measurement")
	}
	const few, many, samples, late = 50, 30_000, 501, 8 // late: the machine may do much else
	b := newBench(t)
	b.Scratch = t.TempDir()
	shape := Shape{Mode: "reuse", Children: 2, List: admin.ListToMeasure(b.Client)}
	must.Do(t, b.equip(&shape))
	calm := must.Get(b.series(t.Context(), shape, few, 0, ""))(t)
	shape.List = ""
	var out bytes.Buffer
	must.Do(t, b.besides(t.Context(), Series{shape, many}, samples, NewReport(&out, io.Discard, true)))
	var list, queue Result
	for in, r := json.NewDecoder(&out), 0; r < 2; r++ {
		must.Do(t, in.Decode([]*Result{&list, &queue}[r]))
	}
	t.Logf("list: %+v, %+v beside %+v", list, list.PutToStart, list.Wakeup)
	t.Logf("queue: %+v, %+v", queue, queue.PutToStart)
	if !list.List || queue.List || list.Jobs != many || queue.Jobs != many {
		t.Fatalf("measured are %+v and %+v", list, queue)
	}
	if list.Rate < queue.Rate {
		t.Errorf("%.0f entries a second, and %.0f jobs", list.Rate, queue.Rate)
	}
	if list.RedisTime > queue.RedisTime {
		t.Errorf("an entry takes Redis %.0f µs, and a job %.0f", list.RedisTime, queue.RedisTime)
	}
	if more := list.SupervisorRSS - calm.SupervisorRSS; more > 8<<10 {
		t.Errorf("with %d entries the supervisor takes %d KiB more than with %d", many, more, few)
	}
	if list.PutToStart.P50 > late*list.Wakeup.P50 {
		t.Errorf("an entry is begun after %.2f ms, and a BLPOP has it after %.2f", list.PutToStart.P50, list.Wakeup.P50)
	}
	if keys := must.Get(b.Client.Redis().Keys(t.Context(), "*").Result())(t); len(keys) > 0 {
		t.Errorf("keys are left: %q", keys)
	}
}
