package queue_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"oarlock/internal/redistest"
	"oarlock/queue"
)

// takeOne puts a job with these and takes it.
func takeOne(t *testing.T, c *queue.Client, s *queue.Session, p queue.Put) queue.Taken {
	t.Helper()
	putAll(t, c, p)
	reply, _ := take(t, s, queue.Take{Queues: []string{p.Queue}, Count: 1})
	return reply.Jobs[0]
}

// wish sends wishes of a job at work and returns what was answered.
func wish(t *testing.T, s *queue.Session, job queue.Taken, wishes ...queue.Wish) []error {
	t.Helper()
	for i := range wishes {
		wishes[i].JID, wishes[i].Popped = job.JID, job.Popped
	}
	answers := must(s.Wish(t.Context(), wishes))(t)
	equal(t, "answers", len(answers), len(wishes))
	return answers
}

// TestWishesOfAJob: what a job at work wants done to itself is what the protocol's commands
// do, and a tag counts once.
func TestWishesOfAJob(t *testing.T) {
	server := redistest.Shared(t)
	c := open(t, server)
	s := session(t, c, "w")
	job := takeOne(t, c, s, queue.Put{Queue: "q", JID: "j", Klass: "K", Data: []byte(`{"a": []}`), Tags: []string{"red"}})
	for i, err := range wish(t, s, job,
		queue.Wish{Verb: "tag", Tags: []string{"red", "blue", "blue", "green"}},
		queue.Wish{Verb: "untag", Tags: []string{"green", "none"}},
		queue.Wish{Verb: "track"},
		queue.Wish{Verb: "priority", Priority: 7},
		queue.Wish{Verb: "note", Message: "half way", Data: []byte(`{"row": 5}`)},
	) {
		ok(t, err)
		_ = i
	}
	got := must(c.Get(t.Context(), "j"))(t)
	equal(t, "tags", fmt.Sprint(got.Tags), "[red blue]")
	equal(t, "priority", got.Priority, 7.0)
	equal(t, "tracked", got.Tracked, true)
	equal(t, "state", got.State, "running")
	last := got.History[len(got.History)-1]
	equal(t, "history", last.What, "half way")
	raw := server.Client(t)
	for tag, want := range map[string]float64{"red": 1, "blue": 1, "green": 0} {
		equal(t, "uses of "+tag, raw.ZScore(t.Context(), "ql:tags", tag).Val(), want)
	}
	settle(t, s, job, queue.Settlement{Action: queue.Complete})
	equal(t, "tags after", fmt.Sprint(must(c.Get(t.Context(), "j"))(t).Tags), "[red blue]")
}

// TestWishesAboutOthers: jobs at rest can be changed, one that runs or is needed can not, and
// each is answered for.
func TestWishesAboutOthers(t *testing.T) {
	server := redistest.Shared(t)
	c := open(t, server)
	s := session(t, c, "w")
	job := takeOne(t, c, s, queue.Put{Queue: "q", JID: "j", Klass: "K"})
	running := takeOne(t, c, s, queue.Put{Queue: "q", JID: "running", Klass: "K"})
	putAll(t, c, queue.Put{Queue: "q", JID: "x", Klass: "K"}, queue.Put{Queue: "q", JID: "y", Klass: "K", Retries: ptr(2)},
		queue.Put{Queue: "q", JID: "needed", Klass: "K"}, queue.Put{Queue: "q", JID: "waits", Klass: "K", Depends: []string{"needed"}})
	answers := wish(t, s, job,
		queue.Wish{Target: "x", Verb: "cancel"},
		queue.Wish{Target: "y", Verb: "requeue", Queue: "other", Delay: 60},
		queue.Wish{Target: "needed", Verb: "cancel"},
		queue.Wish{Target: running.JID, Verb: "requeue"},
		queue.Wish{Target: "nobody", Verb: "tag", Tags: []string{"t"}},
		queue.Wish{Target: "needed", Verb: "tag", Tags: []string{"t"}},
	)
	for i, want := range []string{"", "", "waits waits for it", "it is running", "there is no such job", ""} {
		switch {
		case want == "":
			ok(t, answers[i])
		case answers[i] == nil || !strings.Contains(answers[i].Error(), want):
			t.Errorf("%d: %v, want %q", i, answers[i], want)
		}
	}
	if _, err := c.Get(t.Context(), "x"); !errors.Is(err, queue.ErrNoJob) {
		t.Errorf("x: %v", err)
	}
	y := must(c.Get(t.Context(), "y"))(t)
	equal(t, "y", y.Queue+" "+y.State, "other scheduled")
	equal(t, "running", must(c.Get(t.Context(), "running"))(t).State, "running")
}

// TestWishesNeedTheLock: a job that is not held any more changes nothing, nor does one that
// was popped again under the same name.
func TestWishesNeedTheLock(t *testing.T) {
	server := redistest.Shared(t)
	c := open(t, server)
	s := session(t, c, "w")
	job := takeOne(t, c, s, queue.Put{Queue: "q", JID: "j", Klass: "K"})
	putAll(t, c, queue.Put{Queue: "q", JID: "other", Klass: "K"})
	ok(t, c.Timeout(t.Context(), "j"))
	before := snapshot(t, server.Client(t))
	for _, err := range wish(t, s, job, queue.Wish{Verb: "tag", Tags: []string{"t"}}, queue.Wish{Target: "other", Verb: "cancel"}) {
		never(t, !errors.Is(err, queue.ErrLockLost), "%v, want the lock to be lost", err)
	}
	equal(t, "keys", fmt.Sprint(snapshot(t, server.Client(t))), fmt.Sprint(before))
	take(t, s, queue.Take{Queues: []string{"q"}, Count: 1}) // popped again
	for _, err := range wish(t, s, job, queue.Wish{Verb: "priority", Priority: 3}) {
		never(t, !errors.Is(err, queue.ErrLockLost), "%v, want the lock to be lost", err)
	}
}

// TestWishesComeInSlices: as many as there may be, no call grants more than a hundred.
func TestWishesComeInSlices(t *testing.T) {
	server := redistest.Start(t)
	c := open(t, server)
	s := session(t, c, "w")
	job := takeOne(t, c, s, queue.Put{Queue: "q", JID: "j", Klass: "K"})
	var wishes []queue.Wish
	for i := range 100 {
		var tags []string
		for k := range 10 {
			tags = append(tags, fmt.Sprint("t", i, "-", k))
		}
		wishes = append(wishes, queue.Wish{Verb: "tag", Tags: tags})
	}
	raw := server.Client(t)
	raw.ConfigResetStat(t.Context())
	for _, err := range wish(t, s, job, wishes...) {
		ok(t, err)
	}
	info := raw.Info(t.Context(), "commandstats").Val()
	at := strings.Index(info, "cmdstat_evalsha:calls=")
	if at < 0 || !slices.Contains([]string{"10", "11"}, strings.SplitN(info[at+len("cmdstat_evalsha:calls="):], ",", 2)[0]) { // one more to load it
		t.Errorf("calls: %.60s, want 10", info[max(at, 0):])
	}
	equal(t, "tags", len(must(c.Get(t.Context(), "j"))(t).Tags), 1000)
}

// TestSettledAsCanceledOrPutAgain: a job that ends so is no more, or begins anew with all that
// belongs to it; one that another waits for is not canceled.
func TestSettledAsCanceledOrPutAgain(t *testing.T) {
	server := redistest.Shared(t)
	c := open(t, server)
	s := session(t, c, "w")
	job := takeOne(t, c, s, queue.Put{Queue: "q", JID: "gone", Klass: "K", Tags: []string{"red"}, Throttles: []string{"t"}})
	equal(t, "state", settle(t, s, job, queue.Settlement{Action: queue.Cancel}).State, "canceled")
	if _, err := c.Get(t.Context(), "gone"); !errors.Is(err, queue.ErrNoJob) {
		t.Errorf("gone: %v", err)
	}
	raw := server.Client(t)
	for _, key := range raw.Keys(t.Context(), "ql:*").Val() {
		never(t, strings.Contains(key, "gone") || strings.HasPrefix(key, "ql:t:") || strings.HasPrefix(key, "ql:th:t-"), "%s is left", key)
	}

	job = takeOne(t, c, s, queue.Put{Queue: "q", JID: "again", Klass: "K", Data: []byte(`{"a": []}`), Tags: []string{"red"}, Retries: ptr(2), Priority: ptr(4.0)})
	settle(t, s, job, queue.Settlement{Action: queue.Retry})
	reply, _ := take(t, s, queue.Take{Queues: []string{"q"}, Count: 1})
	equal(t, "state", settle(t, s, reply.Jobs[0], queue.Settlement{Action: queue.Requeue, Next: "other", Checkpoint: []byte("7")}).State, "waiting")
	got := must(c.Get(t.Context(), "again"))(t)
	equal(t, "again", fmt.Sprint(got.Queue, got.Remaining, string(got.Data), got.Tags, got.Priority, got.Worker), `other2{"a": []}[red] 4`)

	job = takeOne(t, c, s, queue.Put{Queue: "q", JID: "here", Klass: "K"})
	equal(t, "state", settle(t, s, job, queue.Settlement{Action: queue.Requeue, Checkpoint: []byte("7")}).State, "waiting")
	reply, _ = take(t, s, queue.Take{Queues: []string{"q"}, Count: 1})
	equal(t, "checkpoint", string(reply.Jobs[0].Checkpoint), "7")
	settle(t, s, reply.Jobs[0], queue.Settlement{Action: queue.Complete})

	job = takeOne(t, c, s, queue.Put{Queue: "q", JID: "needed", Klass: "K"})
	putAll(t, c, queue.Put{Queue: "q", JID: "waits", Klass: "K", Depends: []string{"needed"}})
	x := must(s.Exchange(t.Context(), []queue.Settlement{{JID: job.JID, Queue: "q", Popped: job.Popped, Action: queue.Cancel}}, queue.Take{}))(t)
	if err := x.Results[0].Err; err == nil || !strings.Contains(err.Error(), "waits waits for it") {
		t.Errorf("needed: %v", err)
	}
	equal(t, "needed", must(c.Get(t.Context(), "needed"))(t).State, "running")
}
