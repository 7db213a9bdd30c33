package integration

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// under makes the next supervisors start under a shell command, which ends with exec.
func (r *rig) under(t testing.TB, script string) {
	t.Helper()
	wrapper := filepath.Join(r.dir, "under.sh")
	text := "#!/bin/sh\n" + script + "\nexec " + oarlock(t) + " \"$@\"\n"
	must(t, os.WriteFile(wrapper, []byte(text), 0o755))
	r.binary = wrapper
}

func descriptorsExhausted(t *testing.T, r *rig) {
	// The limit falls when all is at work: what is known at the start, the supervisor keeps to.
	a := r.start(t, "a", pool{children: 20, more: "max_jobs = 1"})
	a.said(t, `"msg":"ready"`)
	must(t, unix.Prlimit(a.pid(), unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 40, Max: 4096}, nil))
	r.put(t, 100, work{MS: 5})
	// A child cannot be started, or Redis not be connected to: whichever needs a descriptor first.
	await(t, func() error {
		lines, _ := a.lines()
		if log := strings.Join(lines, "\n"); !strings.Contains(log, "open files used up") && !strings.Contains(log, "too many open files") {
			return errors.New("the supervisor does not say that it is short of open files")
		}
		return nil
	})
	must(t, unix.Prlimit(a.pid(), unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 4096, Max: 4096}, nil))
	r.finish(t, allowed{})
	r.note("children", len(pidsOf(r.ledger.all(t))))
	a.stop(t)
}

func machineOverloaded(t *testing.T, r *rig) {
	r.put(t, 4, work{MS: 30_000, Beat: 500})
	a := r.begins(t, pool{}, 4)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	for range 4 * runtime.NumCPU() {
		loop := exec.CommandContext(ctx, "sh", "-c", "while :; do :; done")
		must(t, loop.Start())
		defer loop.Wait() // stop ends it
	}
	jobs := r.settled(t)
	stop()
	r.doneFree(t, jobs)
	a.neverSaid(t, "lock lost")
	r.check(t, allowed{})
}

func noCgroup(t *testing.T, r *rig) {
	r.asUser(t, stranger, "")
	r.strangersCommand(t, "worker.py") // which the other one runs
	r.put(t, 1, work{MS: 5})
	a := r.start(t, "a", pool{command: r.strangersCommand(t, "escapees.py")})
	allDone(t, r.settled(t))
	strength := a.status(t)["kill_strength"]
	r.note("strength", strength)
	if strength != "guard" {
		t.Errorf("trees are killed by %v, want guard, where no control group is ours", strength)
	}
	a.stop(t) // finds no process that escaped
	r.check(t, allowed{})
}

// tmpfs mounts a small file system until the test ends. The error says why this
// machine cannot.
func tmpfs(t testing.TB, size string) (string, error) {
	t.Helper()
	dir := got(os.MkdirTemp("", "oar"))(t)
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		os.Remove(dir)
		return "", fmt.Errorf("mount: %w", err)
	}
	t.Cleanup(func() {
		unix.Unmount(dir, unix.MNT_DETACH)
		os.Remove(dir)
	})
	return dir, nil
}

// fill writes a file until its file system is full.
func fill(t testing.TB, path string) {
	t.Helper()
	f := got(os.Create(path))(t)
	defer f.Close()
	for n := 1 << 20; n > 0; {
		if _, err := f.Write(make([]byte, n)); err != nil {
			n /= 2
		}
	}
}

// notHere prints the line of a row that this machine cannot show.
func notHere(id string, why error) { fmt.Printf("row %s not shown on this machine: %v\n", id, why) }

const noSpace = "no space left on device" // and so says a file system without inodes

// noRoom runs jobs that get a private directory on a file system that is full for a while.
func noRoom(id string, bytesToo bool) func(t *testing.T, r *rig) {
	return func(t *testing.T, r *rig) {
		dir, err := tmpfs(t, "1m,nr_inodes=200")
		if err != nil {
			notHere(id, err)
			return
		}
		r.under(t, "export TMPDIR="+dir)
		r.put(t, 4, work{MS: 5})
		config := strings.Replace(r.config(t, "a", pool{mode: "once", worker: "worker.sh"}),
			fmt.Sprintf("state_dir = %q", r.stateDir("a")), fmt.Sprintf("state_dir = %q", dir+"/state"), 1)
		a := r.startConfig(t, "a", config)
		r.settled(t)
		await(t, func() error { // or the directories of these jobs make room for others
			return filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
				if strings.HasPrefix(filepath.Base(path), "d-") || filepath.Base(filepath.Dir(path)) == "trash" {
					err = fmt.Errorf("there is still the private directory %s", path)
				}
				return err
			})
		})
		if bytesToo {
			fill(t, dir+"/ballast")
		}
		for i := 0; ; i++ {
			if os.WriteFile(fmt.Sprint(dir, "/inode", i), nil, 0o600) != nil {
				break
			}
		}
		jids := r.put(t, 10, work{MS: 5})
		last(2 * time.Second)
		begins := count(r.ledger.all(t), "begin")
		r.note("begun_without_room", begins-4)
		if begins > 4 {
			t.Errorf("%d jobs began without a directory", begins-4)
		}
		a.said(t, "could-not-start", noSpace)
		r.uncounted(t, readJobs(t, r.db, jids))
		left := got(filepath.Glob(dir + "/inode*"))(t)
		for _, path := range append(left, dir+"/ballast") {
			os.Remove(path)
		}
		r.finish(t, allowed{})
	}
}

func forkFails(t *testing.T, r *rig) {
	// The limit counts processes and threads of this one user. It falls when all has begun: what
	// is known at the start, the supervisor keeps to.
	r.asUser(t, limited, "")
	// The handlers start nothing themselves: that would fail, too, and be theirs to pay for.
	a := r.start(t, "a", pool{mode: "once", children: 12, command: r.strangersCommand(t, "worker.py")})
	a.said(t, `"msg":"ready"`)
	falls := exec.Command("setpriv", "--reuid", strconv.Itoa(limited), "--regid", strconv.Itoa(limited), "--clear-groups",
		"prlimit", "--pid", strconv.Itoa(a.pid()), "--nproc=45:45")
	ran(t, falls)
	r.put(t, 100, work{MS: 20})
	r.doneFree(t, r.settled(t))
	// A guard that is refused a thread when its child runs already takes it with it.
	died := a.saying(`"kind":"died"`)
	r.note("crashed", died, "children", len(pidsOf(r.ledger.all(t))))
	if failed := a.saying(`"kind":"could-not-start"`); failed == 0 {
		t.Error("no start failed: the row shows nothing")
	} else {
		r.note("failed_starts", failed)
	}
	r.check(t, allowed{twice: died})
}

// openTo lets another user run a supervisor on the rig.
func (r *rig) openTo(t testing.TB, name string, user int) {
	t.Helper()
	must(t, os.Mkdir(r.stateDir(name), 0o700))
	must(t, os.Chown(r.stateDir(name), user, user))
	for _, path := range []string{scratch, r.dir, r.ledger.path, filepath.Dir(r.ledger.path), filepath.Dir(filepath.Dir(r.ledger.path))} {
		must(t, os.Chmod(path, 0o777|os.ModeSticky))
	}
}
