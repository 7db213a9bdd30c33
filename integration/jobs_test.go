package integration

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
)

// job is what Redis holds of a job, read from the keys themselves: the tests must
// not trust the code under test to tell what it has done.
type job struct {
	jid, state, queue, worker string
	retries, remaining        int
	crashes, interruptions    int
	group, message            string // of its failure
	history                   []event
	places                    []string // where the job is listed, by the name of the state that it says
}

// event is one entry of a job's history.
type event struct {
	what, worker string
	at           int // seconds of Redis' clock
}

// settlements counts how often somebody ended an attempt: at most one for each pop.
func (j job) settlements() (popped, settled int) {
	for _, e := range j.history {
		switch e.what {
		case "popped":
			popped++
		case "done", "failed":
			settled++
		}
	}
	return popped, settled
}

// readJobs reads jobs in a few round trips. A job that does not exist has state "".
func readJobs(t testing.TB, db *redis.Client, jids []string) []job {
	t.Helper()
	ctx := context.Background()
	groups := got(db.SMembers(ctx, "ql:failures").Result())(t)
	failed := make(map[string]int) // how many lists hold the jid
	for _, group := range groups {
		list := got(db.LRange(ctx, "ql:f:"+group, 0, -1).Result())(t)
		for _, jid := range list {
			failed[jid]++
		}
	}
	jobs := make([]job, 0, len(jids))
	for part := range slices.Chunk(jids, 500) {
		hashes := make([]*redis.SliceCmd, len(part))
		histories := make([]*redis.StringSliceCmd, len(part))
		if _, err := db.Pipelined(ctx, func(p redis.Pipeliner) error {
			for i, jid := range part {
				hashes[i] = p.HMGet(ctx, "ql:j:"+jid, "state", "queue", "worker", "retries", "remaining",
					"oarlock-crashes", "oarlock-interruptions", "failure")
				histories[i] = p.LRange(ctx, "ql:j:"+jid+"-history", 0, -1)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		for i, jid := range part {
			jobs = append(jobs, parseJob(t, jid, hashes[i].Val(), histories[i].Val()))
		}
	}
	places(t, db, jobs, failed)
	return jobs
}

func parseJob(t testing.TB, jid string, hash []any, history []string) job {
	t.Helper()
	text := func(i int) string { s, _ := hash[i].(string); return s }
	number := func(i int) (n int) { fmt.Sscan(text(i), &n); return n }
	j := job{
		jid: jid, state: text(0), queue: text(1), worker: text(2), retries: number(3), remaining: number(4),
		crashes: counter(text(5)), interruptions: counter(text(6)),
	}
	var failure struct{ Group, Message string }
	if json.Unmarshal([]byte(text(7)), &failure) == nil {
		j.group, j.message = failure.Group, failure.Message
	}
	for _, line := range history {
		var entry []any
		if err := json.Unmarshal([]byte(line), &entry); err != nil || len(entry) < 2 {
			t.Fatalf("history of %s: %q", jid, line)
		}
		e := event{what: fmt.Sprint(entry[1])}
		if at, ok := entry[0].(float64); ok {
			e.at = int(at)
		}
		if len(entry) > 2 {
			if extra, ok := entry[2].(map[string]any); ok {
				e.worker, _ = extra["worker"].(string)
			}
		}
		j.history = append(j.history, e)
	}
	return j
}

// counter reads a count of ours, which is kept beside the queue it holds in.
func counter(field string) (n int) {
	for _, part := range strings.Fields(field) {
		if _, err := fmt.Sscan(part, &n); err == nil {
			return n
		}
	}
	return 0
}

// places finds the lists and sets that each job is in.
func places(t testing.TB, db *redis.Client, jobs []job, failed map[string]int) {
	t.Helper()
	ctx := context.Background()
	states := []struct{ state, key string }{
		{"waiting", "-work"}, {"running", "-locks"}, {"scheduled", "-scheduled"}, {"depends", "-depends"},
	}
	queues := got(db.ZRange(ctx, "ql:queues", 0, -1).Result())(t)
	in := make(map[string][]string) // by jid
	for _, queue := range queues {
		for _, s := range states {
			jids := got(db.ZRange(ctx, "ql:q:"+queue+s.key, 0, -1).Result())(t)
			for _, jid := range jids {
				in[jid] = append(in[jid], s.state)
			}
		}
	}
	complete := got(db.ZRange(ctx, "ql:completed", 0, -1).Result())(t)
	for _, jid := range complete {
		in[jid] = append(in[jid], "complete")
	}
	for i := range jobs {
		j := &jobs[i]
		j.places = in[j.jid]
		for range failed[j.jid] {
			j.places = append(j.places, "failed")
		}
	}
}

// inState counts jobs by state.
func inState(jobs []job) map[string]int {
	by := make(map[string]int)
	for _, j := range jobs {
		by[j.state]++
	}
	return by
}
