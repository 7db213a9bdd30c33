package queue

import (
	"fmt"
	"testing"

	"oarlock/queue/internal/script"
	"oarlock/queue/internal/wire"
)

// TestCommandsPerExchange counts the commands of a call that settles some jobs and takes as many, when the queue is known and nothing
// special is: docs/performance.md quotes the numbers.
func TestCommandsPerExchange(t *testing.T) {
	l := newLab(t, "redis", DefaultNamespace)
	c := labClient(t, l)
	for _, tt := range []struct {
		jobs    int
		hurries bool
		plain   bool
		keyed   bool
		want    int
	}{{0, false, false, false, 4}, {1, false, false, false, 27}, {10, false, false, false, 90}, {64, false, false, false, 468},
		{1, true, false, false, 21}, {10, true, false, false, 84}, {64, true, false, false, 462}, {1, true, true, false, 20}, {10, true, true, false, 83},
		{64, true, true, false, 461}, {1, true, false, true, 28}, {10, true, false, true, 91}, {64, true, false, true, 469}} {
		name := fmt.Sprint(tt.jobs)
		if tt.keyed {
			name += " with keys"
		}
		if tt.hurries {
			name += ", moments after another"
		}
		if tt.plain {
			name += ", plain"
		}
		t.Run(name, func(t *testing.T) {
			jobs, want := tt.jobs, tt.want
			l.redis.FlushAll(t.Context())
			var puts []Put
			for i := range 3*jobs + 1 {
				p := Put{Queue: "q", Klass: "K"}
				if tt.keyed {
					p.Key = fmt.Sprint("customer-", i)
				}
				puts = append(puts, p)
			}
			if _, err := c.PutAll(t.Context(), puts); err != nil {
				t.Fatal(err)
			}
			take := Take{Queues: []string{"q"}, Count: jobs, hurries: tt.hurries}
			var settlements []Settlement
			exchange := func() {
				t.Helper()
				now := c.clock.Now()
				if tt.plain {
					take.plain = wire.Mark(now)
				}
				sent, puts, results := checkSettlements(settlements)
				raw, err := c.run(t.Context(), c.redis, script.Name{Dialect: Batch, Command: "exchange"}, now, exchangeArgs("w", sent, puts, take)...)
				must0(t, err)
				reply, err := readExchange(raw, now, results, take.Queues)
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
