package doctor

import (
	"context"
	"fmt"
	"strings"
	"time"

	"oarlock/queue"
)

// unservedAfter is how long the next job of a queue waits, while none of it runs, before the queue is
// suspected to be nobody's.
const unservedAfter = time.Minute

// Unserved finds queues with jobs that could be taken, of which none runs and the next has waited for a
// minute: by name, for how long. Redis knows of no pools, so this is all that it tells of queues that no
// pool works, on whichever host; paused ones are left out.
func Unserved(ctx context.Context, client *queue.Client, counts []queue.QueueCounts) (map[string]time.Duration, error) {
	var names []string
	for _, n := range counts {
		if n.Waiting > 0 && n.Running == 0 && !n.Paused && n.Damage == "" {
			names = append(names, n.Name)
		}
	}
	outlook, now, err := client.Outlook(ctx, names)
	if err != nil {
		return nil, err
	}
	found := map[string]time.Duration{}
	for _, q := range outlook {
		waited := time.Duration((now - q.HeadPut) * float64(time.Second)).Round(time.Second)
		if q.Ready > 0 && q.HeadPut > 0 && !q.Paused && q.Damage == "" && waited >= unservedAfter {
			found[q.Queue] = waited
		}
	}
	return found, nil
}

// Unserved reports queues that seem to be nobody's. worked tells which pools of the configuration here work
// a queue.
func (d *Doctor) Unserved(ctx context.Context, worked func(queue string) []string) error {
	counts, err := d.Client.Queues(ctx)
	if err != nil {
		return d.hidden("queues", err)
	}
	found, err := Unserved(ctx, d.Client, counts)
	if err != nil {
		return d.hidden("queues", err)
	}
	for _, n := range counts {
		waited, is := found[n.Name]
		if !is {
			continue
		}
		here, advice := "no pool of the configuration here works it", "Does a pool of another host work it, and is it up? Else name it in the queues of a pool."
		if pools := worked(n.Name); len(pools) > 0 {
			here, advice = "though the configuration here has pools for it: "+strings.Join(pools, ", "), "Is the supervisor up, and has it time for this queue? See oarlock status, and oarlock job why of one of its jobs."
		}
		d.found(Warning, "queue "+n.Name, advice, "%s, the next for %v, and none runs; %s.", waiting(n.Waiting), waited, here)
	}
	return nil
}

func waiting(n int) string {
	if n == 1 {
		return "1 job is waiting"
	}
	return fmt.Sprintf("%d jobs are waiting", n)
}
