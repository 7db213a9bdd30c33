package queue

import (
	"fmt"
	"testing"
)

// TestCommandsPerExchange counts the commands of a call that settles some jobs and takes as many, when the queue is known and nothing
// special is: docs/performance.md quotes the numbers.
func TestCommandsPerExchange(t *testing.T) {
	l := newLab(t, "redis", DefaultNamespace)
	c := labClient(t, l)
	for jobs, want := range map[int]int{0: 4, 1: 27, 10: 90, 64: 468} {
		t.Run(fmt.Sprint(jobs), func(t *testing.T) {
			l.redis.FlushAll(t.Context())
			var puts []Put
			for range 3*jobs + 1 {
				puts = append(puts, Put{Queue: "q", Klass: "K"})
			}
			if _, err := c.PutAll(t.Context(), puts); err != nil {
				t.Fatal(err)
			}
			s := c.Session("w")
			take := Take{Queues: []string{"q"}, Count: jobs}
			var settlements []Settlement
			exchange := func() {
				t.Helper()
				reply, err := s.Exchange(t.Context(), settlements, take)
				if err != nil || len(reply.Jobs) != jobs {
					t.Fatalf("%d jobs, %v", len(reply.Jobs), err)
				}
				settlements = done(reply.Jobs...)
			}
			exchange()
			exchange()
			l.redis.ConfigResetStat(t.Context())
			exchange()
			if n := commandsRun(t, l); n != want {
				t.Errorf("%d commands for %d settlements and as many takes, want %d", n, jobs, want)
			}
		})
	}
}
