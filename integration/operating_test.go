package integration

import (
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"oarlock/internal/redistest"
	"oarlock/queue"
)

// What docs/operating.md tells operators to do, done while jobs run.

// TestAnUpgradeBesideTheOld starts the binary of another path beside the one that works,
// drains the old one, and goes back the same way: no job is lost, none runs twice or pays
// a retry, and at no time does nobody work.
func TestAnUpgradeBesideTheOld(t *testing.T) {
	long(t, "900 jobs in three lives")
	row(t, "upgrade", rigOptions{}, func(t *testing.T, r *rig) {
		n := 9000
		r.put(t, n, work{MS: 20})
		before := r.start(t, "before", pool{})
		r.ledger.await(t, "a fifth of the jobs ended", ended(n/5))

		released := r.binary
		r.binary = copyOf(t, released, filepath.Join(r.dir, "oarlock-new"))
		after := r.start(t, "after", pool{})
		after.said(t, `"msg":"ready"`)
		before.control(t, "drain")
		if code := before.exit(t); code != 0 {
			t.Errorf("the old supervisor ended with exit code %d after `drain`", code)
		}
		done := count(r.ledger.all(t), "end")
		r.ledger.await(t, "a fifth of the jobs ended in the new one", ended(done+n/5))

		r.binary = released
		again := r.start(t, "before", pool{}) // back, in the state directory it had
		again.said(t, `"msg":"ready"`)
		after.control(t, "drain")
		if code := after.exit(t); code != 0 {
			t.Errorf("the new supervisor ended with exit code %d after `drain`", code)
		}
		r.finish(t, allowed{})
		again.stop(t)
	})
}

// TestABackupIsPutBack copies Redis' data while jobs run, loses the server, and starts
// another one from the copy: what was complete in the copy stays so, what ended after it
// runs again, no job is missing. A copy made after a drain has no such jobs.
func TestABackupIsPutBack(t *testing.T) {
	long(t, "two restores of 300 jobs")
	for name, drained := range map[string]bool{"restore": false, "move": true} {
		t.Run(name, func(t *testing.T) {
			row(t, name, rigOptions{redis: []string{"--repl-diskless-sync-delay", "0"}}, func(t *testing.T, r *rig) {
				n := 3000
				r.put(t, n, work{MS: 20})
				a := r.start(t, "a", pool{})
				r.ledger.await(t, "a third of the jobs ended", ended(n/3))
				if drained {
					a.control(t, "drain")
					a.exit(t)
				}
				dump := filepath.Join(r.dir, "backup.rdb")
				ran(t, exec.Command("redis-cli", "-s", r.redis.Addr, "--rdb", dump))
				if !drained {
					r.ledger.await(t, "half of the jobs ended", ended(n/2))
					a.stop(t)
				}
				r.redis.Kill()
				r.startFrom(t, dump)

				b := r.start(t, "a", pool{})
				b.said(t, `"msg":"ready"`)
				jobs := r.settled(t)
				allDone(t, jobs)
				if drained {
					r.uncounted(t, jobs)
					r.check(t, allowed{})
				} else {
					// What ran in the copy is there under a lock that nobody renews.
					if paid := r.payers(t, jobs); len(paid) > 4 {
						t.Errorf("%d jobs paid a retry, want those four at most that ran in the copy", len(paid))
					}
					r.speechless = true // what ended after the copy has no trace in it
					r.check(t, allowed{twice: n/2 + 50})
				}
				b.stop(t)
				ran(t, exec.Command(r.binary, "doctor", "-c", b.config, "--fix", "--dry-run"))
			})
		})
	}
}

// startFrom starts another Redis from a dump and lets the rig use that from now on.
func (r *rig) startFrom(t testing.TB, dump string) {
	t.Helper()
	r.redis = redistest.Start(t, "--appendonly", "no", "--dir", filepath.Dir(dump), "--dbfilename", filepath.Base(dump))
	r.url, r.db = r.redis.URL, r.redis.Client(t)
	must(t, r.db.ConfigSet(t.Context(), "appendonly", "yes").Err())
	r.client.Close()
	client := got(queue.Open(t.Context(), queue.Options{URL: r.url, ReadTimeout: 30 * time.Second}))(t)
	r.client = client
}

// copyOf copies a program and returns the path of the copy.
func copyOf(t testing.TB, program, path string) string {
	t.Helper()
	must(t, exec.Command("cp", program, path).Run()) // a child that we start meanwhile would keep our file open for writing
	return path
}
