package integration

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"oarlock/queue"
)

// Most rows of the security matrix are shown by the tests of package runner. These
// need Redis, the program's own log, or its control socket.

// hostileJobs puts jobs whose every field tries to reach beyond itself: S2, S3,
// S4, S5, S6, S22 and S23 as far as one sees them from outside.
func hostileJobs(t *testing.T, r *rig) {
	canary := filepath.Join(r.dir, "canary")
	payload, err := json.Marshal(map[string]string{
		"$(touch " + canary + ")": "`touch " + canary + "`; touch " + canary + " #",
		"LD_PRELOAD":              "/canary.so",
	})
	if err != nil {
		t.Fatal(err)
	}
	hostile := []queue.Put{
		{Queue: "work", Klass: "$(touch " + canary + ")", Data: payload},
		{Queue: "work", JID: "../../../escape", Klass: "../up", Data: payload},
		{Queue: "work", JID: "two\nlines\x1b[31m", Klass: "{\"@\":\"fail\"}\n", Data: payload},
		{Queue: "work", JID: "no nul inside", Klass: "nul\x00inside", Data: payload},
		{Queue: "work", JID: strings.Repeat("j", 512), Klass: strings.Repeat("k", 1024), Data: payload},
	}
	r.putAll(t, hostile)
	a := r.start(t, "a", pool{mode: "once", worker: "tells-about-itself.sh", children: 1})
	jobs := r.settled(t)
	r.doneFree(t, jobs)
	if _, err := os.Lstat(canary); err == nil {
		t.Error("S2: a payload was run by a shell")
	}
	kept := filepath.Dir(r.ledger.path)
	for _, e := range r.ledger.all(t) {
		if e.what != "end" {
			continue
		}
		for _, of := range []string{"argv", "env"} {
			text := read(t, filepath.Join(kept, e.run+"."+of))
			if strings.Contains(text, "canary.so") || strings.Contains(text, "LD_PRELOAD") {
				t.Errorf("S3, S6: the payload shows in %s:\n%s", of, text)
			}
			for _, line := range strings.Split(text, "\n") {
				if strings.HasPrefix(line, "OARLOCK_") && len(line) > 1100 {
					t.Errorf("S3: %d bytes in %.40s…", len(line), line)
				}
			}
		}
		if stdin := read(t, filepath.Join(kept, e.run+".stdin")); !strings.Contains(stdin, string(payload)) {
			t.Errorf("the payload did not come through stdin: %.200s", stdin)
		}
		status := read(t, filepath.Join(kept, e.run+".status"))
		if !strings.Contains(status, "NoNewPrivs:\t1") {
			t.Error("S22: the child may gain privileges")
		}
	}
	// Nothing was made outside of what is ours: the rig's directory has no other files.
	entries := got(os.ReadDir(r.dir))(t)
	for _, entry := range entries {
		if name := entry.Name(); !strings.HasPrefix(name, "a") {
			t.Errorf("S4: %s appeared", name)
		}
	}
	a.stop(t)
	lines, _ := a.lines()
	for _, line := range lines {
		if !json.Valid([]byte(line)) {
			t.Errorf("S5: a line of the log is no record: %q", line)
		}
	}
	r.note("jobs", len(jobs))
}

func read(t testing.TB, path string) string {
	t.Helper()
	text := got(os.ReadFile(path))(t)
	return string(text)
}

func foreignQueues(t *testing.T, r *rig) {
	r.put(t, 1, work{Say: map[string]any{"@": "ack", "next": "foreign"}})
	r.put(t, 1, work{Say: map[string]any{"@": "ack", "next": "allowed"}})
	r.start(t, "a", pool{more: `next_queues = ["allowed"]`})
	await(t, func() error {
		if by := inState(readJobs(t, r.db, r.jids)); by["waiting"] == 2 || by["running"] > 0 {
			return errors.New("not both jobs are settled")
		}
		return nil
	})
	jobs := r.check(t, allowed{})
	if jobs[0].state != "failed" || jobs[1].queue != "allowed" || jobs[1].state != "waiting" {
		t.Errorf("the jobs are %s in %q and %s in %q; want one failed, and one waiting in the allowed queue",
			jobs[0].state, jobs[0].queue, jobs[1].state, jobs[1].queue)
	}
	r.note("refused_as", jobs[0].group)
}

func controlSocket(t *testing.T, r *rig) {
	a, _ := r.idle(t, pool{})
	sockets := 0
	err := filepath.WalkDir(r.stateDir("a"), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.Type() != os.ModeSocket {
			return err
		}
		sockets++
		info, err := d.Info()
		if err == nil && info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v, want 0600", path, info.Mode())
		}
		return err
	})
	if err != nil || sockets != 1 {
		t.Errorf("%d control sockets in the state directory, %v; want 1", sockets, err)
	}
	a.status(t) // it answers its owner
}

// A service has a user of its own, and whoever looks after it is root; others are told whom
// to ask.
func rootAsksTheSupervisorOfAnotherUser(t *testing.T, r *rig) {
	r.asUser(t, stranger, "")
	r.put(t, 1, work{MS: 5})
	a := r.start(t, "a", pool{command: r.strangersCommand(t, "worker.py")})
	allDone(t, r.settled(t))
	ask := exec.Command(oarlock(t), "status", "-c", a.config)
	ran(t, ask)
	ask = exec.Command(oarlock(t), "status", "-c", a.config)
	ask.Dir = "/"
	ask.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: bomber, Gid: bomber}}
	out, err := ask.CombinedOutput()
	if err == nil || !strings.Contains(string(out), fmt.Sprintf("is that of user %d: ask as that user, or as root", stranger)) {
		t.Errorf("another user asks for the status: %v\n%s", err, out)
	}
	a.stop(t)
	r.check(t, allowed{})
}

// A configuration that anybody could have written is not reloaded, whatever it says.
func foreignHandsOnTheConfiguration(t *testing.T, r *rig) {
	a, _ := r.idle(t, pool{})
	evil := r.config(t, "a", pool{command: []string{"/bin/sh", "-c", "exec touch " + filepath.Join(r.dir, "canary")}})
	must(t, os.WriteFile(a.config, []byte(evil), 0o644))
	must(t, os.Chmod(a.config, 0o666)) // past our umask
	a.said(t, "not reloaded", "can be written by anybody")
	out, err := exec.Command(oarlock(t), "reload", "-c", a.config).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "can be written by anybody") {
		t.Errorf("oarlock reload: %v\n%s", err, out)
	}
	r.put(t, 4, work{MS: 5})
	allDone(t, r.settled(t)) // by the old children
	if _, err := os.Lstat(filepath.Join(r.dir, "canary")); err == nil {
		t.Error("the foreign command was run")
	}
	must(t, os.Chmod(a.config, 0o644))
	a.write(t, r.config(t, "a", pool{children: 2}))
	a.said(t, `"msg":"reloaded"`)
	r.check(t, allowed{})
}

func runningAsRoot(t *testing.T, r *rig) {
	a := r.start(t, "a", pool{})
	a.said(t, `"level":"WARN"`, "root", "user")
}

func secretsStayOut(t *testing.T, r *rig) {
	r.put(t, 20, work{MS: 5})
	r.put(t, 1, work{End: 65})
	a := r.begins(t, pool{}, 10)
	r.redis.Kill() // errors of the connection name addresses
	last(300 * time.Millisecond)
	r.redis.Restart()
	r.settled(t)
	a.status(t)
	a.stop(t)
	if text := a.text(); strings.Contains(text, password) {
		t.Errorf("the log holds the password:\n%s", text)
	}
	for _, jid := range r.jids {
		for name, value := range r.db.HGetAll(t.Context(), "ql:j:"+jid).Val() {
			if strings.Contains(value, password) {
				t.Errorf("job %s holds the password in %s", jid, name)
			}
		}
	}
}
