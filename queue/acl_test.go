package queue_test

import (
	"context"
	"errors"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"oarlock/internal/redistest"
	"oarlock/queue"
)

// allow makes the user of ACL.md, as it stands there.
func allow(t *testing.T, server *redistest.Server) {
	t.Helper()
	allowUser(t, server, "oarlock")
}

// allowUser makes one of the users of ACL.md.
func allowUser(t *testing.T, server *redistest.Server, name string) {
	t.Helper()
	page := must(os.ReadFile("ACL.md"))(t)
	block := regexp.MustCompile("(?s)```acl\n(ACL SETUSER " + name + " .*?)```").FindSubmatch(page)
	stop(t, block == nil, "ACL.md has no block of acl")
	var words []any
	for word := range strings.FieldsSeq(string(block[1])) {
		words = append(words, word)
	}
	ok(t, server.Client(t).Do(t.Context(), words...).Err())
}

func TestLeastPrivilegeForbidsTheRest(t *testing.T) {
	server := redistest.Start(t)
	allow(t, server)
	c, ctx := openURL(t, "unix://oarlock:PASSWORD@"+server.Addr), t.Context()
	must(c.Put(ctx, queue.Put{Queue: "q", JID: "j", Klass: "K"}))(t)
	for _, words := range [][]any{
		{"FLUSHALL"}, {"FLUSHDB"}, {"CONFIG", "GET", "*"}, {"KEYS", "*"}, {"EVAL", "return 1", 0}, {"CLIENT", "LIST"},
		{"SHUTDOWN"}, {"ACL", "LIST"}, {"HGET", "other", "f"}, {"PUBLISH", "other", "m"},
		{"SCRIPT", "FLUSH"}, {"MONITOR"}, {"REPLICAOF", "h", 1},
	} {
		if err := c.Redis().Do(ctx, words...).Err(); err == nil || !strings.HasPrefix(err.Error(), "NOPERM") {
			t.Errorf("%v: %v, want NOPERM", words, err)
		}
	}
}

func TestFenceAndNoticesWithLeastPrivilege(t *testing.T) {
	server := redistest.Start(t)
	allow(t, server)
	c, ctx := openURL(t, "unix://oarlock:PASSWORD@"+server.Addr), t.Context()
	notices := c.Notices(ctx, "w")
	admin := open(t, server)
	awaitSubscribers(t, admin, c.WakeChannel())
	s := session(t, c, "w")
	must(c.Put(ctx, queue.Put{Queue: "q", Klass: "K"}))(t)
	equal(t, "notice", <-notices, queue.Notice{Kind: queue.NoticeWake, Queue: "q"})
	take(t, s, queue.Take{Queues: []string{"q"}, Count: 1})
	equal(t, "held", len(must(s.Held(ctx, []string{"q"}))(t)), 1)
	must(c.Sweep(ctx, []string{"q"}, 1))(t)
	ok(t, s.Deregister(ctx))
	must(c.Install(ctx, queue.Qless))(t)
}

// TestHearsNoMoreWithLeastPrivilege: who stops listening to puts, while others of the client listen on, leaves no pattern behind.
func TestHearsNoMoreWithLeastPrivilege(t *testing.T) {
	server := redistest.Start(t)
	allow(t, server)
	c, admin := openURL(t, "unix://oarlock:PASSWORD@"+server.Addr), open(t, server)
	var others sync.WaitGroup
	defer others.Wait()
	listening, end := context.WithCancel(t.Context())
	defer end()
	others.Go(func() {
		for range c.Events(listening) {
		}
	})
	some, stop := context.WithCancel(listening)
	notices := c.Notices(some, "w")
	awaitSubscribers(t, admin, "ql:log", c.WakeChannel())
	await := func(patterns int64) {
		t.Helper()
		for began := time.Now(); must(admin.Redis().PubSubNumPat(t.Context()).Result())(t) != patterns; {
			if time.Since(began) > time.Minute {
				t.Fatalf("there are not %d patterns: %v", patterns, admin.Redis().Do(t.Context(), "acl", "log", 1))
			}
			time.Sleep(time.Millisecond)
		}
	}
	await(1)
	stop()
	for range notices { // until it is closed
	}
	await(0)
}

// A user who may not run all that settling takes is told so, and the job is not settled otherwise for that: it is when the user may.
func TestSettlingThatPermissionsForbid(t *testing.T) {
	server := redistest.Start(t)
	allow(t, server)
	c, ctx := openURL(t, "unix://oarlock:PASSWORD@"+server.Addr), t.Context()
	must(c.Put(ctx, queue.Put{Queue: "q", JID: "j", Klass: "K"}))(t)
	s := session(t, c, "w")
	reply, _ := take(t, s, queue.Take{Queues: []string{"q"}, Count: 1})
	job := reply.Jobs[0]
	settle := func() error {
		reply, err := s.Exchange(ctx, []queue.Settlement{{JID: "j", Queue: "q", Popped: job.Popped, Action: queue.Complete}}, queue.Take{})
		if err == nil {
			err = reply.Results[0].Err
		}
		return err
	}
	raw := server.Client(t)
	for _, command := range []string{"hset", "zrem"} {
		ok(t, raw.Do(ctx, "ACL", "SETUSER", "oarlock", "-"+command).Err())
		if err := settle(); queue.Class(err) != queue.Denied || !errors.Is(err, queue.ErrAway) || !strings.Contains(err.Error(), "queue/ACL.md") {
			t.Errorf("without %s: %v, of class %v", command, err, queue.Class(err))
		}
		ok(t, raw.Do(ctx, "ACL", "SETUSER", "oarlock", "+"+command).Err())
	}
	if err := settle(); err != nil && !errors.Is(err, queue.ErrLockLost) {
		t.Error(err)
	}
	equal(t, "state", must(c.Get(ctx, "j"))(t).State, "complete")
}

// TestACLNamesEveryCommandOfTheScripts reads the sources, because no test reaches every line
// of them as the restricted user.
func TestACLNamesEveryCommandOfTheScripts(t *testing.T) {
	page := must(os.ReadFile("ACL.md"))(t)
	allowed := make(map[string]bool)
	for word := range strings.FieldsSeq(string(page)) {
		if name, found := strings.CutPrefix(word, "+"); found {
			allowed[name] = true
		}
	}
	call := regexp.MustCompile(`(?:redis\.p?call|\bcall\w*)\(\s*'([A-Z]+)'`)
	for _, dialect := range []queue.Dialect{queue.Qless, queue.Reqless, queue.Batch} {
		for _, command := range queue.Commands(dialect) {
			text, _ := queue.Script(dialect, command, queue.DefaultNamespace)
			for _, m := range call.FindAllStringSubmatch(text, -1) {
				never(t, !allowed[strings.ToLower(m[1])], "%s %s calls %s, which ACL.md does not allow", dialect, command, m[1])
			}
		}
	}
}
