package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"oarlock/internal/must"
	"oarlock/queue"
)

func TestNamesWithLineBreaks(t *testing.T) {
	o := newOperator(t)
	for _, args := range [][]string{
		{"put", "a\nb"}, {"put", "q", "--jid", "a\x1b[31m"}, {"recur", "add", "a\tb", "--every", "1h"}, {"queue", "limit", "a\x00", "1"},
	} {
		if err := o.oarlock(exitUsage, args); err != nil || !strings.Contains(o.said["stderr"], "control character") {
			t.Errorf("%q: %v\n%s", args, err, o.said["stderr"])
		}
	}
	o.run("put", "a\nb", "--force") // and what others made can be named
	o.run("queue", "peek", "a\nb")
}

// A job that is complete is not cancelled, and the others that were named are.
func TestCancelOfACompleteJob(t *testing.T) {
	o := newOperator(t)
	o.put("done")
	o.settle(queue.Settlement{Action: queue.Complete})
	o.put("waits")
	if err := o.oarlock(exitGone, []string{"job", "cancel", "done", "waits"}); err != nil {
		t.Error(err)
	}
	says(t, o.said["stdout"], `^1 job canceled$`)
	says(t, o.said["stderr"], `done is complete: there is nothing to cancel$`)
	says(t, o.run("job", "show", "done"), `^state +complete$`)
	if err := o.oarlock(exitGone, []string{"job", "show", "waits"}); err != nil {
		t.Error(err)
	}
}

// One key of a wrong type must not hide the others from a list, and is named.
func TestListsGoOnAtAKeyOfAWrongType(t *testing.T) {
	o := newOperator(t)
	raw := o.client.Redis()
	o.put("j")
	o.settle(queue.Settlement{Action: queue.Fail, Group: "good", Message: "m"})
	o.run("throttle", "set", "good", "1")
	o.run("throttle", "set", "held", "1")
	for _, command := range [][]any{
		{"SADD", "ql:failures", "bad"}, {"SET", "ql:f:bad", "x"},
		{"SET", "ql:th:bad", "x"}, {"SET", "ql:th:held-locks", "x"},
		{"ZADD", "ql:workers", o.client.Now(), "bad"}, {"SET", "ql:w:bad:jobs", "x"},
	} {
		must.Do(t, raw.Do(t.Context(), command...).Err())
	}
	says(t, o.run("failed", "ls"), `^bad +\? +ql:f:bad is no list: rename or delete it`, `^good +1`)
	says(t, o.run("throttle", "ls"), `^bad +\?.*ql:th:bad: WRONGTYPE .*: rename or delete it`, `^good +1 `, `^held +\?.*ql:th:held-locks: WRONGTYPE`)
	says(t, o.run("worker", "ls"), `^bad +\? .*ql:w:bad:jobs: WRONGTYPE`, `^w +0 +0 `)
	says(t, o.run("failed", "ls", "--json"), `"good": 1`)
	says(t, o.run("failed", "retry", "--all"), `^1 job retried$`)
}

// To ask changes nothing: what is due stays where it is.
func TestQuestionsChangeNothing(t *testing.T) {
	o := newOperator(t)
	o.put("ready")
	o.put("due", "--delay", "1h")
	o.run("recur", "add", "q", "--every", "1h", "--jid", "r")
	raw := o.client.Redis()
	past := float64(time.Now().Add(-time.Hour).Unix())
	for _, command := range [][]any{
		{"ZADD", "ql:q:q-scheduled", past, "due"}, {"ZADD", "ql:q:q-recur", past, "r"},
		{"ZADD", "ql:workers", 1000, "old"}, {"ZADD", "ql:w:old:jobs", 1000, "x"},
	} {
		must.Do(t, raw.Do(t.Context(), command...).Err())
	}
	dump := func() (all string) {
		for _, key := range []string{"ql:q:q-scheduled", "ql:q:q-work", "ql:q:q-recur", "ql:workers", "ql:w:old:jobs"} {
			all += key + strings.Join(raw.ZRange(t.Context(), key, 0, -1).Val(), " ") + "\n"
		}
		return all
	}
	before := dump()
	says(t, o.run("job", "why", "ready"), `next of its queue`)
	says(t, o.run("queue", "ls"), `^q +2 +0 +0 +0 `)
	o.run("queue", "ls", "--json")
	o.run("worker", "ls")
	o.run("failed", "ls")
	if after := dump(); after != before {
		t.Errorf("they changed\n%sto\n%s", before, after)
	}
}

// A worker that is dead is told as far as can be seen.
func TestWhyOfAJobWhoseHolderDied(t *testing.T) {
	o := newOperator(t)
	o.put("j")
	o.settle(queue.Settlement{}) // it runs
	raw := o.client.Redis()
	now := o.client.Now()
	says(t, o.run("job", "why", "j"), `^It is running on w, whose lock holds for another`, `^That worker was last heard of [0-9.]+m?s ago\.$`)
	raw.ZAdd(t.Context(), "ql:workers", zOf(now-50, "w"))
	raw.HSet(t.Context(), "ql:j:j", "expires", int64(now+10))
	says(t, o.run("job", "why", "j"), `^That worker was last heard of (50|5\d).*s ago, though it should renew a lock of 1m 0s several times in that time: it is likely dead or out of reach`)
	raw.ZAdd(t.Context(), "ql:workers", zOf(now+3600, "w"))
	says(t, o.run("job", "why", "j"), `^The clock of that worker is (59m 5\ds|1h 0m) ahead of that of Redis, so nobody can say when it was last heard of\.$`)
	says(t, o.run("worker", "ls"), `its clock is (59m 5\ds|1h 0m) ahead of that of Redis`)
	name := thisHost(t) + "-999999999-p-abc"
	raw.HSet(t.Context(), "ql:j:j", "worker", name)
	raw.ZAdd(t.Context(), "ql:workers", zOf(now, name))
	says(t, o.run("job", "why", "j"), `and its process 999999999 is gone from this host`)
}

// So is that of a job which holds what another waits for.
func TestAThrottleHeldByAJobOfADeadWorker(t *testing.T) {
	o := newOperator(t)
	o.prepare("throttle")
	raw := o.client.Redis()
	raw.ZAdd(t.Context(), "ql:th:t-locks", zOf(1, "first"))
	name := thisHost(t) + "-999999999-p-abc"
	raw.HSet(t.Context(), "ql:j:first", "worker", name)
	raw.ZAdd(t.Context(), "ql:workers", zOf(o.client.Now(), name))
	const told = `^first holds it, and runs on .*-999999999-p-abc, whose lock holds for another .*, and its process 999999999 is gone from this host.*: .*` + "`oarlock job timeout first`" + ` gives it back at once\.$`
	says(t, o.run("job", "why", "j"), `^Throttle t is full: 1 of 1, held by first\.$`, told)
	says(t, o.run("throttle", "show", "t"), `^held by: 1 job$`, `^  first$`, `^waited for by: 1 job$`, `^  j$`, told)
	o.run("job", "timeout", "first")
	says(t, o.run("throttle", "show", "t"), `^held by: no job$`)
}

func zOf(score float64, member string) redis.Z { return redis.Z{Score: score, Member: member} }

func thisHost(t *testing.T) string {
	t.Helper()
	name := must.Get(os.Hostname())(t)
	return name
}

// A queue that nobody works is told by queue ls and doctor, not only by job why.
func TestAQueueThatNoPoolServes(t *testing.T) {
	o := newOperator(t)
	raw := o.client.Redis()
	config := func(queues string) {
		text := "[pools.p]\nqueues = [\"" + queues + "\"]\ncommand = [\"cat\"]\n"
		must.Do(t, os.WriteFile(filepath.Join(o.dir, "oarlock.toml"), []byte(text), 0o644))
	}
	config("other")
	o.put("j")
	if text := o.run("queue", "ls"); strings.Contains(text, "none runs") {
		t.Errorf("a job that was just put: %s", text)
	}
	raw.HSet(t.Context(), "ql:j:j", "time", o.client.Now()-300)
	raw.ZAdd(t.Context(), "ql:q:q-work", zOf(-(o.client.Now()-300)/1e10, "j"))
	says(t, o.run("queue", "ls"), `^q +1 .* none runs, the next waits for 5m \ds: does a pool work it\?$`)
	says(t, o.run("queue", "ls", "--json"), `"unserved": 30\d`)
	doctor := func() string {
		o.command([]string{"exits", "0", "doctor"}) // whatever else it finds
		return o.said["stdout"]
	}
	says(t, doctor(), `warning queue q: 1 job is waiting, the next for 5m\ds, and none runs; no pool of the configuration here works it\.$`)
	config("q*")
	says(t, doctor(), `and none runs; though the configuration here has pools for it: p\.$`)
	o.settle(queue.Settlement{}) // it runs
	if text := o.run("queue", "ls") + doctor(); strings.Contains(text, "none runs") {
		t.Errorf("it runs: %s", text)
	}
}
