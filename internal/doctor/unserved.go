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

// UnservedFor is for how long the next job of a queue has been waiting, at the time now, where it could be taken and none
// of the queue runs: for a minute at least, else 0. Redis knows of no pools, so this is all that it tells of queues that
// no pool works, on whichever host; a paused one is not meant.
func UnservedFor(n queue.QueueCensus, now float64) time.Duration {
	waited := time.Duration(n.Lag(now) * float64(time.Second)).Round(time.Second)
	if n.Waiting == 0 || n.Running > 0 || n.Paused || n.Damage != "" || waited < unservedAfter {
		return 0
	}
	return waited
}

// Unserved reports queues that seem to be nobody's. worked tells which pools of the configuration here work
// a queue.
func (d *Doctor) Unserved(ctx context.Context, worked func(queue string) []string) error {
	names, err := d.Client.QueueNames(ctx)
	if err != nil {
		return d.hidden("queues", err)
	}
	census, now, err := d.Client.Census(ctx, names)
	if err != nil {
		return d.hidden("queues", err)
	}
	for _, n := range census {
		d.ahead(n, now)
		waited := UnservedFor(n, now)
		if waited == 0 {
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

// ahead reports a queue whose next job was put by a clock that is ahead of that of Redis: for how long it waits cannot be told before then.
func (d *Doctor) ahead(n queue.QueueCensus, now float64) {
	by := n.ReadySince - now
	if n.Waiting == 0 || n.Running > 0 || n.Paused || n.Damage != "" || by < clockAhead.Seconds() {
		return
	}
	d.found(Warning, "queue "+n.Name, "Let the hosts of those who put take their time from NTP: what they put comes after what others do.",
		"%s, and none runs; the next was put by a clock that is %v ahead of that of Redis, so nobody can say how long it has waited.", waiting(n.Waiting), queue.Duration(by).Round(time.Second))
}

func waiting(n int) string {
	if n == 1 {
		return "1 job is waiting"
	}
	return fmt.Sprintf("%d jobs are waiting", n)
}
