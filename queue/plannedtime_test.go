package queue_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"oarlock/queue"
)

// TestPlannedJobsComeAtTheirTime takes jobs at moments that are some microseconds apart: none comes before its time, each comes at it, and those
// that are planned for one moment come in the order of their puts. What is due together comes in the order of its times.
func TestPlannedJobsComeAtTheirTime(t *testing.T) {
	for _, keyed := range []bool{false, true} {
		t.Run(fmt.Sprintf("keyed=%v", keyed), func(t *testing.T) {
			c := fresh(t)
			base := time.Unix(int64(c.Now())+3600, 0)
			for _, p := range []struct {
				jid   string
				after time.Duration
			}{{"z", 61 * time.Second}, {"m", time.Minute}, {"a", 60500 * time.Millisecond}, {"late", 500 * time.Millisecond}, {"c", 30 * time.Microsecond}, {"b", 20 * time.Microsecond}, {"a2", 10 * time.Microsecond}, {"a1", 10 * time.Microsecond}} {
				put := queue.Put{Queue: "q", Klass: "K", JID: p.jid, At: base.Add(p.after)}
				if keyed {
					put.Key = "key of " + p.jid
				}
				must(c.Put(t.Context(), put))(t)
			}
			runs := func(after time.Duration) (jids []string) {
				for range 6 { // one after the other, for their order
					at(t, c, float64(base.Add(after).UnixMicro())/1e6, "exchange", "w", 0, "ordered", 0, 1, 0, 0, "q", "")
					for _, jid := range []string{"late", "c", "b", "a2", "a1", "m", "a", "z"} {
						if c.Redis().HGet(t.Context(), "ql:j:"+jid, "state").Val() == "running" && !slices.Contains(jids, jid) {
							jids = append(jids, jid)
						}
					}
				}
				return jids
			}
			var all []string
			for _, step := range []struct {
				after time.Duration
				want  []string
			}{
				{5 * time.Microsecond, nil}, {10 * time.Microsecond, []string{"a2", "a1"}}, {20 * time.Microsecond, []string{"b"}}, {30 * time.Microsecond, []string{"c"}},
				{500*time.Millisecond - 5*time.Microsecond, nil}, {500 * time.Millisecond, []string{"late"}},
				{2 * time.Minute, []string{"m", "a", "z"}}, // brought in together
			} {
				var came []string
				for _, jid := range runs(step.after) {
					if !slices.Contains(all, jid) {
						came, all = append(came, jid), append(all, jid)
					}
				}
				if !slices.Equal(came, step.want) {
					t.Errorf("%v after the moment came %v, want %v", step.after, came, step.want)
				}
			}
		})
	}
}
