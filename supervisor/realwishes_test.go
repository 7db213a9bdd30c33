package supervisor

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"oarlock/protocol"
	"oarlock/queue"
	"oarlock/runner"
)

// says is a shell command that says a status line of the run, with these fields.
func says(verb, fields string) string {
	return fmt.Sprintf(`printf '{"@":"%s","run":"%%s"%s}\n' "$OARLOCK_RUN"`, verb, fields)
}

// TestJobsChangeThemselves has real children say what they want done with a real Redis, before
// each kind of end.
func TestJobsChangeThemselves(t *testing.T) {
	for _, tt := range []struct {
		name, end, state string // the state it comes to; "" where the job is no more
		queue            string
	}{
		{"ack", says("ack", ""), "complete", ""},
		{"retry", says("retry", `,"delay":3600`), "scheduled", "q"},
		{"fail", says("fail", `,"group":"g"`), "failed", "q"},
		{"death", "kill -KILL $$", "failed", "q"}, // by the attempt after it
		{"cancel", says("cancel", ""), "", ""},
		{"requeue", says("requeue", `,"queue":"next-1"`), "waiting", "next-1"},
		{"requeue in its own", says("requeue", `,"delay":3600`), "scheduled", "q"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			pool := w.pool(runner.Once, "", 1)
			pool.NextQueues = []string{"next-*"}
			pool.Child.Command = []string{"sh", "-c", strings.Join([]string{
				`[ "$OARLOCK_JID" = j ] || exit 0`,
				`[ -e "$0" ] && exit 65`, // the attempt after a death
				`: >"$0"`,
				says("tag", `,"tags":["red","blue"]`), says("untag", `,"tags":["blue"]`), says("track", ""),
				says("priority", `,"priority":7`), says("note", `,"message":"half way","data":{"row":5}`),
				says("tag", `,"jid":"j2","tags":["forged"]`), // not allowed
				tt.end}, "\n"), w.ledger + ".once"}
			must(t, errOf(w.client.PutAll(t.Context(), []queue.Put{{Queue: "q", JID: "j", Klass: "K"}, {Queue: "rest", JID: "j2", Klass: "K"}})))
			s := w.run(Config{Pools: []Pool{pool}})
			var job *queue.Job
			until(t, "the job to be "+tt.state, func() bool {
				var err error
				job, err = w.client.Get(t.Context(), "j")
				if err != nil {
					return tt.state == ""
				}
				return job.State == tt.state && job.Queue == tt.queue
			})
			if counts := s.Snapshot().Pools[0].Counters; counts.Wishes == 0 || counts.Refused != 1 {
				t.Errorf("%d wishes granted, %d refused", counts.Wishes, counts.Refused)
			}
			if other, err := w.client.Get(t.Context(), "j2"); err != nil || len(other.Tags) != 0 {
				t.Errorf("the other job has %v: %v", other, err)
			}
			if tt.state == "" {
				return
			}
			if job.Queue != tt.queue || fmt.Sprint(job.Tags) != "[red]" || job.Priority != 7 || !job.Tracked {
				t.Errorf("it is in %q with %v, priority %v, tracked %v", job.Queue, job.Tags, job.Priority, job.Tracked)
			}
			noted := false
			for _, e := range job.History {
				noted = noted || e.What == "half way" && string(e.More["row"]) == "5"
			}
			if !noted {
				t.Errorf("history %+v", job.History)
			}
		})
	}
}

// TestTenThousandWishesCostAFewCalls: of a child that says much, what counts is written once.
func TestTenThousandWishesCostAFewCalls(t *testing.T) {
	w := newWorld(t)
	pool := w.pool(runner.Once, "", 1)
	pool.Child.Command = []string{"sh", "-c", `
		i=0; while [ $i -lt 10000 ]; do printf '{"@":"priority","run":"%s","priority":%d}\n' "$OARLOCK_RUN" $i; i=$((i+1)); done` + "\n" + says("ack", "")}
	must(t, errOf(w.client.Put(t.Context(), queue.Put{Queue: "q", JID: "j", Klass: "K"})))
	began := time.Now()
	s := w.run(Config{Pools: []Pool{pool}})
	until(t, "the job to be complete", func() bool {
		job, err := w.client.Get(t.Context(), "j")
		return err == nil && job.State == "complete" && job.Priority == 9999
	})
	most := int(time.Since(began)/(100*time.Millisecond)) + 3
	if n := s.Snapshot().Pools[0].Counters.Wishes; n > most {
		t.Errorf("%d wishes were sent in %v, want %d at most", n, time.Since(began), most)
	}
}

// TestAllowedChildrenChangeOthers: where allow names the verb, other jobs can be changed.
func TestAllowedChildrenChangeOthers(t *testing.T) {
	w := newWorld(t)
	pool := w.pool(runner.Once, "", 1)
	pool.Allow = []string{protocol.VerbCancel}
	pool.Child.Command = []string{"sh", "-c", says("cancel", `,"jid":"victim"`) + "\n" + says("cancel", `,"jid":"nobody"`)}
	must(t, errOf(w.client.PutAll(t.Context(), []queue.Put{{Queue: "q", JID: "j", Klass: "K"}, {Queue: "rest", JID: "victim", Klass: "K"}})))
	s := w.run(Config{Pools: []Pool{pool}})
	until(t, "the job to be complete", func() bool {
		job, err := w.client.Get(t.Context(), "j")
		return err == nil && job.State == "complete"
	})
	if _, err := w.client.Get(t.Context(), "victim"); err == nil {
		t.Error("the other job is still there")
	}
	if n := s.Snapshot().Pools[0].Counters.Refused; n != 1 {
		t.Errorf("%d refused, want that of the job that is not there", n)
	}
}
