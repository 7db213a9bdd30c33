package integration

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"oarlock/queue"
)

// memoryGroup makes a control group that holds so much memory, until the test ends, and
// returns the file by which a process joins it. The error says why this machine cannot.
func memoryGroup(t testing.TB, limit int) (join string, err error) {
	t.Helper()
	groups, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(groups)) {
		number, path, _ := strings.Cut(strings.TrimSpace(line), ":")
		controller, path, _ := strings.Cut(path, ":")
		root, knob := "/sys/fs/cgroup/memory", "memory.limit_in_bytes"
		if number == "0" {
			root, knob = "/sys/fs/cgroup", "memory.max"
		} else if controller != "memory" {
			continue
		}
		group, failed := os.MkdirTemp(filepath.Join(root, path), "oarlock-test-")
		if err = failed; err != nil {
			continue
		}
		t.Cleanup(func() { removeGroup(t, group) })
		if err = os.WriteFile(filepath.Join(group, knob), fmt.Append(nil, limit), 0); err == nil {
			return filepath.Join(group, "cgroup.procs"), nil
		}
	}
	return "", fmt.Errorf("no control group that limits memory may be made: %w", err)
}

// removeGroup ends what is still in a control group of a test, and removes it when the last of that has gone.
func removeGroup(t testing.TB, group string) {
	t.Helper()
	await(t, func() error {
		left, _ := os.ReadFile(filepath.Join(group, "cgroup.procs"))
		for field := range strings.FieldsSeq(string(left)) {
			if pid, err := strconv.Atoi(field); err == nil {
				syscall.Kill(pid, syscall.SIGKILL)
			}
		}
		return os.Remove(group)
	})
}

func killedByTheKernelForMemory(t *testing.T, r *rig) {
	join, err := memoryGroup(t, 400<<20)
	if err != nil {
		notHere("B13", err)
		return
	}
	r.under(t, "echo $$ >"+join)
	n := 20
	r.put(t, n, work{MS: 20_000, Grow: 1 << 30})
	r.put(t, 20, work{MS: 5})
	a := r.start(t, "a", pool{children: 1, more: "max_crashes = 0"})
	jobs := r.settled(t)
	for _, j := range jobs[:n] {
		if j.state != "failed" || j.group != "oom" || j.remaining != j.retries || !strings.Contains(j.message, "oom_kill") && !strings.Contains(j.message, "kernel") {
			t.Errorf("the job is %s, group %q, remaining %d of %d, %q; want failed for oom, as a crash, with the kernel's proof",
				j.state, j.group, j.remaining, j.retries, j.message)
		}
	}
	allDone(t, jobs[n:])
	r.note("killed_by_the_kernel", n)
	r.check(t, allowed{})
	a.stop(t) // it is alive
}

// A fork bomb that runs as a user of its own can have no more processes than that user
// may. Meanwhile the supervisor answers, and kills it whole.
func forkBomb(t *testing.T, r *rig) {
	const most = 150
	for _, path := range []string{r.dir, filepath.Dir(filepath.Dir(r.ledger.path)), filepath.Dir(r.ledger.path)} {
		must(t, os.Chmod(path, 0o755))
	}
	must(t, os.Chmod(r.ledger.path, 0o666))
	bomb := append([]string{"prlimit", fmt.Sprint("--nproc=", most)}, r.strangersCommand(t, "forks-like-a-bomb.py")...)
	config := strings.Replace(r.config(t, "a", pool{mode: "once", children: 1, command: bomb, more: `timeout = "3s"`}),
		"[pools.work.sandbox]", fmt.Sprintf("[pools.work.sandbox]\nuser = \"%d\"\ngroup = \"%[1]d\"", bomber), 1)
	bombs := func() (n int) {
		for _, p := range marked(r.mark) {
			if p.name == filepath.Base(bomb[2]) || strings.HasPrefix(p.name, "python3") {
				n++
			}
		}
		return n
	}
	r.putOne(t, work{}, retries(0))
	a := r.startConfig(t, "a", config)
	begin := r.ledger.await(t, "the bomb", begun(1))[0]
	within(t, 3*time.Second, func() error {
		if n := bombs(); n < most/2 {
			return fmt.Errorf("%d processes of the bomb", n)
		}
		return nil
	})
	asked := now()
	a.status(t)
	answered := fairly(asked, now())
	r.note("processes", bombs(), "answered_after", answered)
	if answered > 1 {
		t.Errorf("the supervisor answered %.2f s after it was asked, want 1 s at most", answered)
	}
	jobs := r.settled(t)
	if j := jobs[0]; j.state != "failed" || j.group != "timeout" {
		t.Errorf("the job is %s, group %q; want failed, timeout", j.state, j.group)
	}
	await(t, func() error {
		if n := bombs(); n > 0 {
			return fmt.Errorf("%d processes of the bomb are left", n)
		}
		return nil
	})
	r.note("gone_after", now()-begin.at-3) // its timeout
	r.check(t, allowed{})
	a.stop(t)
}

// In a mount namespace of its own the supervisor has a file system of terminals with
// room for two.
func noTerminals(t *testing.T, r *rig) {
	const terminals = "mount -t devpts -o newinstance,ptmxmode=0666,max=2 devpts /dev/pts && mount --bind /dev/pts/ptmx /dev/ptmx"
	if out, err := exec.Command("unshare", "-m", "sh", "-c", terminals).CombinedOutput(); err != nil {
		notHere("G7", fmt.Errorf("mount: %w: %s", err, strings.TrimSpace(string(out))))
		return
	}
	r.under(t, fmt.Sprintf("exec unshare -m sh -c '%s && exec %s \"$@\"' sh \"$@\"", terminals, oarlock(t)))
	r.put(t, 100, work{MS: 20})
	a := r.start(t, "a", pool{more: "pty = true"})
	jobs := r.settled(t)
	r.doneFree(t, jobs)
	if n := len(pidsOf(r.ledger.all(t))); n != 2 {
		t.Errorf("%d children worked the jobs, want one for each of 2 terminals", n)
	}
	a.said(t, `"level":"ERROR"`, "pseudo-terminals used up")
	a.stop(t)
	r.check(t, allowed{})
}

// plainBinary is the program as it is released: the race detector's memory, and that of the C library, are not its own.
var plainBinary = sync.OnceValues(func() (string, error) {
	if !raced() {
		return binary()
	}
	path := filepath.Join(scratch, "plain")
	return path, build(path)
})

// What a supervisor holds depends on what its children can take, not on what waits.
func littleMemory(t *testing.T, r *rig) {
	plain := got(plainBinary())(t)
	r.binary = plain
	config := pool{more: "prefetch = 16"}
	a, _ := r.idle(t, config)
	idle := anonymous(a.pid())
	a.stop(t)

	limit := idle + 16<<20 // for some copies of 4 × 17 jobs of 32 KiB
	r.under(t, fmt.Sprint("export GOMEMLIMIT=", limit))
	text := strings.Replace(read(t, filepath.Join(r.dir, "under.sh")), oarlock(t), plain, 1)
	must(t, os.WriteFile(r.binary, []byte(text), 0o755))
	n := 10_000
	puts := make([]queue.Put, n)
	fill := strings.Repeat("x", 32<<10)
	for i := range puts {
		puts[i] = queue.Put{Queue: "work", Klass: "Work", Data: fmt.Appendf(nil, `{"fill":%q}`, fill)}
	}
	r.putAll(t, puts)
	a = r.start(t, "a", config)
	most, held := int64(0), 0
	within(t, 5*time.Minute, func() error {
		most = max(most, anonymous(a.pid()))
		running, err := r.db.ZCard(t.Context(), "ql:q:work-locks").Result()
		held = max(held, int(running))
		if left := r.unsettled(t); err == nil && left > 0 {
			err = fmt.Errorf("%d jobs are not settled", left)
		}
		return err
	})
	r.note("idle_mib", float64(idle)/(1<<20), "limit_mib", float64(limit)/(1<<20), "most_mib", float64(most)/(1<<20), "most_held", held)
	if most > limit+limit/10 {
		t.Errorf("the supervisor needed %d KiB, want %d at most", most>>10, (limit+limit/10)>>10)
	}
	if held > 4*17 {
		t.Errorf("%d jobs were held, want what 4 children can take", held)
	}
	jobs := readJobs(t, r.db, r.jids)
	r.doneFree(t, jobs)
	r.check(t, allowed{})
}

// anonymous returns the memory of a process that is no file's, in bytes.
func anonymous(pid int) int64 {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for line := range strings.Lines(string(status)) {
		if text, ok := strings.CutPrefix(line, "RssAnon:"); ok {
			kib, _ := strconv.ParseInt(strings.Fields(text)[0], 10, 64)
			return kib << 10
		}
	}
	return 0
}
