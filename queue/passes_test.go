package queue_test

import (
	"fmt"
	"slices"
	"testing"

	"oarlock/queue"
)

// A take that names classes leaves their jobs where they are, for others, and brings what stands behind them; in ordinary queues and in
// ruled ones, in each order.
func TestATakePassesClassesOver(t *testing.T) {
	onEachServer(t, func(t *testing.T, c *queue.Client) {
		ctx := t.Context()
		must(c.InstallRules(ctx, "", queue.NewRules{Doc: "{}", Queues: []queue.RuledQueue{{Queue: "ruled", Rules: `{"shape":"a","throttles":["erp"]}`}},
			Throttles: []queue.RuledThrottle{{Name: "erp", Rules: "{}", Limit: 1000}}}))(t)
		for _, name := range []string{"plain", "ruled"} {
			for _, order := range []queue.Order{queue.Ordered, queue.RoundRobin, queue.Oldest, queue.Shuffled} {
				of := fmt.Sprintf("%s-%s-", name, order)
				for n := range 9 {
					klass := "Old"
					if n%3 == 0 {
						klass = "New"
					}
					putAll(t, c, queue.Put{Queue: name, JID: fmt.Sprint(of, n), Klass: klass, Data: []byte("{}")})
				}
				s := session(t, c, "old-"+of)
				take := queue.Take{Queues: []string{name}, Order: order, Count: 20, Passes: map[string][]string{name: {"New", "Newer"}}}
				for range 2 {
					reply := must(s.Exchange(ctx, nil, take))(t)
					for _, j := range reply.Jobs {
						if j.Klass != "Old" {
							t.Errorf("%s of class %s was taken", j.JID, j.Klass)
						}
					}
					if reply.More || take.Count == 20 && len(reply.Jobs) != 6 {
						t.Errorf("%s %d jobs, more: %v", of, len(reply.Jobs), reply.More)
					}
					take.Count = 10
				}
				var rest []string
				for _, j := range must(session(t, c, "new-"+of).Exchange(ctx, nil, queue.Take{Queues: []string{name}, Order: order, Count: 20}))(t).Jobs {
					rest = append(rest, j.JID)
				}
				if want := []string{of + "0", of + "3", of + "6"}; !slices.Equal(rest, want) {
					t.Errorf("another worker has %q, want %q", rest, want)
				}
			}
		}
	})
}

// It costs no more than a bound, however many stand in front.
func TestATakePassesSoManyOver(t *testing.T) {
	onEachServer(t, func(t *testing.T, c *queue.Client) {
		puts := make([]queue.Put, 0, 151)
		for n := range 150 {
			puts = append(puts, queue.Put{Queue: "q", JID: fmt.Sprint("new", n), Klass: "New", Data: []byte("{}")})
		}
		putAll(t, c, append(puts, queue.Put{Queue: "q", JID: "old", Klass: "Old", Data: []byte("{}")})...)
		reply := must(session(t, c, "w").Exchange(t.Context(), nil, queue.Take{Queues: []string{"q"}, Count: 10, Passes: map[string][]string{"q": {"New"}}}))(t)
		if len(reply.Jobs) != 0 || reply.More {
			t.Errorf("%d jobs, more: %v", len(reply.Jobs), reply.More)
		}
	})
}
