package supervisor

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"oarlock/queue"
	"oarlock/runner"
)

// TestParksAreTold lets jobs park, one whose answer was there before it and one that waits in vain, and pushes answers to Redis' list: events tell
// of each when Redis has it so.
func TestParksAreTold(t *testing.T) {
	w := newWorld(t)
	if answered, err := w.client.Respond(t.Context(), queue.Response{Klass: "K", Correlation: "early", Data: []byte("1")}); err != nil || answered.Word != queue.KeptFor {
		t.Fatal(answered, err)
	}
	for jid, timeout := range map[string]float64{"early": 600, "vain": 0.05} {
		must(t, errOf(w.client.Put(t.Context(), queue.Put{Queue: "q", JID: jid, Klass: "K", Data: fmt.Appendf(nil, `{"timeout": %v}`, timeout)})))
	}
	must(t, w.client.Redis().RPush(t.Context(), "ql:oarlock:responses", "K\nnobody\n1", "no answer").Err())
	told, log := make(chan Event, 100), new(lockedBuffer)
	w.run(Config{Pools: []Pool{w.pool(runner.Reuse, "parks.py", 1)}, Logger: slog.New(slog.NewTextHandler(log, nil)), OnEvent: func(e Event) {
		switch e.Kind {
		case Parked, ParkTimedOut, AnswersRead:
			told <- e
		}
	}})
	seen := map[string]bool{}
	for range 4 {
		select {
		case e := <-told:
			what := string(e.Kind)
			if e.Job != nil {
				what += " " + e.Job.JID
			}
			seen[what] = true
			switch what {
			case "parked early":
				if e.Name != "early" || e.Reason != "answered" || e.Took != 600*time.Second {
					t.Errorf("told is %+v", e)
				}
			case "parked vain":
				if e.Name != "vain" || e.Reason != "" || e.Took != 50*time.Millisecond {
					t.Errorf("told is %+v", e)
				}
			case "park-timed-out vain":
				if e.Name != "vain" || e.Group != "park-timeout" || e.State == "failed" || e.Message == "" {
					t.Errorf("told is %+v", e)
				}
			case "answers-read":
				if e.Count != 1 || e.Broken != 1 {
					t.Errorf("told is %+v", e)
				}
			}
		case <-time.After(time.Minute):
			t.Fatalf("told was %v", seen)
		}
	}
	if len(seen) != 4 {
		t.Errorf("told was %v", seen)
	}
	until(t, "the list of what was set aside is named as Redis has it", func() bool { return strings.Contains(log.String(), " key=ql:oarlock:responses-broken ") })
}

// TestAParkThatAnotherHoldsIsAFailure: a job whose correlation another has fails as it parks, and is counted and told as such.
func TestAParkThatAnotherHoldsIsAFailure(t *testing.T) {
	w := newWorld(t)
	for _, p := range []queue.Put{
		{Queue: "q", JID: "holder", Klass: "K", Correlation: "x", Delay: time.Hour},
		{Queue: "q", JID: "second", Klass: "K", Data: []byte(`{"timeout": 600, "correlation": "x"}`)},
	} {
		must(t, errOf(w.client.Put(t.Context(), p)))
	}
	told := make(chan Event, 100)
	s := w.run(Config{Pools: []Pool{w.pool(runner.Reuse, "parks.py", 1)}, OnEvent: func(e Event) {
		if e.Kind == Settled || e.Kind == Parked || e.Kind == AttemptEnded {
			told <- e
		}
	}})
	select {
	case e := <-told:
		if e.Kind != AttemptEnded || !e.Fails || e.Group != "duplicate-correlation" || e.Ending == nil {
			t.Errorf("its end is told as %+v", e)
		}
	case <-time.After(time.Minute):
		t.Fatal("nothing is told")
	}
	select {
	case e := <-told:
		if e.Kind != Settled || e.Job.JID != "second" || e.State != "failed" {
			t.Errorf("told is %+v", e)
		}
	case <-time.After(time.Minute):
		t.Fatal("nothing is told")
	}
	job, err := w.client.Get(t.Context(), "second")
	if err != nil || job.Failure.Group != "duplicate-correlation" {
		t.Errorf("it is %+v, %v", job, err)
	}
	if c := s.Snapshot().Pools[0].Counters; c.Parked != 0 || c.Failed != 1 {
		t.Errorf("counted are %d parked, %d failed", c.Parked, c.Failed)
	}
	if len(told) > 0 {
		t.Errorf("told is %+v, too", <-told)
	}
}
