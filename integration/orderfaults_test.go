package integration

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"oarlock/internal/doctor"
	"oarlock/internal/faultproxy"
	"oarlock/internal/redistest"
	"oarlock/queue"
)

// keyed is job n of a key, named as inOrder wants it; now and then one takes long, and gives signs of life, wants to be tried again, or fails.
func (r *rig) keyed(t testing.TB, key, n int) queue.Put {
	t.Helper()
	w, jid := work{MS: r.random.IntN(4)}, fmt.Sprintf("%d:%d", key, n)
	verdict := ""
	switch r.random.IntN(40) {
	case 0:
		w = work{MS: 150, Beat: 20}
	case 1:
		verdict, w.Once = "retry", true
	case 2:
		verdict = "fail"
	}
	if verdict != "" {
		w.Say = map[string]any{"@": verdict, "delay": 0}
		r.verdicts[jid] = verdict
	}
	put := r.describe(t, w)
	retries(100)(&put) // whoever takes a job over has it pay one
	put.Key, put.JID = fmt.Sprintf("key %d", key), jid
	return put
}

// asTold checks that those jobs have failed that were to, and all others are complete.
func (r *rig) asTold(t testing.TB, jobs []job) {
	t.Helper()
	for _, j := range jobs {
		if want := map[bool]string{true: "failed", false: "complete"}[r.verdicts[j.jid] == "fail"]; j.state != want {
			t.Errorf("job %s is %s, and its verdict %q: it is to be %s", j.jid, j.state, r.verdicts[j.jid], want)
		}
	}
}

// retried is how many jobs were to be tried again.
func (r *rig) retried() (n int) {
	for _, verdict := range r.verdicts {
		if verdict == "retry" {
			n++
		}
	}
	return n
}

// twoStrangers work the keys beside us: a client of reqless that has our script, and whose clock is so far ahead, and one of qless whose script knows no
// keys, and whose clock is so far behind. Both have asked for work when it returns: neither leaves the other nothing because it starts sooner.
func (r *rig) twoStrangers(t testing.TB, skew time.Duration) map[string]*exec.Cmd {
	t.Helper()
	strangers := map[string]*exec.Cmd{
		"knowing": r.stranger(t, "knowing", queue.Reqless, skew, knowing, "work"),
		"keyless": r.stranger(t, "keyless", queue.Qless, -skew, keyless, "work"),
	}
	await(t, func() (err error) {
		for name := range strangers {
			err = errors.Join(err, r.db.ZScore(t.Context(), "ql:workers", name).Err())
		}
		return err
	})
	return strangers
}

// bothAtWork waits until each of the two strangers has done a job.
func (r *rig) bothAtWork(t testing.TB) {
	t.Helper()
	r.ledger.await(t, "both strangers at work", func(es []entry) bool { return doneBy(es, "knowing") > 0 && doneBy(es, "keyless") > 0 })
}

// noteStrangers ends them and notes how much they did.
func (r *rig) noteStrangers(t testing.TB, strangers map[string]*exec.Cmd) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(strangers)) {
		endNow(strangers[name])
		r.note(name, doneBy(r.ledger.all(t), name))
	}
}

// putWave puts the n-th job of each key.
func (r *rig) putWave(t testing.TB, keys, n int) {
	t.Helper()
	puts := make([]queue.Put, keys)
	for k := range puts {
		puts[k] = r.keyed(t, k, n)
	}
	r.putAll(t, puts)
}

// putSkewed puts the n-th job of each key as other clients do, by our unified script and with a clock of their own.
func (r *rig) putSkewed(t testing.TB, keys, n int, ahead time.Duration) {
	t.Helper()
	other := r.foreign(t, "other-producer")
	other.ahead = ahead
	for k := range keys {
		p := r.keyed(t, k, n)
		got(other.call(t, "put", other.worker, p.Queue, p.JID, p.Klass, string(p.Data), 0, "key", p.Key))(t)
		r.jids = append(r.jids, p.JID)
	}
}

// orderPerKeyThroughFaults works keys by two supervisors and two strangers, of whom one has our script and the other one that
// knows no keys. Replies and requests are lost all the time; Redis, supervisors, children and strangers are killed, and Redis is out of memory, in turn; meanwhile
// jobs are put, by producers whose clocks disagree.
func orderPerKeyThroughFaults(t *testing.T, r *rig) {
	keys, each, rounds := 1000, 20, 6
	r.speechless = true // strangers keep no records
	const children = 3
	p := pool{children: children, more: "max_crashes = 1000"}
	strangers := r.twoStrangers(t, 0)
	for n := range each / 2 {
		r.putWave(t, keys, n)
	}
	r.bothAtWork(t) // before our own leave them nothing
	supervisors := map[string]*supervisor{"a": r.start(t, "a", p), "b": r.start(t, "b", p)}
	r.loseReplies(0.03)
	r.proxy.Lose(0.03, "evalsha", r.random.Uint64())
	did := map[string]int{}
	faults := []struct {
		name   string
		happen func()
	}{
		{"redis", func() { r.redis.Kill(); r.redis.Restart() }},
		{"memory", func() {
			r.set(t, "maxmemory", "100kb")
			last(500 * time.Millisecond)
			r.set(t, "maxmemory", "0")
		}},
		{"child", func() {
			entries := r.ledger.all(t)
			ours := slices.DeleteFunc(slices.Clone(entries), func(e entry) bool { return slices.Contains(pids(strangers), e.pid) })
			syscall.Kill(ours[len(ours)-1].pid, syscall.SIGKILL)
		}},
		{"supervisor", func() {
			name := []string{"a", "b"}[r.random.IntN(2)]
			supervisors[name].kill(t)
			supervisors[name] = r.start(t, name, p)
		}},
		{"strangers", func() {
			for _, s := range strangers {
				endNow(s)
			}
			strangers = r.twoStrangers(t, 0)
		}},
	}
	put, all := each/2, rounds*len(faults)
	for i := range all {
		if i%len(faults) == 0 {
			r.random.Shuffle(len(faults), func(i, j int) { faults[i], faults[j] = faults[j], faults[i] })
		}
		r.ledger.await(t, "more jobs ended", ended((i+1)*keys*each/2/(all+1)))
		f := faults[i%len(faults)]
		f.happen()
		did[f.name]++
		for ; put < each/2+(i+1)*(each-each/2)/all; put++ {
			if ahead := []time.Duration{0, 2 * time.Minute, -2 * time.Minute}[put%3]; ahead == 0 {
				r.putWave(t, keys, put)
			} else {
				r.putSkewed(t, keys, put, ahead)
			}
		}
	}
	r.loseReplies(0)
	r.proxy.Lose(0, "", 0)
	r.asTold(t, r.settled(t))
	r.check(t, allowed{twice: did["supervisor"]*children + did["child"] + (did["redis"]+did["strangers"])*len(strangers) + r.retried()})
	inOrder(t, r.ledger.all(t), each, 0)
	r.nothingOfKeys(t)
	r.note("lost_replies", r.proxy.Dropped(), "lost_requests", r.proxy.Lost())
	r.noteStrangers(t, strangers)
	for _, s := range supervisors {
		s.stop(t)
	}
}

// doneBy is how many jobs a stranger has done.
func doneBy(entries []entry, name string) (n int) {
	for _, e := range entries {
		if e.what == "end" && strings.HasPrefix(e.run, name+"-") {
			n++
		}
	}
	return n
}

// orderPerKeyThroughAFailover kills a Redis whose replica is half a second behind, and goes on with that. A key goes back by
// what was forgotten, and on from there in order. What ran meanwhile may live beside what runs again, until its lock is found to be gone.
func orderPerKeyThroughAFailover(t *testing.T, r *rig) {
	keys, each := 1000, 20
	const children = 3
	replica := redistest.Start(t, append(redistest.AOF, "--replicaof", "127.0.0.1 "+r.port)...)
	copied := replica.Client(t)
	for n := range each {
		r.putWave(t, keys, n)
	}
	await(t, func() error {
		if n := copied.HLen(t.Context(), "ql:oarlock:turns:work").Val(); n != int64(keys) {
			return fmt.Errorf("the replica knows of %d keys", n)
		}
		return nil
	})
	if n := r.db.Do(t.Context(), "WAIT", 1, 20_000).Val(); n != int64(1) {
		t.Fatalf("%v replicas have all", n)
	}
	strangers := r.twoStrangers(t, 0)
	r.bothAtWork(t) // before our own leave them nothing
	a, b := r.start(t, "a", pool{children: children}), r.start(t, "b", pool{children: children})
	r.ledger.await(t, "jobs done", ended(keys*each/4))
	must(t, copied.ReplicaOf(t.Context(), "127.0.0.1", "1").Err()) // it hears no more
	behind := len(r.ledger.all(t))
	r.ledger.await(t, "jobs done that will be forgotten", func(es []entry) bool { return count(es[behind:], "end") >= keys/2 })
	r.redis.Kill()
	must(t, copied.ReplicaOf(t.Context(), "NO", "ONE").Err())
	for _, s := range strangers {
		endNow(s)
	}
	r.redis, r.db, r.client = replica, copied, r.open(t, replica.URL)
	r.proxy.Retarget("unix", replica.Addr)
	r.proxy.Cut()
	strangers = r.twoStrangers(t, 0)
	over := now() + r.lock.Seconds()
	jobs := r.settled(t)
	r.asTold(t, jobs)
	r.speechless = true // what was acknowledged and then forgotten has no record
	r.check(t, allowed{twice: len(jobs), overlap: r.lock.Seconds()})
	entries := r.ledger.all(t)
	if longest, key := overlap(byKey(entries)); longest > r.lock.Seconds() {
		t.Errorf("two jobs of key %s lived side by side for %.3f s", key, longest)
	}
	if longest, key := overlap(byKey(since(entries, over))); longest > 0 {
		t.Errorf("a lock after the failover two jobs of key %s live side by side, for %.3f s", key, longest)
	}
	odd := 0
	for key, began := range beginnings(entries) {
		if back, skipped := steps(began, each); back > 1 || skipped {
			odd++
			t.Logf("the jobs of key %s began in the order %v", key, began)
		}
	}
	if most := 2*children + len(strangers); odd > most { // a child may have been given a job that is forgotten, and write that it begins when another has gone on
		t.Errorf("%d keys are out of order, and %d jobs were on their way", odd, most)
	}
	r.nothingOfKeys(t)
	r.noteStrangers(t, strangers)
	a.stop(t)
	b.stop(t)
}

// orderPerKeyWhereClocksDisagree has Redis tell one supervisor after the other a time two minutes off. Who is ahead takes over what another
// has at work, which lives on until its holder hears of it; but each key goes on in order, and none is lost.
func orderPerKeyWhereClocksDisagree(t *testing.T, r *rig) {
	keys, each := 1000, 20
	var ahead, told atomic.Int64
	r.proxy.Intercept(func(d faultproxy.Direction, data []byte) []byte {
		m := timeReply.FindSubmatchIndex(data)
		if d != faultproxy.Replies || m == nil {
			return data
		}
		told.Add(1)
		seconds, _ := strconv.ParseInt(string(data[m[2]:m[3]]), 10, 64)
		return slices.Concat(data[:m[2]], strconv.AppendInt(nil, seconds+ahead.Load(), 10), data[m[3]:])
	})
	p := pool{children: 3}
	strangers := r.twoStrangers(t, 2*time.Minute)
	r.putWave(t, keys, 0)
	r.bothAtWork(t) // before our own leave them nothing
	supervisors := map[string]*supervisor{"a": r.start(t, "a", p)}
	put, skews := 1, []int64{120, -120, 0}
	for i, skew := range skews {
		ahead.Store(skew)
		name := []string{"b", "a"}[i%2]
		if s := supervisors[name]; s != nil {
			s.stop(t)
		}
		supervisors[name] = r.start(t, name, p)
		supervisors[name].said(t, `"msg":"ready"`)
		for ; put < (i+1)*each/len(skews); put++ {
			r.putWave(t, keys, put)
		}
		r.ledger.await(t, "that all are done", ended(len(r.jids)))
	}
	r.asTold(t, r.settled(t))
	r.check(t, allowed{twice: len(r.jids), overlap: r.lock.Seconds()})
	inOrder(t, r.ledger.all(t), each, r.lock.Seconds())
	r.nothingOfKeys(t)
	r.note("times_told", told.Load())
	r.noteStrangers(t, strangers)
	for _, s := range supervisors {
		s.stop(t)
	}
}

// timeReply is what Redis answers to TIME.
var timeReply = regexp.MustCompile(`^\*2\r\n\$10\r\n(\d{10})\r\n\$\d\r\n\d+\r\n$`)

// nothingOfKeys waits until nothing that is kept of keys is left, and then doctor is to say nothing of the jobs.
func (r *rig) nothingOfKeys(t testing.TB) {
	t.Helper()
	await(t, func() error {
		for _, kind := range []string{"turns:*", "lane:*", "lanes:*", "behind"} {
			if left := r.db.Keys(t.Context(), "ql:oarlock:"+kind).Val(); len(left) > 0 {
				return fmt.Errorf("when all are done there is still %q", left)
			}
		}
		return nil
	})
	d := &doctor.Doctor{Client: r.client, Report: func(f doctor.Finding) {
		if f.Level != doctor.OK {
			t.Errorf("doctor says %s", f.Text)
		}
	}}
	if err := d.Keys(context.Background()); err != nil {
		t.Error(err)
	}
}
