package queue

import (
	"slices"
	"strconv"
	"testing"

	"github.com/redis/go-redis/v9"

	"oarlock/queue/internal/script"
)

// hurrying is a queue in which a call that hurries finds all that such a call leaves undone: a job that is due, a recurring one, a lock that
// ran out, a completed job that is too old, and a worker's time in the register.
type hurrying struct {
	t   *testing.T
	l   *lab
	c   *Client
	now float64
	ran []Settlement // of what was taken last
}

func newHurrying(t *testing.T, ready int) *hurrying {
	l := newLab(t, "shared", DefaultNamespace)
	h := &hurrying{t: t, l: l, c: labClient(t, l), now: 1_763_700_000}
	l.redis.FlushDB(t.Context())
	h.put("ready", ready+1, 0)
	h.exchange(Take{Queues: []string{"q"}, Count: 1})
	h.now++
	h.put("due", 1, 5)
	h.run(Qless, "recur", "q", "recurring", "K", "{}", "interval", "3600", "5")
	h.put("lost", 1, 0, "priority", "9")
	h.run(Qless, "config.set", "q-heartbeat", "1")
	h.run(Qless, "config.set", "grace-period", "0")
	if got := h.run(Qless, "pop", "q", "other", "1"); got == "{}" {
		t.Fatal("nothing popped")
	}
	h.run(Qless, "config.set", "q-heartbeat", "60")
	h.now += 100
	l.redis.ZAdd(t.Context(), "ql:completed", redis.Z{Score: h.now - 1e6, Member: "old"})
	return h
}

func (h *hurrying) run(d script.Dialect, command string, args ...any) any {
	h.t.Helper()
	raw := must(h.c.run(h.t.Context(), h.c.redis, script.Name{Dialect: d, Command: command}, h.now, args...))(h.t)
	return raw
}

func (h *hurrying) put(name string, count int, delay float64, options ...any) {
	for i := range count {
		h.run(Qless, "put", append([]any{"w", "q", name + strconv.Itoa(i), "K", "{}", delay}, options...)...)
	}
}

// exchange settles what the exchange before took, and returns the jids of what this one took.
func (h *hurrying) exchange(take Take) (jids []string, reply Reply) {
	h.t.Helper()
	sent, puts, results := checkSettlements(h.ran)
	raw := h.run(Batch, "exchange", exchangeArgs("w", sent, puts, take)...)
	reply = must(readExchange(raw, h.now, results, take.Queues))(h.t)
	for _, r := range reply.Results {
		ok(h.t, r.Err)
	}
	h.ran = done(reply.Jobs...)
	for _, job := range reply.Jobs {
		jids = append(jids, job.JID)
	}
	return jids, reply
}

// left tells which of the things that are to be looked after were left undone.
func (h *hurrying) left() (left []string) {
	ctx := h.t.Context()
	for what, undone := range map[string]bool{
		"due":       h.l.redis.ZCard(ctx, "ql:q:q-scheduled").Val() == 1,
		"recurring": h.l.redis.ZScore(ctx, "ql:q:q-recur", "recurring").Val() < h.now,
		"lost":      h.l.redis.HGet(ctx, "ql:j:lost0", "worker").Val() == "other",
		"old":       h.l.redis.ZScore(ctx, "ql:completed", "old").Err() == nil,
		"worker":    h.l.redis.ZScore(ctx, "ql:workers", "w").Val() < h.now,
	} {
		if undone {
			left = append(left, what)
		}
	}
	slices.Sort(left)
	return left
}

// TestACallThatHurries leaves what another has looked after for the next, as long as its queue has jobs enough, and a job is settled.
func TestACallThatHurries(t *testing.T) {
	all := []string{"due", "lost", "old", "recurring", "worker"}
	for _, tt := range []struct {
		name  string
		ready int
		take  Take
		left  []string
		jobs  int
	}{
		{"enough", 3, Take{Queues: []string{"q"}, Count: 2, hurries: true}, all, 2},
		{"just enough", 2, Take{Queues: []string{"q"}, Count: 2, hurries: true}, all, 2},
		{"too few", 1, Take{Queues: []string{"q"}, Count: 3, hurries: true}, nil, 3},
		{"none", 0, Take{Queues: []string{"q"}, Count: 4, hurries: true}, nil, 3},
		{"too few in the first of two", 1, Take{Queues: []string{"none", "q"}, Count: 4, hurries: true}, nil, 4},
		{"does not hurry", 3, Take{Queues: []string{"q"}, Count: 2}, nil, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newHurrying(t, tt.ready)
			jids, _ := h.exchange(tt.take)
			if left := h.left(); !slices.Equal(left, tt.left) {
				t.Errorf("left undone: %q, want %q", left, tt.left)
			}
			never(t, len(jids) != tt.jobs, "took %q, want %d", jids, tt.jobs)
		})
	}
	t.Run("settles nothing", func(t *testing.T) {
		h := newHurrying(t, 3)
		h.ran = nil // whose lock has run out too
		h.exchange(Take{Queues: []string{"q"}, Count: 3, hurries: true})
		if left := h.left(); !slices.Equal(left, []string{"old"}) { // which is pruned by a call that completes
			t.Errorf("left undone: %q", left)
		}
	})
	t.Run("settles what it has lost", func(t *testing.T) {
		h := newHurrying(t, 3)
		sent, puts, _ := checkSettlements([]Settlement{{JID: "none", Queue: "q", Action: Complete}})
		h.run(Batch, "exchange", exchangeArgs("w", sent, puts, Take{Queues: []string{"q"}, Count: 3, hurries: true})...)
		if left := h.left(); !slices.Equal(left, []string{"old"}) {
			t.Errorf("left undone: %q", left)
		}
	})
}

// TestWhenACallHurries: only moments after one that did not, for the same first queue.
func TestWhenACallHurries(t *testing.T) {
	const now = 1_763_700_000.5
	one, two := []string{"a"}, []string{"a", "b"}
	for _, tt := range []struct {
		name    string
		last    *look
		take    Take
		hurries bool
	}{
		{"the first", nil, Take{Queues: one, Count: 1}, false},
		{"at once", &look{"a", now, 0}, Take{Queues: one, Count: 1}, true},
		{"soon", &look{"a", now - lookEvery/2, 0}, Take{Queues: one, Count: 1}, true},
		{"later", &look{"a", now - 2*lookEvery, 0}, Take{Queues: one, Count: 1}, false},
		{"before, by a clock that was set", &look{"a", now + 1, 0}, Take{Queues: one, Count: 1}, false},
		{"of another queue", &look{"b", now, 0}, Take{Queues: one, Count: 1}, false},
		{"of none", &look{"a", now, 0}, Take{Count: 1}, false},
		{"takes nothing", &look{"a", now, 0}, Take{Queues: one}, false},
		{"spares locks", &look{"a", now, 0}, Take{Queues: one, Count: 1, Spare: true}, false},
		{"in order", &look{"a", now, 0}, Take{Queues: two, Count: 1, Order: Ordered}, true},
		{"in turn", &look{"a", now, 0}, Take{Queues: two, Count: 1, Order: RoundRobin}, false},
		{"in turn, of one", &look{"a", now, 0}, Take{Queues: one, Count: 1, Order: RoundRobin}, true},
		{"the oldest", &look{"a", now, 0}, Take{Queues: one, Count: 1, Order: Oldest}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := new(Session)
			s.lastLook.Store(tt.last)
			if got := s.mayHurry(tt.take, now); got != tt.hurries {
				t.Errorf("hurries: %v", got)
			}
		})
	}
}

// TestWhatACallSawIsKept: that the next may hurry, and when something is due, of which one that hurries knows nothing.
func TestWhatACallSawIsKept(t *testing.T) {
	const now = 1_763_700_000.5
	take := Take{Queues: []string{"a"}, Count: 1}
	hurried := take
	hurried.hurries = true
	s := new(Session)
	s.looked(take, now, &Reply{NextDue: now + 7})
	stop(t, !s.mayHurry(take, now), "a call right after one that looked does not hurry")
	reply := Reply{}
	s.looked(hurried, now, &reply)
	never(t, reply.NextDue != now+7 || !s.mayHurry(take, now), "after one that hurried: due %v", reply.NextDue)
	reply = Reply{NextDue: now + 3} // it had time after all
	if s.looked(hurried, now, &reply); reply.NextDue != now+3 {
		t.Errorf("due %v", reply.NextDue)
	}
	for name, reply := range map[string]Reply{"rest": {Rest: true}, "more": {More: true}} {
		s.looked(take, now, &Reply{})
		if s.looked(hurried, now, &reply); s.mayHurry(take, now) {
			t.Errorf("a call hurries though there is %s to do", name)
		}
	}
	s.looked(take, now, &Reply{})
	s.ruledBy.Store(new(ruling))
	if s.looked(take, now, &Reply{}); s.mayHurry(take, now) {
		t.Error("a call to a ruled queue hurries")
	}
}
