package integration

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"oarlock/internal/redistest"
	"oarlock/queue"
)

// resumed is invariant I9: something begins within 2 s after the fault has ended.
func (r *rig) resumed(t testing.TB, ended float64) {
	t.Helper()
	entries := r.ledger.within(t, 2*time.Second, "that a job began after the fault", func(entries []entry) bool {
		return count(since(entries, ended), "begin") > 0
	})
	for _, e := range since(entries, ended) {
		if e.what == "begin" {
			r.note("resumed_after", e.at-ended)
			return
		}
	}
}

func redisKilled(t *testing.T, r *rig) {
	r.put(t, 1, work{MS: 3000, Beat: 50}) // lives through it
	disturbed(scaled(300, 1000), func(t *testing.T, r *rig) {
		r.redis.Kill()
		last(time.Second)
		r.redis.Restart()
	})(t, r)
}

func redisAwayBeyondTheLock(t *testing.T, r *rig) {
	r.put(t, 4, work{MS: 20_000, Beat: 20, Once: true})
	r.put(t, 20, work{MS: 20})
	a := r.begins(t, pool{}, 4)
	last(lock) // so that each lock was renewed before
	killed := now()
	r.redis.Kill()
	last(3 * (lock + grace))
	entries := r.ledger.all(t)
	latest := entries[len(entries)-1].at
	// The last renewal was sent before the kill: no lease can reach further.
	if late := latest - killed - gone(killed, latest); late > lock.Seconds() {
		t.Errorf("children worked on for %.2f s after Redis went away; their locks lasted %v", late, lock)
	} else {
		r.note("worked_on", late)
	}
	r.redis.Restart()
	back := now()
	r.resumed(t, back)
	// What was interrupted begins anew, and would take another 20 s.
	r.ledger.await(t, "all jobs begun again", func(es []entry) bool {
		return count(since(es, back), "begin") >= 4
	})
	a.signal(t, 0)
	uncountedByDoubt(t, r.check(t, allowed{twice: 4}))
}

// uncountedByDoubt: a job whose child was stopped because its lock ran out pays at
// most what the protocol takes for a lock that somebody swept.
func uncountedByDoubt(t testing.TB, jobs []job) {
	t.Helper()
	for _, j := range jobs {
		if j.remaining < j.retries-1 {
			t.Errorf("job %s paid %d retries for one outage", j.jid, j.retries-j.remaining)
		}
	}
}

// scriptsFlushed empties the script cache again whenever calls have been made since: one that meets two in a row would be told so.
func scriptsFlushed(t *testing.T, r *rig) {
	a := r.start(t, "a", pool{})
	for wave := range scaled(20, 200) {
		r.put(t, 20, work{MS: 5})
		must(t, r.db.ScriptFlush(t.Context()).Err())
		r.ledger.await(t, "jobs of this wave", ended(20*wave+10))
	}
	r.finish(t, allowed{})
	a.neverSaid(t, "NOSCRIPT")
}

func dataWiped(t *testing.T, r *rig) {
	a, _ := r.idle(t, pool{})
	from, calls := now(), r.calls(t)
	last(2 * time.Second)
	idle := float64(r.calls(t)-calls) / (now() - from)
	r.put(t, 4, work{MS: 20_000, Beat: 20})
	r.ledger.await(t, "4 begun jobs", begun(44))
	last(lock / 2)
	calls = r.calls(t)
	must(t, r.db.FlushAll(t.Context()).Err())
	wiped := now()
	r.jids = nil
	// A renewal within L/3 hears that the jobs are gone, and stops their children.
	within(t, lock, func() error {
		if n := len(since(r.ledger.all(t), now()-0.15)); n > 0 {
			return fmt.Errorf("%d signs of life of jobs that are gone", n)
		}
		return nil
	})
	r.note("stopped_after", now()-wiped)
	last(2 * time.Second)
	perSecond := float64(r.calls(t)-calls) / (now() - wiped)
	r.note("calls_per_s", perSecond, "idle_calls_per_s", idle)
	// To hear of four jobs that are gone costs some 40 calls, once; a storm is many hundreds.
	if most := 2*idle + 20; perSecond > most {
		t.Errorf("%.0f Redis calls a second after the data was wiped, %.0f of an idle supervisor: want at most %.0f", perSecond, idle, most)
	}
	a.said(t, `"level":"WARN"`, "lock lost", "does not exist")
	r.put(t, 20, work{MS: 5})
	allDone(t, r.settled(t))
}

// calls is how many commands Redis has worked off.
func (r *rig) calls(t testing.TB) (n int) {
	t.Helper()
	info := got(r.db.Info(t.Context(), "stats").Result())(t)
	_, after, _ := strings.Cut(info, "total_commands_processed:")
	fmt.Sscan(after, &n)
	return n
}

func redisPaused(t *testing.T, r *rig) {
	const wave = 200
	r.start(t, "a", pool{})
	for i := range 8 {
		r.put(t, wave, work{MS: 5})
		r.ledger.await(t, "some ended", ended(i*wave+30+r.random.IntN(40)))
		r.redis.Pause()
		last(5 * time.Second)
		r.redis.Resume()
		r.resumed(t, now())
		r.settled(t)
		r.nothingHeld(t)
	}
	jobs := readJobs(t, r.db, r.jids)
	r.doneFree(t, jobs)
	r.check(t, allowed{})
}

func busyScript(t *testing.T, r *rig) {
	// It only reads the clock, so it could be killed; nobody but its owner may.
	must(t, r.redis.Client(t).WithTimeout(time.Minute).Eval(t.Context(), `
		local from = redis.call('time')[1]
		while redis.call('time')[1] - from < 10 do end
		return 'done'`, nil).Err())
}

func tornAppendOnlyFile(t *testing.T, r *rig) {
	r.put(t, scaled(200, 1000), work{MS: 20})
	r.begins(t, pool{}, 60)
	dir := r.db.ConfigGet(t.Context(), "dir").Val()["dir"]
	r.redis.Kill()
	files, err := filepath.Glob(filepath.Join(dir, "appendonlydir", "*.incr.aof"))
	if err != nil || len(files) != 1 {
		t.Fatalf("append-only files %q, %v", files, err)
	}
	info := got(os.Stat(files[0]))(t)
	must(t, os.Truncate(files[0], info.Size()-777))
	r.redis.Restart()
	// What Redis still has is worked off; what was settled in the lost bytes runs again.
	jobs := r.settled(t)
	allDone(t, jobs)
	r.speechless = true // what was acknowledged and then forgotten has no record
	r.check(t, allowed{twice: len(jobs)})
}

func snapshotOnly(t *testing.T, r *rig) {
	r.put(t, 4, work{MS: 20_000, Beat: 20})
	a := r.start(t, "a", pool{})
	a.said(t, "appendonly")
	r.ledger.await(t, "4 begun jobs", begun(4))
	r.redis.Kill()
	r.redis.Restart()
	r.jids = nil
	within(t, lock+time.Second, func() error {
		if n := len(since(r.ledger.all(t), now()-0.15)); n > 0 {
			return fmt.Errorf("%d signs of life of jobs that are gone", n)
		}
		return nil
	})
	r.put(t, 20, work{MS: 5})
	allDone(t, r.settled(t))
}

func redisSilent(t *testing.T, r *rig) {
	r.put(t, 40, work{MS: 5})
	a := r.start(t, "a", pool{})
	r.settled(t)
	before := a.footprint(t)
	r.redis.Pause()
	last(5 * time.Second)
	silent := a.footprint(t)
	r.redis.Resume()
	if silent.descriptors > before.descriptors+20 || silent.goroutines > before.goroutines+20 {
		t.Errorf("the supervisor has %+v while Redis is silent, and had %+v", silent, before)
	}
	r.note("descriptors", fmt.Sprint(before.descriptors, "→", silent.descriptors), "goroutines", fmt.Sprint(before.goroutines, "→", silent.goroutines))
	r.put(t, 40, work{MS: 5})
	r.resumed(t, now()-1)
	allDone(t, r.settled(t))
	r.givenBack(t, []footprint{before})
	r.check(t, allowed{})
}

func outOfMemory(t *testing.T, r *rig) {
	early := r.put(t, 2, work{MS: 4000}) // beyond the first renewal
	bad := r.put(t, 2, work{MS: 1500, Say: map[string]any{"@": "fail", "group": "told"}})
	r.put(t, 20, work{MS: 5})
	r.putOne(t, work{MS: 5}, func(p *queue.Put) { p.Delay = 6 * time.Second }) // is taken by a call that frees nothing
	a := r.begins(t, pool{}, 4)
	r.set(t, "maxmemory", "100kb")
	if _, err := r.client.Put(t.Context(), r.describe(t, work{})); err == nil || !strings.Contains(err.Error(), "OOM") {
		t.Fatalf("a put while Redis is out of memory = %v", err)
	}
	// The results of what runs are accepted, for they free before they write.
	await(t, func() error {
		if by := inState(readJobs(t, r.db, slices.Concat(early, bad))); by["complete"] != len(early) || by["failed"] != len(bad) {
			return fmt.Errorf("while Redis is out of memory the jobs are %v", by)
		}
		return nil
	})
	a.said(t, `"level":"ERROR"`, "OOM")
	r.set(t, "maxmemory", "0")
	enough := now()
	r.put(t, 20, work{MS: 5})
	r.resumed(t, enough)
	jobs := r.settled(t)
	if by := inState(jobs); by["failed"] != len(bad) || by["complete"] != len(jobs)-len(bad) {
		t.Errorf("jobs end as %v, want %d failed and the others complete", by, len(bad))
	}
	r.uncounted(t, jobs)
	r.check(t, allowed{})
}

func (r *rig) set(t testing.TB, name, value string) {
	t.Helper()
	must(t, r.db.ConfigSet(context.Background(), name, value).Err())
}

func jobMissingAtTheHead(t *testing.T, r *rig) {
	r.put(t, 20, work{MS: 5})
	head := got(r.db.ZRangeArgs(t.Context(), redis.ZRangeArgs{Key: "ql:q:work-work", Start: 0, Stop: 0, Rev: true}).Result())(t)
	must(t, r.db.Del(t.Context(), "ql:j:"+head[0]).Err())
	for i, jid := range r.jids {
		if jid == head[0] {
			r.jids = append(r.jids[:i], r.jids[i+1:]...)
			break
		}
	}
	a := r.start(t, "a", pool{})
	a.said(t, `"msg":"ready"`)
	a.said(t, head[0], "work") // three polls
	allDone(t, r.settled(t))
	r.check(t, allowed{})
}

func demoted(t *testing.T, r *rig) {
	r.replicaOf(t, "127.0.0.1", "1") // nobody is there
	last(2 * time.Second)
	r.replicaOf(t, "NO", "ONE")
}

func passwordChanged(t *testing.T, r *rig) {
	const was, is = password, "changed"
	file := filepath.Join(r.dir, "password")
	writeFile(t, file, was)
	denied(t, r, fmt.Sprintf("password_file = %q", file), "WRONGPASS", []string{"resetpass", ">" + is}, func() {
		writeFile(t, file, is)
		r.db = redis.NewClient(&redis.Options{Network: "unix", Addr: r.redis.Addr, Password: is, MaxRetries: -1})
		t.Cleanup(func() { r.db.Close() })
	})
}

func rightTaken(t *testing.T, r *rig) {
	denied(t, r, "", "NOPERM", []string{"-evalsha"}, func() {
		must(t, r.db.Do(t.Context(), "ACL", "SETUSER", "default", "+evalsha").Err())
	})
}

// denied takes rights away from the supervisor's user while jobs run, and has them repaired
// once the supervisor has complained.
func denied(t *testing.T, r *rig, key, complaint string, rules []string, repair func()) {
	t.Helper()
	r.put(t, 1000, work{MS: 20})
	a := r.startConfig(t, "a", strings.Replace(r.config(t, "a", pool{}), "[supervisor]", key+"\n[supervisor]", 1))
	r.ledger.await(t, "20 begun jobs", begun(20))
	args := []any{"ACL", "SETUSER", "default"}
	for _, rule := range rules {
		args = append(args, rule)
	}
	must(t, r.db.Do(t.Context(), args...).Err())
	must(t, r.db.Do(t.Context(), "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes").Err())
	a.said(t, complaint)
	repair()
	repaired := now()
	r.ledger.await(t, "a job begun after the repair", func(es []entry) bool {
		return count(since(es, repaired), "begin") > 0
	})
	r.note("resumed_after", now()-repaired)
	allDone(t, r.settled(t))
	r.check(t, allowed{twice: 4})
}

func writeFile(t testing.TB, path, text string) {
	t.Helper()
	must(t, os.WriteFile(path, []byte(text), 0o600))
}

func maxClients(t *testing.T, r *rig) {
	r.set(t, "maxclients", "1")
	must(t, r.db.Do(t.Context(), "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes").Err())
	last(time.Second)
	r.set(t, "maxclients", "1000")
}

func redisLoading(t *testing.T, r *rig) {
	r.redis.Kill()
	killed := now()
	r.redis.Restart()
	loading := now() - killed
	r.note("loaded_after", loading)
	if loading < 5 {
		t.Errorf("Redis loaded for %.1f s, want 5 s at least: the row shows little", loading)
	}
}

func evictionPolicy(t *testing.T, r *rig) {
	a := r.start(t, "a", pool{})
	a.said(t, "maxmemory-policy", "noeviction")
}

func failoverToAReplicaBehind(t *testing.T, r *rig) {
	replica := redistest.Start(t, append(redistest.AOF, "--replicaof", "127.0.0.1 "+r.port)...)
	copyDB := replica.Client(t)
	r.put(t, 1000, work{MS: 10})
	await(t, func() error {
		if info := copyDB.Info(t.Context(), "replication").Val(); !strings.Contains(info, "master_link_status:up") {
			return fmt.Errorf("the replica is not in step: %s", info)
		}
		return nil
	})
	a := r.begins(t, pool{}, 60)
	must(t, copyDB.ReplicaOf(t.Context(), "127.0.0.1", "1").Err()) // it hears no more
	last(500 * time.Millisecond)
	r.redis.Kill()
	must(t, copyDB.ReplicaOf(t.Context(), "NO", "ONE").Err())
	r.db = copyDB
	promoted := now()
	r.proxy.Retarget("unix", replica.Addr)
	r.proxy.Cut()
	r.resumed(t, promoted)
	// What ended in the lost half second runs again: that is Redis's loss, and told here.
	jobs := r.settled(t)
	allDone(t, jobs)
	r.speechless = true // what was acknowledged and then forgotten has no record
	r.check(t, allowed{twice: len(jobs)})
	a.stop(t)
}

func diskFull(t *testing.T, r *rig) {
	r.put(t, 4, work{MS: 1500})
	rest := r.put(t, 100, work{MS: 5})
	a := r.begins(t, pool{}, 4)
	ballast := filepath.Join(r.data, "ballast")
	fill(t, ballast)
	await(t, func() error { // until Redis has noticed
		if err := r.db.Set(t.Context(), "probe", strings.Repeat("x", 1<<20), 0).Err(); err == nil {
			return errors.New("Redis accepts writes on a full disk")
		}
		return nil
	})
	r.ledger.await(t, "results that wait for the disk", ended(4))
	last(time.Second)
	if _, alive := readProcess(a.pid()); !alive {
		t.Fatal("the supervisor left")
	}
	must(t, os.Remove(ballast))
	jobs := r.settled(t)
	r.doneFree(t, jobs)
	r.note("held", len(jobs)-len(rest))
	r.check(t, allowed{})
}
