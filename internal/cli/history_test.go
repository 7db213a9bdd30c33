package cli

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"oarlock/internal/must"
	"oarlock/internal/ops"
	"oarlock/queue"
)

// operator is a Redis with a client, a worker w and the command line.
type operator struct {
	*script
	client  *queue.Client
	session *queue.Session
}

func newOperator(t *testing.T) operator {
	t.Helper()
	s, client := scriptOn(t, "")
	return operator{s, client, client.Session("w")}
}

// settle takes the next job of q and ends it.
func (o operator) settle(settlement queue.Settlement) {
	o.t.Helper()
	reply, err := o.session.Exchange(o.t.Context(), nil, queue.Take{Queues: []string{"q"}, Count: 1})
	if err != nil || len(reply.Jobs) != 1 {
		o.t.Fatalf("took %+v: %v", reply.Jobs, err)
	}
	if settlement.Action == "" {
		return // it runs on
	}
	job := reply.Jobs[0]
	settlement.JID, settlement.Queue, settlement.Popped = job.JID, job.Queue, job.Popped
	if reply, err = o.session.Exchange(o.t.Context(), []queue.Settlement{settlement}, queue.Take{}); err != nil || reply.Results[0].Err != nil {
		o.t.Fatalf("%+v: %v", reply, err)
	}
}

func (o operator) put(jid string, more ...string) {
	o.run(append([]string{"put", "q", "--jid", jid}, more...)...)
}

// run runs a command and returns what it printed.
func (o operator) run(args ...string) string {
	o.t.Helper()
	if err := o.oarlock(0, args); err != nil {
		o.t.Fatalf("%v: %v\n%s", args, err, o.said["stderr"])
	}
	return o.said["stdout"]
}

// says fails unless each expression matches a line, in this order.
func says(t *testing.T, text string, lines ...string) {
	t.Helper()
	rest := text
	for _, line := range lines {
		at := regexp.MustCompile("(?m)" + line).FindStringIndex(rest)
		if at == nil {
			t.Fatalf("no line %q, in this order, in\n%s", line, text)
		}
		rest = rest[at[1]:]
	}
}

// TestHistoryInWords lets a job go through all that can happen to it; each is told in words,
// those that leave the same entries, or none.
func TestHistoryInWords(t *testing.T) {
	o := newOperator(t)
	o.put("j", "--retries", "3")
	o.settle(queue.Settlement{Action: queue.Release, Counter: queue.CountCrash, MaxCrashes: 3, Group: "signal-SEGV", Message: "it died"})
	o.settle(queue.Settlement{Action: queue.Release, Counter: queue.CountInterruption, Front: true})
	o.settle(queue.Settlement{Action: queue.Release, Group: "busy", Message: "not yet"})
	o.settle(queue.Settlement{Action: queue.Retry})
	o.settle(queue.Settlement{})
	o.run("job", "timeout", "j")
	o.settle(queue.Settlement{Action: queue.Retry, Delay: time.Hour, Group: "exit-1", Message: "no route to the printer"})
	told := o.run("job", "log", "j")
	says(t, told, `  put into q$`,
		`  taken by w$`, `  crashed on w \(signal-SEGV\), which uses no retry$`,
		`  taken by w$`, `  interrupted on w and given back, which uses no retry$`,
		`  taken by w$`, `  given back by w \(busy\), which uses no retry`,
		`  taken by w$`, `  ended badly on w, which used a retry$`,
		`  taken by w$`, `  taken from w by hand$`,
		`  taken by w$`, `  ended badly on w \(exit-1: no route to the printer\), which used a retry$`)
	if n := strings.Count(told, "\n"); n != 13 {
		t.Errorf("%d lines, want 13:\n%s", n, told)
	}

	// It waits for its next attempt: nobody has it.
	shown := o.run("job", "show", "j")
	says(t, shown, `^state +scheduled$`, `no route to the printer\), which used a retry$`)
	if regexp.MustCompile(`(?m)^(worker|lock) `).MatchString(shown) {
		t.Errorf("a job in backoff shows a worker or a lock:\n%s", shown)
	}
	var view ops.Job
	must.Do(t, json.Unmarshal([]byte(o.run("job", "show", "j", "--json")), &view))
	if view.Worker != "" || view.Expires != 0 {
		t.Errorf("a job in backoff has worker %q and a lock until %v", view.Worker, view.Expires)
	}
	last := view.History[len(view.History)-1]
	if last.What != "retried" || !last.Inferred || last.When != view.Failure.When {
		t.Errorf("the last entry is %+v", last)
	}
	says(t, o.run("job", "why", "j"), `^It is scheduled for .*, (59m|1h 0m)`,
		`^Its last attempt, .* ago: ended badly on w \(exit-1: no route to the printer\), which used a retry\. Retries left: 1 of 3\.$`)

	// For other clients a job that was given back timed out, as ever.
	var what []string
	for _, entry := range o.client.Redis().LRange(t.Context(), "ql:j:j-history", 0, -1).Val() {
		var fields []any
		if err := json.Unmarshal([]byte(entry), &fields); err != nil || len(fields) > 3 {
			t.Fatalf("%s: %v", entry, err)
		}
		if len(fields) == 3 {
			if _, ok := fields[2].(map[string]any); !ok {
				t.Errorf("%s does not end in an object", entry)
			}
		}
		what = append(what, fields[1].(string))
	}
	if want := strings.Fields("put popped timed-out popped timed-out popped timed-out popped popped timed-out popped"); !slices.Equal(what, want) {
		t.Errorf("the keys say %v, want %v", what, want)
	}
}

// TestWhyTellsTheTruth asks why of jobs in every odd place.
func TestWhyTellsTheTruth(t *testing.T) {
	for _, tt := range []struct {
		name  string
		job   string // what stands before it
		spoil []any  // a command of Redis
		want  []string
		not   string
	}{
		{"moved on with a delay", "advance", nil, []string{`^It is scheduled for .*, (59m|1h 0m).* from now\.$`}, "redis: nil"},
		{"a lock that ran out", "run", []any{"HSET", "ql:j:j", "expires", 1000}, []string{`^It is running on w, whose lock ran out .* ago\.$`, `^That worker was last heard of .* ago\. Unless it renews the lock, the next sweep or pop takes the job back, which costs a retry\.$`}, "-"},
		{"a lock that ran out before anybody was", "run", []any{"EVAL", `redis.call('HSET', 'ql:j:j', 'expires', -5) redis.call('DEL', 'ql:workers') return 1`, 0},
			[]string{`^It is running on w, whose lock ran out .* ago\.$`, `^When that worker was last heard of, nobody knows\. Unless it renews the lock`}, " - "},
		{"a lock that is no number", "run", []any{"HSET", "ql:j:j", "expires", "nan"}, []string{`its field expires is "nan", no number`, `^It is running on w, whose lock has no end that Redis knows\.$`}, " - "},
		{"a lock without end", "run", []any{"HSET", "ql:j:j", "expires", "1e20"},
			[]string{`^It is running on w, whose lock holds for longer than any lock does \(30d 0h at most\)\.$`, `^That worker was last heard of .* ago\. No lock lasts so long, so somebody wrote that: .* if it is dead, nobody takes the job back, and .oarlock job timeout j. does\.$`}, "73000d"},
		{"a lock that holds", "run", nil, []string{`^It is running on w, whose lock holds for another (5\d|1m)`}, "takes the job back"},
		{"nowhere", "put", []any{"DEL", "ql:q:q-work"}, []string{`^It is waiting, but in no place of q .*doctor --fix`}, "redis: nil"},
		{"scheduled nowhere", "delay", []any{"DEL", "ql:q:q-scheduled"}, []string{`^It is scheduled, but in no place of q`}, "redis: nil"},
		{"due", "delay", []any{"ZADD", "ql:q:q-scheduled", 1000, "j"}, []string{`^It is scheduled for 1970-.*, which was .* ago: it comes with the next take\.$`}, "-"},
		{"due in three centuries", "delay", []any{"ZADD", "ql:q:q-scheduled", 1e10, "j"}, []string{`^It is scheduled for 2286-.*, 7[0-9]{4}d`}, " -"},
		{"for something that is gone", "depend", []any{"DEL", "ql:j:other"}, []string{`^It waits for other, which is gone and will not free it; .*doctor --fix`}, "redis: nil"},
		{"for something that is complete", "depend", []any{"HSET", "ql:j:other", "state", "complete"}, []string{`^It waits for other \(job\), which is complete and will not free it`}, "is complete in"},
		{"for nothing", "depend", []any{"DEL", "ql:j:j-dependencies"}, []string{`^It waits for other jobs, but there are none`}, "redis: nil"},
		{"a throttle held by none", "throttle", []any{"ZADD", "ql:th:t-locks", 1, "ghost"}, []string{`^Throttle t is full: 1 of 1, held by ghost\.$`, `^ghost holds it, but does not run`}, "redis: nil"},
		{"a throttle held by a job of a live worker", "throttle", []any{"ZADD", "ql:th:t-locks", 1, "first"}, []string{`^Throttle t is full: 1 of 1, held by first\.$`}, "first holds it, and runs"},
		{"a throttle held by a job whose lock ran out", "throttle", []any{"EVAL", `redis.call('ZADD', 'ql:th:t-locks', 1, 'first') redis.call('HSET', 'ql:j:first', 'expires', 1000) return 1`, 0},
			[]string{`^Throttle t is full: 1 of 1, held by first\.$`, `^first holds it, and runs on w, whose lock ran out .* ago\. That worker was last heard of .* ago\. Unless it renews the lock`}, "will not give it back"},
		{"a throttle held by one that waits for an answer", "parked holder", nil, []string{`^Throttle t is full: 1 of 1, held by first\.$`, "^first holds it meanwhile\\. first waits for an answer to order-17 until .*, 59m.* from now: if that is to come from a job that waits for its places, they wait for each other in a circle until then; `oarlock respond \\S+ order-17 DATA` ends it\\.$"}, "doctor"},
		{"behind one that waits for an answer", "parked turn", nil, []string{`^It stands behind others of key k, .*first has the turn`, "^first waits for an answer to order-17 until .*, 59m.*: if that is to come from this job, or from another behind it, they wait for each other in a circle until then; `oarlock respond job order-17 DATA` ends it\\.$"}, "doctor"},
		{"it waits for an answer and others for its turn and places", "parked", nil, []string{`^It waits for an answer to order-17, until`,
			"^It has the turn of key k meanwhile\\. j waits for an answer to order-17 until .*: if that is to come from one that stands behind it \\(1 job\\), they wait", "^It holds t meanwhile\\. j waits for an answer to order-17 until .*: if that is to come from one that waits for its places \\(1 job\\), they wait"}, "doctor"},
		{"a throttle held by one that was answered", "answered holder", nil, []string{`^Throttle t is full: 1 of 1, held by first\.$`, `^first was answered and holds it still; it goes on as soon as a child of its queue is free\.$`}, "doctor"},
		{"a throttle held by an attempt that was taken away", "throttle", []any{"ZADD", "ql:th:t-locks", 1e11, "gone\x001\x001763700000.25"}, []string{`^Throttle t is full: 1 of 1, held by gone\.$`, `^gone was taken from its worker, and holds it until that attempt is over, or its lock would have ended: its child may live on\.$`}, "doctor"},
		{"a throttle that has room", "throttle", nil, []string{`^It is told to wait for a throttle, and none of its throttles \(t ql:q:q\) is full`}, "redis: nil"},
		{"taken back", "take back", nil, []string{`^It is the next of its queue\.$`, `^Its last attempt, .* ago: taken from w by hand\. Retries left: 5 of 5\.$`}, "did not renew"},
		{"crashed", "crash", nil, []string{`^It is the next of its queue\.$`, `^Its last attempt, .* ago: crashed on w \(signal-SEGV\), which uses no retry: it died\. Retries left: 5 of 5`}, "redis: nil"},
		{"put again after it failed", "again", nil, []string{`^It is the next of its queue\.$`}, "Before that"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := newOperator(t)
			o.prepare(tt.job)
			if tt.spoil != nil {
				must.Do(t, o.client.Redis().Do(t.Context(), tt.spoil...).Err())
			}
			told := o.run("job", "why", "j")
			says(t, told, tt.want...)
			reasons, _, _ := strings.Cut(told, "Whether anybody listens")
			if strings.Contains(regexp.MustCompile(`\d{4}-\d\d-\d\d`).ReplaceAllString(strings.ReplaceAll(reasons, "--fix", ""), ""), tt.not) {
				t.Errorf("it says %q:\n%s", tt.not, told)
			}
		})
	}
}

// TestInfiniteScoresAreTold: a score may be infinite, and JSON has no such number; what is told of it all the same is JSON.
func TestInfiniteScoresAreTold(t *testing.T) {
	o := newOperator(t)
	o.run("put", "q", "--jid", "s", "--delay", "1h")
	for _, jid := range []string{"w", "k1", "k2"} {
		line := []string{"put", "q", "--jid", jid}
		if jid != "w" {
			line = append(line, "--key", "k")
		}
		o.run(line...)
	}
	for _, end := range []string{"inf", "-inf"} {
		for _, set := range []string{"q:q-scheduled s", "q:q-work w", "workers worker", "w:worker:jobs w", "oarlock:lanes:q k", "th:t-locks w", "queues q"} {
			key, member, _ := strings.Cut(set, " ")
			must.Do(t, o.client.Redis().Do(t.Context(), "ZADD", "ql:"+key, end, member).Err())
		}
		for _, line := range []string{"job show s", "job show w", "job why s", "queue ls", "queue show q", "queue jobs q", "queue jobs q --state scheduled", "queue jobs q --state behind", "worker ls", "worker show worker",
			"key ls q", "key show q k", "throttle ls", "throttle show t", "search s", "failed ls"} {
			told := o.run(strings.Fields(line + " --json")...)
			if !json.Valid([]byte(told)) {
				t.Errorf("with scores of %s %s tells %s", end, line, told)
			}
		}
	}
}

// prepare makes a job j of one kind.
func (o operator) prepare(kind string) {
	o.t.Helper()
	switch kind {
	case "delay":
		o.put("j", "--delay", "1h")
	case "depend":
		o.run("put", "other", "--jid", "other")
		o.put("j", "--depends", "other")
	case "throttle":
		o.run("throttle", "set", "t", "1")
		o.put("first", "--throttle", "t", "--priority", "5")
		o.put("j", "--throttle", "t")
		must.Get(o.session.Exchange(o.t.Context(), nil, queue.Take{Queues: []string{"q"}, Count: 2}))(o.t)
		o.client.Redis().Del(o.t.Context(), "ql:th:t-locks")
	case "parked holder", "answered holder":
		o.run("throttle", "set", "t", "1")
		o.put("first", "--throttle", "t")
		o.settle(queue.Settlement{Action: queue.Park, Correlation: "order-17", Delay: time.Hour})
		o.put("j", "--throttle", "t", "--priority", "5")
		if reply, err := o.session.Exchange(o.t.Context(), nil, queue.Take{Queues: []string{"q"}, Count: 1}); err != nil || len(reply.Jobs) > 0 {
			o.t.Fatalf("took %+v: %v", reply.Jobs, err)
		}
		if kind == "answered holder" {
			o.run("respond", "job", "order-17", `{"ok":true}`)
		}
	case "parked turn":
		o.put("first", "--key", "k")
		o.settle(queue.Settlement{Action: queue.Park, Correlation: "order-17", Delay: time.Hour})
		o.put("j", "--key", "k")
	case "parked":
		o.run("throttle", "set", "t", "1")
		o.put("j", "--key", "k", "--throttle", "t")
		o.settle(queue.Settlement{Action: queue.Park, Correlation: "order-17", Delay: time.Hour})
		o.put("behind", "--key", "k")
		o.put("waits", "--throttle", "t", "--priority", "5")
		if reply, err := o.session.Exchange(o.t.Context(), nil, queue.Take{Queues: []string{"q"}, Count: 1}); err != nil || len(reply.Jobs) > 0 {
			o.t.Fatalf("took %+v: %v", reply.Jobs, err)
		}
	case "again":
		o.put("j")
		o.settle(queue.Settlement{Action: queue.Fail, Group: "g", Message: "m"})
		o.run("job", "retry", "j")
	default:
		o.put("j")
		switch kind {
		case "advance":
			o.settle(queue.Settlement{Action: queue.Complete, Next: "later", Delay: time.Hour})
		case "run":
			o.settle(queue.Settlement{})
		case "take back":
			o.settle(queue.Settlement{})
			o.run("job", "timeout", "j")
		case "crash":
			o.settle(queue.Settlement{Action: queue.Release, Counter: queue.CountCrash, MaxCrashes: 3, Group: "signal-SEGV", Message: "it died"})
		}
	}
}

// Waits below zero are no long ones, and a counter is called what it is.
func TestStatsSayWhatTheyCount(t *testing.T) {
	o := newOperator(t)
	o.put("j")
	o.settle(queue.Settlement{Action: queue.Fail, Group: "g", Message: "m"})
	day := time.Now().UTC().Truncate(24 * time.Hour).Unix()
	o.run("failed", "retry", "g")
	raw := o.client.Redis()
	raw.HSet(t.Context(), fmt.Sprintf("ql:s:wait:%d:q", day), "total", 4, "mean", 1, "vk", 0, "s-3", 2)
	told := o.run("stats", "q")
	says(t, told, `^q on .*: 1 failure, 0 locks ran out$`, `^less those that were put again or canceled, in whichever queue: 0$`,
		`^4 jobs waited`, `^2 below 0: clocks disagreed$`, ` <1s .* 1$`)
	if strings.Contains(told, "still failed") {
		t.Errorf("it says what it cannot know:\n%s", told)
	}
	says(t, told, `longer .* 1$`)
}
