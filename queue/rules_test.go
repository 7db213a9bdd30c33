package queue_test

import (
	"errors"
	"testing"

	"github.com/redis/go-redis/v9"

	"oarlock/queue"
)

// twoRules are rules of one queue and one throttle with values.
func twoRules(limit int) queue.NewRules {
	return queue.NewRules{
		Doc:    `{"entries":{}}`,
		Queues: []queue.RuledQueue{{Queue: "mail", Rules: `{"shape":"a","limited":true}`, Limit: 7}},
		Throttles: []queue.RuledThrottle{{
			Name: "region", Rules: `{"limit":10,"patience":60,"shares":{"east":0.4}}`, Limit: limit, Caps: map[string]int{"east": 4, "*": 1},
		}},
	}
}

func TestRulesAreInstalledByVersion(t *testing.T) {
	onEachUser(t, func(t *testing.T, c *queue.Client) {
		ctx := t.Context()
		equal(t, "none", must(c.Rules(ctx))(t), queue.Rules{})
		first := must(c.InstallRules(ctx, "", twoRules(10)))(t)
		rules := must(c.Rules(ctx))(t)
		equal(t, "version", rules.Version, first)
		equal(t, "doc", rules.Doc, `{"entries":{}}`)
		if _, err := c.InstallRules(ctx, "", twoRules(5)); !errors.Is(err, queue.ErrRulesChanged) {
			t.Errorf("with the version of nobody: %v", err)
		}
		for tid, want := range map[string]int{"region": 10, "region=east": 4, "region=*": 1, "ql:q:mail": 7} {
			equal(t, tid, must(c.Throttle(ctx, tid))(t).Maximum, want)
		}
		second := must(c.InstallRules(ctx, first, queue.NewRules{Doc: "{}"}))(t)
		never(t, second == first || must(c.Rules(ctx))(t).Version != second, "version %q after %q", second, first)
		for _, tid := range []string{"region", "region=east", "region=*", "ql:q:mail"} {
			equal(t, tid+" of nobody", must(c.Throttle(ctx, tid))(t).Maximum, 0)
		}
		equal(t, "fields", c.Redis().HLen(ctx, "ql:oarlock:rules").Val(), int64(5))
		equal(t, "needs", c.Redis().SMembers(ctx, "ql:oarlock:needs").Val(), []string{"rules"})
	})
}

// What a person set by hand stays until the rules say something else than they said.
func TestALimitByHandOutlivesRulesThatDoNotChangeIt(t *testing.T) {
	onEachUser(t, func(t *testing.T, c *queue.Client) {
		ctx := t.Context()
		version := must(c.InstallRules(ctx, "", twoRules(10)))(t)
		ok(t, c.SetThrottle(ctx, queue.Throttle{ID: "region", Maximum: 3}))
		version = must(c.InstallRules(ctx, version, twoRules(10)))(t)
		equal(t, "by hand", must(c.Throttle(ctx, "region"))(t).Maximum, 3)
		must(c.InstallRules(ctx, version, twoRules(12)))(t)
		equal(t, "by rules", must(c.Throttle(ctx, "region"))(t).Maximum, 12)
	})
}

// A queue with jobs keeps its polarity, and a refusal changes nothing.
func TestPrioritiesTurnRoundInEmptyQueuesOnly(t *testing.T) {
	onEachUser(t, func(t *testing.T, c *queue.Client) {
		ctx := t.Context()
		low := twoRules(10)
		low.LowFirst = []string{"empty", "full"}
		must(c.Put(ctx, queue.Put{Queue: "full", Klass: "K"}))(t)
		var busy *queue.PolarityError
		if _, err := c.InstallRules(ctx, "", low); !errors.As(err, &busy) || busy.Queue != "full" || busy.Jobs != 1 {
			t.Fatalf("with a job: %v", err)
		}
		equal(t, "rules", c.Redis().Exists(ctx, "ql:oarlock:rules", "ql:th:region").Val(), int64(0))
		low.LowFirst = []string{"empty"}
		version := must(c.InstallRules(ctx, "", low))(t)
		must(c.Put(ctx, queue.Put{Queue: "empty", Klass: "K"}))(t)
		must(c.InstallRules(ctx, version, low))(t) // as it was
		if _, err := c.InstallRules(ctx, must(c.Rules(ctx))(t).Version, twoRules(10)); !errors.As(err, &busy) {
			t.Errorf("back with a job: %v", err)
		}
	})
}

// A queue whose waiting jobs stand as only rules let them stays ruled.
func TestAQueueStaysRuledUntilItIsClean(t *testing.T) {
	onEachUser(t, func(t *testing.T, c *queue.Client) {
		ctx, server := t.Context(), c.Redis()
		version := must(c.InstallRules(ctx, "", twoRules(10)))(t)
		ok(t, server.ZAdd(ctx, "ql:q:mail-work", redis.Z{Member: "j", Score: -3e6}).Err())
		version = must(c.InstallRules(ctx, version, queue.NewRules{Doc: "{}"}))(t)
		equal(t, "it leaves", server.HGet(ctx, "ql:oarlock:rules", "q:mail").Val(), `{"leaving":true}`)
		ok(t, server.Del(ctx, "ql:q:mail-work").Err())
		must(c.InstallRules(ctx, version, queue.NewRules{Doc: "{}"}))(t)
		equal(t, "it is gone", server.HExists(ctx, "ql:oarlock:rules", "q:mail").Val(), false)
	})
}
