package integration

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// What users get wrong most: each has one clear sentence and the right exit code, or
// the service goes on. (Redis going away in the middle is row D1.)

func TestRunRefusesABadConfiguration(t *testing.T) {
	t.Parallel()
	program := oarlock(t)
	tests := []struct {
		name, config string
		words        []string // of the message
	}{
		{"broken TOML", "[pools.work\n", []string{"oarlock.toml:", "table name"}},
		{"unknown key", "[pools.work]\nqueues = ['work']\ncommand = ['true']\nchildern = 4\n", []string{"oarlock.toml:4", "childern", "children"}},
		{"missing program", "[pools.work]\nqueues = ['work']\ncommand = ['no-such-program']\n", []string{"oarlock.toml:3", "no-such-program"}},
		{"two mistakes", "[pools.work]\nqueues = []\ncommand = ['true']\ntimeout = 5\n", []string{"queues", "timeout"}},
		{"no pool", "[redis]\n", []string{"pool"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			must(t, os.WriteFile(dir+"/oarlock.toml", []byte(tt.config), 0o644))
			run := exec.Command(program, "run", "-c", "oarlock.toml", "--state-dir", dir)
			run.Dir = dir
			out, _ := run.CombinedOutput()
			if code := run.ProcessState.ExitCode(); code != 78 {
				t.Errorf("exit code %d, want 78", code)
			}
			for _, word := range tt.words {
				if !strings.Contains(string(out), word) {
					t.Errorf("it does not speak of %q:\n%s", word, out)
				}
			}
		})
	}
}

func TestRedisAwayAtStart(t *testing.T) {
	row(t, "start", rigOptions{proxy: true}, func(t *testing.T, r *rig) {
		r.put(t, 20, work{MS: 5})
		r.proxy.Refuse()
		r.proxy.Cut()
		a := r.start(t, "a", pool{})
		a.said(t, "waiting for Redis", r.proxy.Addr, "refused", "Start Redis")
		r.proxy.Accept()
		r.ledger.await(t, "a begun job", begun(1))
		r.finish(t, allowed{})
	})
}

func TestScriptThatFailsAtOnce(t *testing.T) {
	row(t, "exit 1", rigOptions{}, func(t *testing.T, r *rig) {
		jid := r.putOne(t, work{}, retries(2))
		a := r.start(t, "a", pool{mode: "once", command: []string{"/bin/sh", "-c", "echo the printer is on fire >&2; exit 1"}})
		j := r.settled(t)[0]
		if j.jid != jid || j.state != "failed" || j.group != "exit-1" || !strings.Contains(j.message, "the printer is on fire") {
			t.Errorf("the job is %s, group %q, message %q; want failed by exit-1 with what the script said", j.state, j.group, j.message)
		}
		a.said(t, jid, "attempt ended", `"attempt":3`)
		if n := a.saying(jid, "attempt ended", "exit-1"); n != 3 {
			t.Errorf("the log tells of %d attempts, want 3", n)
		}
		if popped, _ := j.settlements(); popped != 3 {
			t.Errorf("the job was popped %d times, want 3", popped)
		}
	})
}

func TestDataThatIsNoJSON(t *testing.T) {
	row(t, "no JSON", rigOptions{}, func(t *testing.T, r *rig) {
		bad := r.put(t, 1, work{})[0]
		r.put(t, 20, work{MS: 5})
		must(t, r.db.HSet(t.Context(), "ql:j:"+bad, "data", "{not json\n\"@\":").Err())
		a := r.start(t, "a", pool{})
		jobs := r.settled(t)
		if jobs[0].state != "failed" || !strings.Contains(jobs[0].message, "JSON") {
			t.Errorf("the job is %s, group %q, message %q; want failed, for its data is no JSON", jobs[0].state, jobs[0].group, jobs[0].message)
		}
		r.note("group", jobs[0].group)
		allDone(t, jobs[1:])
		a.stop(t)
	})
}
