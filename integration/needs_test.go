package integration

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"oarlock/queue"
)

// aVersionThatLacksAWord: a key space that needs what a supervisor does not know is not worked by it; what it has it
// settles, says so once in its log and in status, and goes on when the need is gone.
func aVersionThatLacksAWord(t *testing.T, r *rig) {
	s := r.startConfig(t, "a", r.config(t, "a", pool{children: 2})+"[pools.listed]\nlist = \"outbox\"\ncommand = [\"true\"]\ninput = \"none\"\n")
	runs := r.putOne(t, work{MS: 1500}, func(*queue.Put) {})
	r.awaitState(t, runs, "running")
	must(t, r.db.SAdd(t.Context(), "ql:oarlock:needs", "shards").Err())
	waits := r.putOne(t, work{}, func(*queue.Put) {})
	r.awaitState(t, runs, "complete")
	tellsOfTheLack(t, r, s, waits)
	r.awaitState(t, waits, "waiting")
	must(t, r.db.LPush(t.Context(), "outbox", "1").Err())
	await(t, func() error {
		if told := s.text(); !strings.Contains(told, "outbox") {
			return fmt.Errorf("the log says nothing of the list:\n%s", told)
		}
		return nil
	})
	if n := r.db.LLen(t.Context(), "outbox").Val(); n != 1 {
		t.Errorf("%d entries wait in the list", n)
	}
	if n := strings.Count(s.text(), "nothing is taken, for this version does not know all"); n != 2 { // once of each pool
		t.Errorf("the log says it %d times", n)
	}
	must(t, r.client.Unneed(t.Context(), "shards"))
	r.awaitState(t, waits, "complete")
	await(t, func() error {
		if n := r.db.Exists(t.Context(), "outbox", "ql:oarlock:progress:outbox").Val(); n != 0 {
			return fmt.Errorf("the entry of the list is not worked")
		}
		if status := s.status(t); status["ready"] != true || status["abstains"] != nil {
			return fmt.Errorf("the status is %v", status)
		}
		return nil
	})
	s.stop(t)
}

// tellsOfTheLack waits until a supervisor says that it takes no jobs, and why: everywhere, in the same words. waits is a job of its queue.
func tellsOfTheLack(t *testing.T, r *rig, s *supervisor, waits string) {
	t.Helper()
	const why = "the key space needs shards, which this version does not know; upgrade it"
	await(t, func() error {
		if status := s.status(t); status["ready"] != false || status["abstains"] != why {
			return fmt.Errorf("the status is %v", status)
		}
		return nil
	})
	b := s.browse(t)
	for _, path := range []string{"/readyz", "/readyz?pool=work"} {
		if status, text, err := b.get(t.Context(), path); status != 503 || strings.TrimSpace(text) != "abstains" {
			t.Errorf("%s is %d %.100q, %v", path, status, text, err)
		}
	}
	for path, says := range map[string]string{
		"/": "takes no jobs: " + why, "/pools/work": "It takes nothing: " + why, "/supervisors": "takes nothing", "/readyz?verbose": why,
		"/metrics": "\noarlock_ready 0\n", "/metrics?": "\noarlock_abstaining 1\n", "/metrics?again": `oarlock_queue_ready_jobs{queue="work"} 1`,
	} {
		b.says(t, path, regexp.QuoteMeta(says))
	}
	for _, verb := range [][]string{{"status"}, {"top", "--once"}, {"status", "--all"}} {
		says := "takes no jobs: " + why
		if verb[len(verb)-1] == "--all" {
			says = "takes no jobs"
		}
		if text := s.control(t, verb...); !strings.Contains(text, says) {
			t.Errorf("oarlock %v says %s", verb, text)
		}
	}
	if text := s.control(t, "job", "why", waits); !strings.Contains(text, "does not know what the key space needs (shards)") || strings.Contains(text, "Pool work takes") {
		t.Errorf("oarlock job why says %s", text)
	}
}
