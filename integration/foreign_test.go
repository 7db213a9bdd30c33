package integration

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"oarlock/queue"
)

// foreign is another program on the same queues: a client of the qless protocol that
// loads one script, as all of them do, and keeps its own time.
type foreign struct {
	db     *redis.Client
	sha    string
	worker string
	ahead  time.Duration // of its clock
}

func (r *rig) foreign(t testing.TB, worker string) *foreign {
	t.Helper()
	sha := got(r.db.ScriptLoad(t.Context(), queue.Unified("ql:", queue.Qless)).Result())(t)
	return &foreign{db: r.db, sha: sha, worker: worker}
}

// call sends one command of the protocol.
func (f *foreign) call(t testing.TB, command string, args ...any) (string, error) {
	now := float64(time.Now().Add(f.ahead).UnixMicro()) / 1e6
	all := append([]any{command, fmt.Sprintf("%.6f", now)}, args...)
	reply, err := f.db.EvalSha(t.Context(), f.sha, nil, all...).Result()
	text, _ := reply.(string)
	return text, err
}

// pop takes up to n jobs of the queue "work" and returns their jids and data.
func (f *foreign) pop(t testing.TB, n int) map[string]string {
	t.Helper()
	reply := got(f.call(t, "pop", "work", f.worker, n))(t)
	popped := make(map[string]string)
	if reply == "{}" { // an empty list, as the script encodes it
		return popped
	}
	var jobs []struct{ JID, Data string }
	if err := json.Unmarshal([]byte(reply), &jobs); err != nil {
		t.Fatalf("pop: %v in %.200s", err, reply)
	}
	for _, j := range jobs {
		popped[j.JID] = j.Data
	}
	return popped
}

func olderClientOnTheSameQueue(t *testing.T, r *rig) {
	n := scaled(400, 2000)
	old := r.foreign(t, "an-older-client")
	for i := range n / 2 {
		jid := fmt.Sprintf("old-%d", i)
		got(old.call(t, "put", old.worker, "work", jid, "Work", `{"ms": 2}`, 0))(t)
		r.jids = append(r.jids, jid)
	}
	r.put(t, n/2, work{MS: 2})
	popped := old.pop(t, 1) // so that our own cannot leave it nothing
	r.begins(t, pool{}, 1)
	byOld := make(map[string]bool)
	for ; r.unsettled(t) > 0; popped = old.pop(t, 1) {
		for jid, data := range popped {
			byOld[jid] = true
			if _, err := old.call(t, "complete", jid, old.worker, "work", data); err != nil {
				t.Errorf("the older client completes %s: %v", jid, err)
			}
		}
	}
	jobs := r.settled(t)
	r.doneFree(t, jobs)
	byJob := runs(r.ledger.all(t))
	for _, j := range jobs {
		if popped, settled := j.settlements(); popped != 1 || settled != 1 {
			t.Errorf("job %s was popped %d times and settled %d times", j.jid, popped, settled)
		}
		if byOld[j.jid] == (len(byJob[j.jid]) > 0) {
			t.Errorf("job %s: worked by the older client: %v, by children: %d times", j.jid, byOld[j.jid], len(byJob[j.jid]))
		}
	}
	if len(byOld) == 0 || len(byOld) == n {
		t.Errorf("the older client did %d of %d jobs: the row shows nothing", len(byOld), n)
	}
	r.note("jobs", n, "by_older_client", len(byOld))
}

func thiefWithAClockAhead(t *testing.T, r *rig) {
	r.put(t, 1, work{MS: 20_000, Beat: 20})
	a := r.begins(t, pool{children: 1}, 1)
	thief := r.foreign(t, "thief")
	thief.ahead = 2 * time.Minute
	await(t, func() error { // the first pop only gives the courtesy notice
		if len(thief.pop(t, 1)) == 0 {
			thief.ahead += 2 * grace
			return fmt.Errorf("the thief has not got the job")
		}
		return nil
	})
	stolen := now()
	await(t, func() error {
		if n := len(since(r.ledger.all(t), now()-0.2)); n > 0 {
			return fmt.Errorf("the child works on after the theft")
		}
		return nil
	})
	entries := r.ledger.all(t)
	r.bound(t, "noticed_after", stolen, entries[len(entries)-1].at, (lock/3 + 200*time.Millisecond).Seconds())
	a.said(t, `"level":"WARN"`, "lock lost", thief.worker)
	for _, j := range r.check(t, allowed{}) {
		if j.worker != thief.worker {
			t.Errorf("job %s belongs to %q, want the thief", j.jid, j.worker)
		}
	}
}
