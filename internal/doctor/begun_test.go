package doctor

import (
	"slices"
	"testing"
	"time"

	"oarlock/internal/must"
	"oarlock/internal/redistest"
	"oarlock/queue"
)

// TestWhoHasBegunHasTheTurnAgain: a job that waits for its answer keeps its places, which the next of its key may need. So where somebody deleted its
// turn, it does not come to stand behind that one: both would wait for ever.
func TestWhoHasBegunHasTheTurnAgain(t *testing.T) {
	for _, tt := range []struct {
		name   string
		ruled  bool // t is a throttle of rules
		needs  bool // all jobs need the one place of t
		answer bool // it is answered before the doctor looks
		ghost  bool // an attempt may live that was taken from its worker
		other  func(t *testing.T, p patient, s *queue.Session) []queue.Taken
		says   string
	}{
		{name: "nobody else has it", says: "it has the turn again",
			other: func(*testing.T, patient, *queue.Session) []queue.Taken { return nil }},
		{name: "the next waits", other: tended, says: "it has the turn again, for it has begun, and b is the next"},
		{name: "the next waits, and it is answered", other: tended, answer: true, says: "it has the turn again, for it has begun, and b is the next"},
		{name: "the next waits in the line of a throttle", needs: true, other: tried, says: "it has the turn again, for it has begun, and b is the next"},
		{name: "the next waits in a waitlist", needs: true, ruled: true, other: tried, says: "it has the turn again, for it has begun, and b is the next"},
		{name: "the next waits in a waitlist, and it is answered", needs: true, ruled: true, answer: true, other: tried, says: "it has the turn again, for it has begun, and b is the next"},
		{name: "the next runs", other: tried, says: "is the next of its key, for it has begun"},
		{name: "the next ran, and may live", other: tried, ghost: true, says: "is the next of its key, for it has begun"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := blankPatient(t, redistest.Shared(t))
			ctx, db := t.Context(), p.server.Client(t)
			put := queue.Put{Queue: "q", Klass: "K", Key: "k"}
			switch {
			case tt.ruled:
				if _, err := p.client.InstallRules(ctx, "", queue.NewRules{Doc: "{}", Queues: []queue.RuledQueue{{Queue: "q", Rules: `{"shape":"a","throttles":["t"]}`}},
					Throttles: []queue.RuledThrottle{{Name: "t", Rules: `{"limit":1,"patience":60}`, Limit: 1}}}); err != nil {
					t.Fatal(err)
				}
			case tt.needs:
				put.Throttles = []string{"t"}
				must.Do(t, p.client.SetThrottle(ctx, queue.Throttle{ID: "t", Maximum: 1}))
			}
			for _, jid := range []string{"a", "b", "c"} {
				put.JID = jid
				must.Get(p.client.Put(ctx, put))(t)
			}
			s := p.client.Session("w")
			defer s.Close()
			jobs := take(t, s, nil)
			if len(jobs) != 1 || jobs[0].JID != "a" {
				t.Fatalf("took %+v", jobs)
			}
			park := queue.Settlement{JID: "a", Queue: "q", Popped: jobs[0].Popped, Action: queue.Park, Correlation: "c", Delay: time.Hour}
			if got := take(t, s, []queue.Settlement{park}); len(got) > 0 {
				t.Fatalf("took %+v", got)
			}
			db.HDel(ctx, "ql:oarlock:turns:q", "k")
			running := tt.other(t, p, s)
			if tt.ghost {
				must.Do(t, p.client.Timeout(ctx, "b"))
			}
			answer := func() {
				if r, err := p.client.Respond(ctx, queue.Response{Klass: "K", Correlation: "c", Data: []byte("1")}); err != nil || r.Word != queue.Resumed {
					t.Fatal(r, err)
				}
			}
			if tt.answer {
				answer()
			}
			p.mended(t, []string{"a says that it has the turn of key k, which is not so: " + tt.says})
			if !tt.answer {
				answer()
			}
			var settle []queue.Settlement
			want := []string{"a", "b", "c"}
			for _, job := range running {
				action := queue.Complete
				if tt.ghost {
					action = queue.LeaveTurn
				} else {
					want = []string{"b", "a", "c"}
				}
				settle = append(settle, queue.Settlement{JID: job.JID, Queue: "q", Popped: job.Popped, Key: job.Key, Action: action})
			}
			var ended []string
			for deadline := time.Now().Add(time.Minute); len(ended) < 3 && time.Now().Before(deadline); {
				must.Get(p.client.Tend(ctx, []string{"q"}, []string{"q"}, 0))(t)
				jobs = take(t, s, settle)
				for _, one := range settle {
					if one.Action == queue.Complete {
						ended = append(ended, one.JID)
					}
				}
				settle = nil
				for _, job := range jobs {
					settle = append(settle, queue.Settlement{JID: job.JID, Queue: "q", Popped: job.Popped, Key: job.Key, Action: queue.Complete})
				}
			}
			if !slices.Equal(ended, want) {
				t.Errorf("ended %v, want %v", ended, want)
			}
			if left := db.Keys(ctx, "ql:oarlock:*").Val(); slices.ContainsFunc(left, func(key string) bool {
				return slices.Contains([]string{"ql:oarlock:turns:q", "ql:oarlock:lanes:q", "ql:oarlock:behind", "ql:oarlock:waitlists:q"}, key)
			}) {
				t.Errorf("left: %v", left)
			}
		})
	}
}

func take(t *testing.T, s *queue.Session, settle []queue.Settlement) []queue.Taken {
	t.Helper()
	reply, err := s.Exchange(t.Context(), settle, queue.Take{Queues: []string{"q"}, Count: 4})
	if err != nil || len(reply.Broken) > 0 {
		t.Fatal(reply.Broken, err)
	}
	for _, r := range reply.Results {
		if r.Err != nil {
			t.Fatal(r.Err)
		}
	}
	return reply.Jobs
}

// tended gives the turn that nobody has to the next.
func tended(t *testing.T, p patient, _ *queue.Session) []queue.Taken {
	must.Get(p.client.Tend(t.Context(), []string{"q"}, []string{"q"}, 0))(t)
	if turn := p.server.Client(t).HGet(t.Context(), "ql:oarlock:turns:q", "k").Val(); turn != "=b" {
		t.Fatalf("the turn is %q", turn)
	}
	return nil
}

// tried has it begin, if it can.
func tried(t *testing.T, p patient, s *queue.Session) []queue.Taken {
	tended(t, p, s)
	return take(t, s, nil)
}
