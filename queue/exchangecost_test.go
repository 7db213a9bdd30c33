package queue

import (
	"fmt"
	"slices"
	"strings"
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
	}{{0, false, false, false, 4}, {1, false, false, false, 27}, {10, false, false, false, 92}, {64, false, false, false, 470},
		{1, true, false, false, 21}, {10, true, false, false, 86}, {64, true, false, false, 464}, {1, true, true, false, 20}, {10, true, true, false, 83},
		{64, true, true, false, 461}, {1, true, false, true, 28}, {10, true, false, true, 93}, {64, true, false, true, 471}} {
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
			l.redis.FlushDB(t.Context())
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

// TestSetsOfManyAreNoLists looks at how Redis keeps the sets of locks and of what waits: as lists, through which it would look for each entry, only
// where these are few; and at what is in them.
func TestSetsOfManyAreNoLists(t *testing.T) {
	l := newLab(t, "redis", DefaultNamespace)
	c := labClient(t, l)
	s := c.Session("w")
	for _, tt := range []struct {
		jobs int
		want string
	}{{2, "listpack"}, {8, "skiplist"}, {100, "skiplist"}} {
		must0(t, l.redis.FlushDB(t.Context()).Err())
		puts := make([]Put, 2*tt.jobs)
		for i := range puts {
			puts[i] = Put{Queue: "q", Klass: "K"}
		}
		_, err := c.PutAll(t.Context(), puts)
		must0(t, err)
		reply, err := s.Exchange(t.Context(), nil, Take{Queues: []string{"q"}, Count: tt.jobs})
		must0(t, err)
		var taken []string
		for _, job := range reply.Jobs {
			taken = append(taken, job.JID)
		}
		slices.Sort(taken)
		for _, key := range []string{"ql:q:q-locks", "ql:w:w:jobs", "ql:q:q-work"} {
			if is := l.redis.ObjectEncoding(t.Context(), key).Val(); strings.Replace(is, "ziplist", "listpack", 1) != tt.want {
				t.Errorf("of %d jobs %s is a %s, want a %s", tt.jobs, key, is, tt.want)
			}
			members := l.redis.ZRange(t.Context(), key, 0, -1).Val()
			slices.Sort(members)
			if key != "ql:q:q-work" && !slices.Equal(members, taken) || len(members) != tt.jobs {
				t.Errorf("in %s of %d jobs are %q", key, tt.jobs, members)
			}
		}
	}
}

// TestPlainCallsCostLess counts the instructions of the server for calls that settle a job and take one, plain ones and others: what makes a
// plain call worth while is what it does not make, which no count of commands tells.
func TestPlainCallsCostLess(t *testing.T) {
	Long(t, "it measures costs")
	dir := underCallgrind(t)
	w := gateWorldOn(t, "redis")
	var puts []Put
	for range 100 {
		puts = append(puts, Put{Queue: "q", Klass: "K"})
	}
	_, err := w.client.PutAll(t.Context(), puts)
	must0(t, err)
	var has []Taken
	exchange := func(plain bool) {
		t.Helper()
		w.now = w.client.clock.Now()
		take := Take{Queues: []string{"q"}, Count: 1, hurries: true}
		if plain {
			take.plain = wire.Mark(w.now)
		}
		sent, puts, results := checkSettlements(done(has...))
		reply, err := readExchange(w.call("exchange", exchangeArgs("w", sent, puts, take)...), w.now, results, take.Queues)
		must0(t, err)
		if has = reply.Jobs; len(has) != 1 {
			t.Fatalf("%d jobs were taken", len(has))
		}
	}
	for range 3 {
		exchange(false)
		exchange(true)
	}
	cost := func(plain bool) float64 {
		return instructions(w, dir, func() {
			for range 20 {
				exchange(plain)
			}
		})
	}
	if general, plain := cost(false), cost(true); plain > 0.75*general {
		t.Errorf("a plain call takes %.2f of the instructions of another, and 0.69 are usual", plain/general)
	} else {
		t.Logf("%.0f and %.0f: %.3f", general, plain, plain/general)
	}
}
