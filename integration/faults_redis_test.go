package integration

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
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
	entries := r.ledger.await(t, 2*time.Second, "that a job began after the fault", func(entries []entry) bool {
		return count(since(entries, ended), "begin") > 0
	})
	for _, e := range since(entries, ended) {
		if e.what == "begin" {
			r.note("resumed_after", e.at-ended)
			return
		}
	}
}

func TestD1RedisKilled(t *testing.T) {
	row(t, "D1", rigOptions{}, func(t *testing.T, r *rig) {
		r.put(t, scaled(300, 1000), work{MS: 20})
		r.put(t, 1, work{MS: 3000, Beat: 50}) // lives through it
		r.start(t, "a", pool{})
		r.ledger.await(t, 20*time.Second, "60 begun jobs", begun(60+r.random.IntN(40)))
		r.redis.Kill()
		last(time.Second)
		r.redis.Restart()
		r.resumed(t, now())
		jobs := r.settled(t, time.Minute)
		allDone(t, jobs)
		r.uncounted(t, jobs)
		r.check(t, allowed{})
	})
}

func TestD2RedisAwayBeyondTheLock(t *testing.T) {
	row(t, "D2", rigOptions{}, func(t *testing.T, r *rig) {
		r.put(t, 4, work{MS: 20_000, Beat: 20, Once: true})
		r.put(t, 20, work{MS: 20})
		a := r.start(t, "a", pool{})
		r.ledger.await(t, 20*time.Second, "4 begun jobs", begun(4))
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
		r.ledger.await(t, 10*time.Second, "all jobs begun again", func(es []entry) bool {
			return count(since(es, back), "begin") >= 4
		})
		a.signal(t, 0)
		uncountedByDoubt(t, r.check(t, allowed{twice: 4}))
	})
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

func TestD4ScriptsFlushed(t *testing.T) {
	row(t, "D4", rigOptions{}, func(t *testing.T, r *rig) {
		a := r.start(t, "a", pool{})
		ctx, cancel := context.WithCancel(t.Context())
		flushed := make(chan int)
		go func() { // ends with cancel, and reports on flushed
			n := 0
			for ; ctx.Err() == nil; n++ {
				r.db.ScriptFlush(ctx)
				last(100 * time.Millisecond)
			}
			flushed <- n
		}()
		for range scaled(10, 100) {
			r.put(t, 40, work{MS: 5})
			last(100 * time.Millisecond)
		}
		jobs := r.settled(t, time.Minute)
		cancel()
		r.note("flushes", <-flushed)
		allDone(t, jobs)
		r.uncounted(t, jobs)
		if n := a.saying("NOSCRIPT"); n > 0 {
			t.Errorf("the log speaks of NOSCRIPT %d times", n)
		}
		r.check(t, allowed{})
	})
}

func TestD5DataWiped(t *testing.T) {
	row(t, "D5", rigOptions{}, func(t *testing.T, r *rig) {
		a, _ := r.idle(t, pool{})
		from, calls := now(), r.calls(t)
		last(2 * time.Second)
		idle := float64(r.calls(t)-calls) / (now() - from)
		r.put(t, 4, work{MS: 20_000, Beat: 20})
		r.ledger.await(t, 20*time.Second, "4 begun jobs", begun(44))
		last(lock / 2)
		calls = r.calls(t)
		if err := r.db.FlushAll(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		wiped := now()
		r.jids = nil
		// A renewal within L/3 hears that the jobs are gone, and stops their children.
		await(t, lock, func() error {
			if n := len(since(r.ledger.all(t), now()-0.15)); n > 0 {
				return fmt.Errorf("%d signs of life of jobs that are gone", n)
			}
			return nil
		})
		r.note("stopped_after", now()-wiped)
		last(2 * time.Second)
		perSecond := float64(r.calls(t)-calls) / (now() - wiped)
		r.note("calls_per_s", perSecond)
		r.note("idle_calls_per_s", idle)
		// To hear of four jobs that are gone costs some 40 calls, once; a storm is many hundreds.
		if most := 2*idle + 20; perSecond > most {
			t.Errorf("%.0f Redis calls a second after the data was wiped, %.0f of an idle supervisor: want at most %.0f", perSecond, idle, most)
		}
		a.said(t, time.Second, `"level":"WARN"`, "lock lost", "does not exist")
		r.put(t, 20, work{MS: 5})
		allDone(t, r.settled(t, 20*time.Second))
	})
}

// calls is how many commands Redis has worked off.
func (r *rig) calls(t testing.TB) (n int) {
	t.Helper()
	info, err := r.db.Info(t.Context(), "stats").Result()
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(info, "total_commands_processed:")
	fmt.Sscan(after, &n)
	return n
}

func TestD6RedisPaused(t *testing.T) {
	row(t, "D6", rigOptions{lock: 10 * time.Second}, func(t *testing.T, r *rig) {
		const wave = 200
		r.start(t, "a", pool{})
		for i := range scaled(1, 8) {
			r.put(t, wave, work{MS: 5})
			r.ledger.await(t, 20*time.Second, "some ended", ended(i*wave+30+r.random.IntN(40)))
			r.redis.Pause()
			last(5 * time.Second)
			r.redis.Resume()
			r.resumed(t, now())
			r.settled(t, time.Minute)
			r.nothingHeld(t)
		}
		jobs := readJobs(t, r.db, r.jids)
		allDone(t, jobs)
		r.uncounted(t, jobs)
		r.check(t, allowed{})
	})
}

func TestD7BusyScript(t *testing.T) {
	row(t, "D7", rigOptions{lock: 20 * time.Second, redis: []string{"--lua-time-limit", "100"}}, func(t *testing.T, r *rig) {
		r.put(t, scaled(300, 1000), work{MS: 20})
		r.start(t, "a", pool{})
		r.ledger.await(t, 20*time.Second, "60 begun jobs", begun(60))
		// It only reads the clock, so it could be killed; nobody but its owner may.
		c := r.redis.Client(t).WithTimeout(20 * time.Second)
		err := c.Eval(t.Context(), `
			local from = redis.call('time')[1]
			while redis.call('time')[1] - from < tonumber(ARGV[1]) do end
			return 'done'`, nil, scaled(3, 10)).Err()
		if err != nil {
			t.Errorf("the long script of another client: %v", err)
		}
		r.resumed(t, now())
		jobs := r.settled(t, time.Minute)
		allDone(t, jobs)
		r.uncounted(t, jobs)
		r.check(t, allowed{})
	})
}

func TestD9TornAppendOnlyFile(t *testing.T) {
	row(t, "D9", rigOptions{}, func(t *testing.T, r *rig) {
		r.put(t, scaled(200, 1000), work{MS: 20})
		r.start(t, "a", pool{})
		r.ledger.await(t, 20*time.Second, "60 begun jobs", begun(60))
		dir := r.db.ConfigGet(t.Context(), "dir").Val()["dir"]
		r.redis.Kill()
		files, err := filepath.Glob(filepath.Join(dir, "appendonlydir", "*.incr.aof"))
		if err != nil || len(files) != 1 {
			t.Fatalf("append-only files %q, %v", files, err)
		}
		info, err := os.Stat(files[0])
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(files[0], info.Size()-777); err != nil {
			t.Fatal(err)
		}
		r.redis.Restart()
		// What Redis still has is worked off; what was settled in the lost bytes runs again.
		jobs := r.settled(t, time.Minute)
		allDone(t, jobs)
		r.speechless = true // what was acknowledged and then forgotten has no record
		r.check(t, allowed{twice: len(jobs)})
	})
}

func TestD10SnapshotOnly(t *testing.T) {
	row(t, "D10", rigOptions{redis: []string{"--appendonly", "no"}}, func(t *testing.T, r *rig) {
		r.put(t, 4, work{MS: 20_000, Beat: 20})
		a := r.start(t, "a", pool{})
		a.said(t, 10*time.Second, "appendonly")
		r.ledger.await(t, 20*time.Second, "4 begun jobs", begun(4))
		r.redis.Kill()
		r.redis.Restart()
		r.jids = nil
		await(t, lock+time.Second, func() error {
			if n := len(since(r.ledger.all(t), now()-0.15)); n > 0 {
				return fmt.Errorf("%d signs of life of jobs that are gone", n)
			}
			return nil
		})
		r.put(t, 20, work{MS: 5})
		allDone(t, r.settled(t, 20*time.Second))
	})
}

func TestD11RedisSilent(t *testing.T) {
	row(t, "D11", rigOptions{}, func(t *testing.T, r *rig) {
		r.put(t, 40, work{MS: 5})
		a := r.start(t, "a", pool{})
		r.settled(t, 20*time.Second)
		before := a.footprint(t)
		r.redis.Pause()
		last(5 * time.Second)
		silent := a.footprint(t)
		r.redis.Resume()
		if silent.descriptors > before.descriptors+20 || silent.goroutines > before.goroutines+20 {
			t.Errorf("the supervisor has %+v while Redis is silent, and had %+v", silent, before)
		}
		r.note("descriptors", fmt.Sprint(before.descriptors, "→", silent.descriptors))
		r.note("goroutines", fmt.Sprint(before.goroutines, "→", silent.goroutines))
		r.put(t, 40, work{MS: 5})
		r.resumed(t, now()-1)
		allDone(t, r.settled(t, 20*time.Second))
		r.givenBack(t, []footprint{before})
		r.check(t, allowed{})
	})
}

func TestF1OutOfMemory(t *testing.T) {
	row(t, "F1", rigOptions{lock: 10 * time.Second}, func(t *testing.T, r *rig) {
		early := r.put(t, 2, work{MS: 4000}) // beyond the first renewal
		bad := r.put(t, 2, work{MS: 1500, Say: map[string]any{"@": "fail", "group": "told"}})
		r.put(t, 20, work{MS: 5})
		r.putOne(t, work{MS: 5}, func(p *queue.Put) { p.Delay = 6 * time.Second }) // is taken by a call that frees nothing
		a := r.start(t, "a", pool{})
		r.ledger.await(t, 20*time.Second, "4 begun jobs", begun(4))
		r.set(t, "maxmemory", "100kb")
		if _, err := r.client.Put(t.Context(), r.describe(t, work{})); err == nil || !strings.Contains(err.Error(), "OOM") {
			t.Fatalf("a put while Redis is out of memory = %v", err)
		}
		// The results of what runs are accepted, for they free before they write.
		await(t, 8*time.Second, func() error {
			if by := inState(readJobs(t, r.db, slices.Concat(early, bad))); by["complete"] != len(early) || by["failed"] != len(bad) {
				return fmt.Errorf("while Redis is out of memory the jobs are %v", by)
			}
			return nil
		})
		a.said(t, 5*time.Second, `"level":"ERROR"`, "OOM")
		r.set(t, "maxmemory", "0")
		enough := now()
		r.put(t, 20, work{MS: 5})
		r.resumed(t, enough)
		jobs := r.settled(t, 30*time.Second)
		if by := inState(jobs); by["failed"] != len(bad) || by["complete"] != len(jobs)-len(bad) {
			t.Errorf("jobs end as %v, want %d failed and the others complete", by, len(bad))
		}
		r.uncounted(t, jobs)
		r.check(t, allowed{})
	})
}

func (r *rig) set(t testing.TB, name, value string) {
	t.Helper()
	if err := r.db.ConfigSet(context.Background(), name, value).Err(); err != nil {
		t.Fatal(err)
	}
}

func TestF3JobMissingAtTheHead(t *testing.T) {
	row(t, "F3", rigOptions{}, func(t *testing.T, r *rig) {
		r.put(t, 20, work{MS: 5})
		head, err := r.db.ZRangeArgs(t.Context(), redis.ZRangeArgs{Key: "ql:q:work-work", Start: 0, Stop: 0, Rev: true}).Result()
		if err != nil {
			t.Fatal(err)
		}
		if err := r.db.Del(t.Context(), "ql:j:"+head[0]).Err(); err != nil {
			t.Fatal(err)
		}
		for i, jid := range r.jids {
			if jid == head[0] {
				r.jids = append(r.jids[:i], r.jids[i+1:]...)
				break
			}
		}
		a := r.start(t, "a", pool{})
		a.said(t, 10*time.Second, `"msg":"ready"`)
		a.said(t, 3*200*time.Millisecond, head[0], "work") // three polls
		allDone(t, r.settled(t, 20*time.Second))
		r.check(t, allowed{})
	})
}

func TestF4Demoted(t *testing.T) {
	row(t, "F4", rigOptions{lock: 10 * time.Second}, func(t *testing.T, r *rig) {
		r.put(t, scaled(200, 1000), work{MS: 20})
		r.start(t, "a", pool{})
		r.ledger.await(t, 20*time.Second, "40 begun jobs", begun(40))
		r.db.ReplicaOf(t.Context(), "127.0.0.1", "1") // nobody is there
		last(2 * time.Second)
		r.db.ReplicaOf(t.Context(), "NO", "ONE")
		r.resumed(t, now())
		jobs := r.settled(t, time.Minute)
		allDone(t, jobs)
		r.uncounted(t, jobs)
		r.check(t, allowed{})
	})
}

func TestF7PasswordChanged(t *testing.T) {
	t.Run("password", func(t *testing.T) {
		const was, is = "secret", "changed"
		o := rigOptions{lock: 10 * time.Second, redis: []string{"--requirepass", was}, password: was}
		row(t, "F7", o, func(t *testing.T, r *rig) {
			file := filepath.Join(r.dir, "password")
			writeFile(t, file, was)
			denied(t, r, fmt.Sprintf("password_file = %q", file), "WRONGPASS", []string{"resetpass", ">" + is}, func() {
				writeFile(t, file, is)
				r.db = redis.NewClient(&redis.Options{Network: "unix", Addr: r.redis.Addr, Password: is, MaxRetries: -1})
				t.Cleanup(func() { r.db.Close() })
			})
		})
	})
	t.Run("permission", func(t *testing.T) {
		row(t, "F7", rigOptions{lock: 10 * time.Second}, func(t *testing.T, r *rig) {
			denied(t, r, "", "NOPERM", []string{"-evalsha"}, func() {
				if err := r.db.Do(t.Context(), "ACL", "SETUSER", "default", "+evalsha").Err(); err != nil {
					t.Fatal(err)
				}
			})
		})
	})
}

// denied takes rights away from the supervisor's user while jobs run, and has them repaired
// once the supervisor has complained.
func denied(t *testing.T, r *rig, key, complaint string, rules []string, repair func()) {
	t.Helper()
	r.put(t, scaled(100, 1000), work{MS: 20})
	a := r.startConfig(t, "a", strings.Replace(r.config(t, "a", pool{}), "[supervisor]", key+"\n[supervisor]", 1))
	r.ledger.await(t, 20*time.Second, "20 begun jobs", begun(20))
	args := []any{"ACL", "SETUSER", "default"}
	for _, rule := range rules {
		args = append(args, rule)
	}
	if err := r.db.Do(t.Context(), args...).Err(); err != nil {
		t.Fatal(err)
	}
	if err := r.db.Do(t.Context(), "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes").Err(); err != nil {
		t.Fatal(err)
	}
	a.said(t, 10*time.Second, complaint)
	repair()
	repaired := now()
	r.ledger.await(t, 31*time.Second, "a job begun after the repair", func(es []entry) bool {
		return count(since(es, repaired), "begin") > 0
	})
	r.note("resumed_after", now()-repaired)
	jobs := r.settled(t, time.Minute)
	allDone(t, jobs)
	r.check(t, allowed{twice: 4})
}

func writeFile(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestF8MaxClients(t *testing.T) {
	row(t, "F8", rigOptions{lock: 10 * time.Second}, func(t *testing.T, r *rig) {
		r.put(t, scaled(100, 1000), work{MS: 20})
		r.start(t, "a", pool{})
		r.ledger.await(t, 20*time.Second, "20 begun jobs", begun(20))
		r.set(t, "maxclients", "1")
		if err := r.db.Do(t.Context(), "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes").Err(); err != nil {
			t.Fatal(err)
		}
		last(time.Second)
		r.set(t, "maxclients", "1000")
		r.resumed(t, now())
		jobs := r.settled(t, time.Minute)
		allDone(t, jobs)
		r.uncounted(t, jobs)
		r.check(t, allowed{})
	})
}

func TestD8RedisLoading(t *testing.T) {
	// Each command of the append-only file takes a few milliseconds to load.
	delay := strconv.Itoa(scaled(2000, 4000))
	row(t, "D8", rigOptions{lock: 30 * time.Second, redis: []string{"--key-load-delay", delay}}, func(t *testing.T, r *rig) {
		r.put(t, scaled(300, 400), work{MS: 20})
		r.start(t, "a", pool{})
		r.ledger.await(t, 20*time.Second, "60 begun jobs", begun(60))
		r.redis.Kill()
		killed := now()
		r.redis.Restart()
		loading := now() - killed
		r.note("loaded_after", loading)
		if least := float64(scaled(1, 5)); loading < least {
			t.Errorf("Redis loaded for %.1f s, want %.0f s at least: the row shows little", loading, least)
		}
		r.resumed(t, now())
		jobs := r.settled(t, time.Minute)
		allDone(t, jobs)
		r.uncounted(t, jobs)
		r.check(t, allowed{})
	})
}

func TestF2EvictionPolicy(t *testing.T) {
	row(t, "F2", rigOptions{redis: []string{"--maxmemory-policy", "allkeys-lru"}}, func(t *testing.T, r *rig) {
		a := r.start(t, "a", pool{})
		a.said(t, 10*time.Second, "maxmemory-policy", "noeviction")
	})
}

func TestF5FailoverToAReplicaBehind(t *testing.T) {
	port := redistest.Port(t)
	row(t, "F5", rigOptions{proxy: true, lock: 10 * time.Second, redis: []string{"--port", port}}, func(t *testing.T, r *rig) {
		replica := redistest.Start(t, append(redistest.AOF, "--replicaof", "127.0.0.1 "+port)...)
		copyDB := replica.Client(t)
		r.put(t, scaled(300, 1000), work{MS: 10})
		await(t, 10*time.Second, func() error {
			if info := copyDB.Info(t.Context(), "replication").Val(); !strings.Contains(info, "master_link_status:up") {
				return fmt.Errorf("the replica is not in step: %s", info)
			}
			return nil
		})
		a := r.start(t, "a", pool{})
		r.ledger.await(t, 20*time.Second, "60 begun jobs", begun(60))
		if err := copyDB.ReplicaOf(t.Context(), "127.0.0.1", "1").Err(); err != nil { // it hears no more
			t.Fatal(err)
		}
		last(500 * time.Millisecond)
		r.redis.Kill()
		if err := copyDB.ReplicaOf(t.Context(), "NO", "ONE").Err(); err != nil {
			t.Fatal(err)
		}
		r.db = copyDB
		promoted := now()
		r.proxy.Retarget("unix", replica.Addr)
		r.proxy.Cut()
		r.resumed(t, promoted)
		// What ended in the lost half second runs again: that is Redis's loss, and told here.
		jobs := r.settled(t, time.Minute)
		allDone(t, jobs)
		r.speechless = true // what was acknowledged and then forgotten has no record
		r.check(t, allowed{twice: len(jobs)})
		a.stop(t)
	})
}

func TestF6DiskFull(t *testing.T) {
	if _, err := tmpfs(t, "1m"); err != nil {
		notHere("F6", err)
		return
	}
	row(t, "F6", rigOptions{lock: 20 * time.Second, disk: "8m"}, func(t *testing.T, r *rig) {
		r.put(t, 4, work{MS: 1500})
		rest := r.put(t, 100, work{MS: 5})
		a := r.start(t, "a", pool{})
		r.ledger.await(t, 20*time.Second, "4 begun jobs", begun(4))
		ballast := filepath.Join(r.data, "ballast")
		fill(t, ballast)
		await(t, 10*time.Second, func() error { // until Redis has noticed
			if err := r.db.Set(t.Context(), "probe", strings.Repeat("x", 1<<20), 0).Err(); err == nil {
				return errors.New("Redis accepts writes on a full disk")
			}
			return nil
		})
		r.ledger.await(t, 10*time.Second, "results that wait for the disk", ended(4))
		last(time.Second)
		if _, alive := readProcess(a.pid()); !alive {
			t.Fatal("the supervisor left")
		}
		if err := os.Remove(ballast); err != nil {
			t.Fatal(err)
		}
		jobs := r.settled(t, time.Minute)
		allDone(t, jobs)
		r.uncounted(t, jobs)
		r.note("held", len(jobs)-len(rest))
		r.check(t, allowed{})
	})
}
