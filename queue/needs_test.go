package queue_test

import (
	"testing"

	"oarlock/queue"
)

// TestNeeds: who does not know all that a key space needs settles and renews what it has, and takes nothing, until the word is gone.
func TestNeeds(t *testing.T) {
	onEachServer(t, func(t *testing.T, c *queue.Client) {
		keyed(t, c, "k", "a", "b")
		keyed(t, c, "other", "c")
		words, err := c.Needs(t.Context())
		ok(t, err)
		equal(t, "needs", words, []string{queue.NeedKeys})
		s := session(t, c, "w")
		reply, _ := take(t, s, queue.Take{Queues: []string{"q"}, Count: 1})
		runs := reply.Jobs[0]
		ok(t, c.Redis().SAdd(t.Context(), "ql:oarlock:needs", "shards", "a\nb").Err())
		words, err = c.Needs(t.Context())
		ok(t, err)
		equal(t, "unknown", queue.Unknown(words), []string{"a\nb", "shards"})

		renewed, err := s.Renew(t.Context(), []queue.RenewItem{{JID: runs.JID, Queue: "q", Popped: runs.Popped}})
		if err != nil || renewed[0].Err != nil {
			t.Errorf("renewed %+v, %v", renewed, err)
		}
		reply, err = s.Exchange(t.Context(), []queue.Settlement{{JID: runs.JID, Queue: "q", Popped: runs.Popped, Action: queue.Complete}}, queue.Take{Queues: []string{"q"}, Count: 3})
		ok(t, err)
		if len(reply.Jobs) > 0 || reply.Results[0].Err != nil || len(reply.Broken) != 1 || reply.Broken[0].Lacks() == "" {
			t.Errorf("settled as %+v, took %+v, left out %+v", reply.Results, reply.Jobs, reply.Broken)
		}
		looks, _, err := c.Outlook(t.Context(), []string{"q", "none"})
		ok(t, err)
		if looks[0].Lacks() == "" || looks[0].Ready != 2 || looks[1].Lacks() == "" || looks[1].Ready != 0 {
			t.Errorf("the outlook is %+v", looks)
		}
		ok(t, c.Unneed(t.Context(), "shards", "a\nb"))
		if reply, _ := take(t, s, queue.Take{Queues: []string{"q"}, Count: 3}); len(reply.Jobs) != 2 {
			t.Errorf("when the words are gone took %+v", reply.Jobs)
		}
	})
}
