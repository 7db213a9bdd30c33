package queue_test

import (
	"fmt"
	"testing"

	"oarlock/queue"
)

// TestKeysBelongToNobody: a key is tied to no worker and to no part of the queue. Whoever asks gets jobs of any keys, as many at once as
// there are keys, and nothing has to be changed when there are more workers, or fewer.
func TestKeysBelongToNobody(t *testing.T) {
	onEachServer(t, func(t *testing.T, c *queue.Client) {
		const keys = 12
		for n := range 4 {
			for k := range keys {
				keyed(t, c, fmt.Sprint("key ", k), fmt.Sprintf("%d:%d", k, n))
			}
		}
		workers := []*queue.Session{session(t, c, "a"), session(t, c, "b"), session(t, c, "c")}
		had := map[string]map[int]bool{} // by key: the workers that had jobs of it
		for n, many := range []int{1, 2, 3, 1} {
			running := map[int][]queue.Taken{} // by worker
			for w := range many {
				reply, _ := take(t, workers[w], queue.Take{Queues: []string{"q"}, Count: keys / many})
				running[w] = reply.Jobs
				if len(reply.Jobs) != keys/many {
					t.Fatalf("of %d keys that are free one of %d workers is given %d", keys, many, len(reply.Jobs))
				}
			}
			for w, jobs := range running {
				for _, job := range jobs {
					var k, number int
					fmt.Sscanf(job.JID, "%d:%d", &k, &number)
					if number != n {
						t.Errorf("%s is handed out in round %d", job.JID, n)
					}
					if had[job.Key] == nil {
						had[job.Key] = map[int]bool{}
					}
					had[job.Key][w] = true
					settle(t, workers[w], job, queue.Settlement{Action: queue.Complete})
				}
			}
		}
		several := 0
		for _, by := range had {
			if len(by) > 1 {
				several++
			}
		}
		if len(had) != keys || several < keys/2 {
			t.Errorf("of %d keys %d had jobs with several workers", len(had), several)
		}
	})
}
