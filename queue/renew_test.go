package queue_test

import (
	"maps"
	"regexp"
	"testing"

	"github.com/redis/go-redis/v9"

	"oarlock/internal/redistest"
	"oarlock/queue"
)

// TestRenewalsReachBothSets renews locks in each constellation in which the sets of the
// worker and of the queues may differ, also where Redis refuses to copy sets, as those
// before 6.2 do: only the renewed locks end later, each at the same time in both.
func TestRenewalsReachBothSets(t *testing.T) {
	server := redistest.Start(t)
	raw, ctx := server.Client(t), t.Context()
	allow(t, server)
	c := openURL(t, "unix://oarlock:PASSWORD@"+server.Addr)
	tests := []struct {
		name           string
		mine, others   []string // queues in which a job each is taken
		renewed        []int    // of mine, which
		copied, barred bool
	}{
		{"all of one queue", []string{"q", "q", "q"}, nil, []int{2, 0, 1}, true, false},
		{"one given twice", []string{"q", "q"}, nil, []int{0, 1, 1}, false, false},
		{"one of two", []string{"q", "q"}, nil, []int{1}, false, false},
		{"another worker's beside them", []string{"q", "q"}, []string{"q"}, []int{0, 1}, false, false},
		{"two queues", []string{"q", "r"}, nil, []int{0, 1}, false, false},
		{"copying refused", []string{"q", "q"}, nil, []int{0, 1}, false, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ok(t, raw.FlushDB(ctx).Err())
			allow(t, server)
			if tt.barred {
				ok(t, raw.Do(ctx, "ACL", "SETUSER", "oarlock", "-copy").Err())
			}
			s, other := session(t, c, "w"), session(t, c, "other")
			takeOne := func(s *queue.Session, name string) queue.Taken {
				must(c.Put(ctx, queue.Put{Queue: name, Klass: "K"}))(t)
				reply, _ := take(t, s, queue.Take{Queues: []string{name}, Count: 1})
				return reply.Jobs[0]
			}
			want := make(map[string]float64) // when each lock ends
			var jobs []queue.Taken
			for _, name := range tt.mine {
				job := takeOne(s, name)
				jobs, want[job.JID] = append(jobs, job), job.Expires
			}
			for _, name := range tt.others {
				job := takeOne(other, name)
				want[job.JID] = job.Expires
			}
			var items []queue.RenewItem
			for _, i := range tt.renewed {
				items = append(items, queue.RenewItem{JID: jobs[i].JID, Queue: jobs[i].Queue, Popped: jobs[i].Popped})
			}
			ok(t, raw.ConfigResetStat(ctx).Err())
			before := maps.Clone(want)
			for _, r := range must(s.Renew(ctx, items))(t) {
				if r.Err != nil || r.Expires <= before[r.JID] {
					t.Errorf("%s: until %v, %v; was until %v", r.JID, r.Expires, r.Err, before[r.JID])
				}
				want[r.JID] = r.Expires
			}
			equal(t, "whether a set was copied", copiedOnce.MatchString(raw.Info(ctx, "commandstats").Val()), tt.copied)
			equal(t, "locks of workers", ends(t, raw, "ql:w:w:jobs", "ql:w:other:jobs"), want)
			equal(t, "locks of queues", ends(t, raw, "ql:q:q-locks", "ql:q:r-locks"), want)
			for jid, expires := range want {
				equal(t, "expires of "+jid, must(raw.HGet(ctx, "ql:j:"+jid, "expires").Float64())(t), expires)
			}
		})
	}
}

var copiedOnce = regexp.MustCompile(`cmdstat_copy:calls=1,\S*rejected_calls=0`)

// ends returns the entries of sorted sets.
func ends(t *testing.T, raw *redis.Client, keys ...string) map[string]float64 {
	t.Helper()
	entries := make(map[string]float64)
	for _, key := range keys {
		for _, z := range must(raw.ZRangeWithScores(t.Context(), key, 0, -1).Result())(t) {
			entries[z.Member.(string)] = z.Score
		}
	}
	return entries
}
