package queue_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"oarlock/internal/redistest"
	"oarlock/queue"
)

// dayBefore is the midnight so many days ago, as it stands in the names of statistics.
func dayBefore(c *queue.Client, days int) string {
	now := int64(c.Now())
	return strconv.FormatInt(now-now%86400-int64(days)*86400, 10)
}

// keepStats writes statistics as the scripts do.
func keepStats(t *testing.T, c *queue.Client, kind string, days int, queue string, fields ...any) string {
	t.Helper()
	key := "ql:s:" + kind + ":" + dayBefore(c, days) + ":" + queue
	ok(t, c.Redis().HSet(t.Context(), key, fields...).Err())
	return key
}

// sweepAll lets the search go once through all keys.
func sweepAll(t *testing.T, c *queue.Client) (deleted, pages int) {
	t.Helper()
	for pages < 1000 {
		ok(t, c.Redis().HSet(t.Context(), "ql:oarlock:stats-sweep", "at", "0").Err()) // the pause is over
		n, again, err := c.SweepStats(t.Context())
		ok(t, err)
		deleted, pages = deleted+n, pages+1
		if again > queue.OldStatsPause {
			return deleted, pages
		}
	}
	t.Fatal("the search does not end")
	return 0, 0
}

// What is inside of the history stays, what is older goes, but for counters that others need.
func TestOldStatisticsGo(t *testing.T) {
	onEachUser(t, func(t *testing.T, c *queue.Client) {
		ok(t, c.Ping(t.Context()))
		exists := func(key string) bool { return c.Redis().Exists(t.Context(), key).Val() == 1 }
		var stay, leave []string
		for _, days := range []int{-1, 0, 1, 29, 30} {
			for _, kind := range []string{"wait", "run"} {
				stay = append(stay, keepStats(t, c, kind, days, "q:with:colons", "total", 1, "mean", 1, "vk", 0))
			}
			stay = append(stay, keepStats(t, c, "stats", days, "q", "failed", 0))
		}
		for _, days := range []int{31, 32, 5000} {
			for _, kind := range []string{"wait", "run"} {
				leave = append(leave, keepStats(t, c, kind, days, "q:with:colons", "total", 1))
			}
			leave = append(leave, keepStats(t, c, "stats", days, "q", "failed", 0, "failures", 3))
			leave = append(leave, keepStats(t, c, "stats", days, "only retries", "retries", 3))
			stay = append(stay, keepStats(t, c, "stats", days, "still failed", "failed", 1))
			stay = append(stay, keepStats(t, c, "stats", days, "damaged", "failed", "x"))
		}
		for _, key := range []string{"ql:s:other:0:q", "ql:s:wait:abc:q", "ql:s:wait", "ql:s:run:-1:q"} { // nobody's
			ok(t, c.Redis().HSet(t.Context(), key, "total", 1).Err())
			stay = append(stay, key)
		}
		today := must(c.Stats(t.Context(), "q:with:colons", time.Unix(int64(c.Now()), 0)))(t)
		deleted, _ := sweepAll(t, c)
		equal(t, "deleted", deleted, len(leave))
		for _, key := range stay {
			never(t, !exists(key), "%s is gone", key)
		}
		for _, key := range leave {
			never(t, exists(key), "%s is there", key)
		}
		equal(t, "statistics of today", must(c.Stats(t.Context(), "q:with:colons", time.Unix(int64(c.Now()), 0)))(t), today)

		// The setting counts, also while it is nonsense.
		for _, set := range []struct {
			value string
			want  int
		}{{"0", 0}, {"nonsense", 0}, {"-1", 0}, {"1e9", 0}, {"29", 3}} {
			ok(t, c.Set(t.Context(), "stats-history", set.value))
			deleted, _ = sweepAll(t, c)
			equal(t, "deleted with "+set.value, deleted, set.want)
		}
	})
}

// TestOnePageAtATime: of many supervisors one looks, and after all keys nobody for hours.
func TestOnePageAtATime(t *testing.T) {
	c := fresh(t)
	ok(t, c.Ping(t.Context()))
	keepStats(t, c, "wait", 40, "q", "total", 1)
	n, again, err := c.SweepStats(t.Context())
	never(t, n != 1 || again < time.Hour || err != nil, "the first: %d, %v, %v", n, again, err)
	keepStats(t, c, "wait", 40, "q", "total", 1)
	for range 5 {
		n, again, err = c.SweepStats(t.Context())
		never(t, n != 0 || again < time.Hour || err != nil, "another: %d, %v, %v", n, again, err)
	}
	// A mark of a clock that was wrong does not end it for ever.
	ok(t, c.Redis().HSet(t.Context(), "ql:oarlock:stats-sweep", "at", "99999999999", "cursor", "nonsense").Err())
	if n, _, err = c.SweepStats(t.Context()); n != 1 || err != nil {
		t.Errorf("after a clock that was wrong: %d, %v", n, err)
	}
}

// TestTenThousandOldDays: ten thousand old keys among as many jobs go, and no call takes long.
func TestTenThousandOldDays(t *testing.T) {
	c := open(t, redistest.Start(t))
	ok(t, c.Ping(t.Context()))
	fill := `for i = 1, 10000 do
  redis.call('HSET', 'ql:s:wait:' .. string.format('%d', ARGV[1] - 86400 * i) .. ':q', 'total', 1, 'mean', 1, 's0', 1)
  redis.call('HSET', 'ql:j:' .. i, 'jid', i)
end
return 1`
	ok(t, c.Redis().Eval(t.Context(), fill, nil, dayBefore(c, 0)).Err())
	ok(t, c.Redis().ConfigResetStat(t.Context()).Err())
	deleted, pages := sweepAll(t, c)
	equal(t, "deleted", deleted, 10000-30)
	equal(t, "left", c.Redis().DBSize(t.Context()).Val(), int64(10000+30+1))
	never(t, pages > 25, "%d pages", pages)
	// Nothing that others must wait for: a page is some calls, each as long as 200 small commands.
	info := must(c.Redis().Info(t.Context(), "commandstats").Result())(t)
	for line := range strings.Lines(info) {
		if name, rest, found := strings.Cut(line, ":calls="); found && (name == "cmdstat_evalsha" || name == "cmdstat_scan") {
			var calls, usec int
			fmt.Sscanf(rest, "%d,usec=%d", &calls, &usec)
			t.Logf("%s: %d calls, %d µs each", name, calls, usec/max(calls, 1))
			never(t, calls > 25*13, "%s: %d calls", name, calls)
		}
	}
}
