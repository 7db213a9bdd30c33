package integration

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"oarlock/internal/redistest"
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
		if late := latest - killed; late > lock.Seconds() {
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
		for range scaled(10, 50) {
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
		r.put(t, 4, work{MS: 20_000, Beat: 20})
		r.start(t, "a", pool{})
		r.ledger.await(t, 20*time.Second, "4 begun jobs", begun(4))
		last(lock / 2)
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
		calls := r.calls(t)
		last(time.Second)
		perSecond := r.calls(t) - calls
		r.note("calls_per_s", perSecond)
		if perSecond > 60 {
			t.Errorf("%d Redis calls a second by an idle supervisor after the data was wiped", perSecond)
		}
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
		for range scaled(1, 4) {
			r.put(t, 100, work{MS: 5})
			r.start(t, "a", pool{})
			r.ledger.await(t, 20*time.Second, "some ended", ended(30))
			r.redis.Pause()
			last(5 * time.Second)
			r.redis.Resume()
			jobs := r.settled(t, time.Minute)
			allDone(t, jobs)
			r.uncounted(t, jobs)
			r.check(t, allowed{})
		}
	})
}

func TestD7BusyScript(t *testing.T) {
	row(t, "D7", rigOptions{lock: 20 * time.Second, redis: []string{"--lua-time-limit", "100"}}, func(t *testing.T, r *rig) {
		r.put(t, 300, work{MS: 20})
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
		r.put(t, 200, work{MS: 20})
		r.start(t, "a", pool{})
		r.ledger.await(t, 20*time.Second, "60 begun jobs", begun(60))
		r.redis.Kill()
		files, err := filepath.Glob(filepath.Join(filepath.Dir(r.redis.Addr), "appendonlydir", "*.incr.aof"))
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
		for _, j := range jobs {
			if len(j.places) != 1 || j.places[0] != "complete" {
				t.Errorf("I1: job %s is listed in %q", j.jid, j.places)
			}
		}
		r.note("begun_twice", begunTwice(r.ledger.all(t)))
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
		before := descriptors(a.pid())
		r.redis.Pause()
		last(5 * time.Second)
		open := descriptors(a.pid())
		r.redis.Resume()
		if open > before+20 {
			t.Errorf("%d descriptors are open while Redis is silent, %d were before", open, before)
		}
		r.note("descriptors", fmt.Sprint(before, "→", open))
		r.put(t, 40, work{MS: 5})
		r.resumed(t, now()-1)
		allDone(t, r.settled(t, 20*time.Second))
		r.check(t, allowed{})
	})
}

func TestF1OutOfMemory(t *testing.T) {
	row(t, "F1", rigOptions{lock: 10 * time.Second}, func(t *testing.T, r *rig) {
		early := r.put(t, 4, work{MS: 1500})
		r.put(t, 20, work{MS: 5})
		r.start(t, "a", pool{})
		r.ledger.await(t, 20*time.Second, "4 begun jobs", begun(4))
		r.set(t, "maxmemory", "100kb")
		if _, err := r.client.Put(t.Context(), r.describe(t, work{})); err == nil || !strings.Contains(err.Error(), "OOM") {
			t.Fatalf("a put while Redis is out of memory = %v", err)
		}
		// The results of what runs are accepted, for they free before they write.
		await(t, 8*time.Second, func() error {
			for _, j := range readJobs(t, r.db, early) {
				if j.state != "complete" {
					return fmt.Errorf("job %s is %s while Redis is out of memory", j.jid, j.state)
				}
			}
			return nil
		})
		r.set(t, "maxmemory", "0")
		jobs := r.settled(t, 30*time.Second)
		allDone(t, jobs)
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
		a.said(t, 5*time.Second, head[0], "work")
		allDone(t, r.settled(t, 20*time.Second))
		r.check(t, allowed{})
	})
}

func TestF4Demoted(t *testing.T) {
	row(t, "F4", rigOptions{lock: 10 * time.Second}, func(t *testing.T, r *rig) {
		r.put(t, 200, work{MS: 20})
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
	row(t, "F7", rigOptions{lock: 10 * time.Second}, func(t *testing.T, r *rig) {
		r.put(t, 100, work{MS: 20})
		a := r.start(t, "a", pool{})
		r.ledger.await(t, 20*time.Second, "20 begun jobs", begun(20))
		r.set(t, "requirepass", "other")
		if err := r.db.Do(t.Context(), "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes").Err(); err != nil {
			t.Fatal(err)
		}
		a.said(t, 10*time.Second, "NOAUTH")
		r.set(t, "requirepass", "")
		repaired := now()
		r.ledger.await(t, 31*time.Second, "a job begun after the repair", func(es []entry) bool {
			return count(since(es, repaired), "begin") > 0
		})
		jobs := r.settled(t, time.Minute)
		allDone(t, jobs)
		r.check(t, allowed{twice: 4})
	})
}

func TestF8MaxClients(t *testing.T) {
	row(t, "F8", rigOptions{lock: 10 * time.Second}, func(t *testing.T, r *rig) {
		r.put(t, 100, work{MS: 20})
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
		r.check(t, allowed{})
	})
}

func TestD8RedisLoading(t *testing.T) {
	// Each command of the append-only file takes a few milliseconds to load.
	row(t, "D8", rigOptions{lock: 30 * time.Second, redis: []string{"--key-load-delay", "2000"}}, func(t *testing.T, r *rig) {
		r.put(t, 300, work{MS: 20})
		r.start(t, "a", pool{})
		r.ledger.await(t, 20*time.Second, "60 begun jobs", begun(60))
		r.redis.Kill()
		killed := now()
		r.redis.Restart()
		r.note("loaded_after", now()-killed)
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
	port := freePort(t)
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
		for _, j := range jobs {
			if popped, settled := j.settlements(); settled > popped {
				t.Errorf("I3: job %s was popped %d times and settled %d times", j.jid, popped, settled)
			}
		}
		r.note("ran_again", begunTwice(r.ledger.all(t)))
		a.stop(t)
	})
}

func freePort(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
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
