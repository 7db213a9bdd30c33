package integration

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// What the supervisor says about its configuration.
const (
	saysReloaded = "reloaded"
	saysRefused  = "configuration"
)

// idle starts a supervisor whose children have all worked once, and returns their pids.
func (r *rig) idle(t testing.TB, p pool) (*supervisor, map[int]bool) {
	t.Helper()
	r.put(t, 40, work{MS: 10})
	a := r.start(t, "a", p)
	r.settled(t)
	for tries := 0; len(pidsOf(r.ledger.all(t))) < cmp.Or(p.children, 4) && tries < 10; tries++ {
		r.put(t, 40, work{MS: 10}) // one of them came too late for the others
		r.settled(t)
	}
	return a, pidsOf(r.ledger.all(t))
}

func pidsOf(entries []entry) map[int]bool {
	pids := make(map[int]bool)
	for _, e := range entries {
		pids[e.pid] = true
	}
	return pids
}

// sameChildren fails the test if a job put now is worked by a child that is not among pids.
func (r *rig) sameChildren(t testing.TB, pids map[int]bool) {
	t.Helper()
	from := now()
	r.put(t, 20, work{MS: 10})
	r.settled(t)
	for pid := range pidsOf(since(r.ledger.all(t), from)) {
		if !pids[pid] {
			t.Errorf("child %d is new: a refused configuration restarted children", pid)
		}
	}
}

func syntaxErrorOnReload(t *testing.T, r *rig) {
	a, pids := r.idle(t, pool{})
	a.write(t, r.config(t, "a", pool{})+"\n[pools.more\n")
	wrong := 2 + strings.Count(r.config(t, "a", pool{}), "\n") // its line
	a.said(t, `"level":"ERROR"`, fmt.Sprintf("%s:%d:12: ", a.config, wrong))
	r.sameChildren(t, pids)
	a.saidOnce(t, `"level":"ERROR"`)
	r.check(t, allowed{})
}

func unknownKeyOnReload(t *testing.T, r *rig) {
	a, pids := r.idle(t, pool{})
	a.write(t, r.config(t, "a", pool{more: "childern = 2\nmax_crashes = -1"}))
	a.said(t, `"level":"ERROR"`, "childern", "max_crashes")
	r.sameChildren(t, pids)
	a.saidOnce(t, `"level":"ERROR"`)
	r.check(t, allowed{})
}

// replacements are ways to replace a configuration.
var replacements = map[string]func(t *testing.T, a *supervisor, config string){
	"rename": func(t *testing.T, a *supervisor, config string) { a.write(t, config) },
	"two steps": func(t *testing.T, a *supervisor, config string) {
		f := got(os.OpenFile(a.config, os.O_WRONLY|os.O_TRUNC, 0o600))(t)
		defer f.Close()
		half := len(config) / 2
		f.WriteString(config[:half])
		last(20 * time.Millisecond)
		f.WriteString(config[half:])
	},
	"symlink": func(t *testing.T, a *supervisor, config string) {
		// As Kubernetes mounts a ConfigMap: the file is a link into a directory that is swapped.
		target := filepath.Join(filepath.Dir(a.config), "next.toml")
		must(t, os.WriteFile(target, []byte(config), 0o600))
		must(t, os.Symlink(target, a.config+".link"))
		must(t, os.Rename(a.config+".link", a.config))
	},
}

func configurationReplaced(how string) func(t *testing.T, r *rig) {
	return func(t *testing.T, r *rig) {
		a, _ := r.idle(t, pool{})
		replacements[how](t, a, r.config(t, "a", pool{more: "max_jobs = 1000"}))
		a.said(t, saysReloaded)
		r.put(t, 20, work{MS: 10})
		allDone(t, r.settled(t))
		a.saidOnce(t, saysReloaded)
		r.check(t, allowed{})
	}
}

func manyWrites(t *testing.T, r *rig) {
	a, _ := r.idle(t, pool{})
	began := now()
	for i := range 100 {
		a.write(t, r.config(t, "a", pool{more: fmt.Sprintf("max_jobs = %d", 1000+i)}))
		last(10 * time.Millisecond)
	}
	writing := now() - began // a second, where the machine has nothing else to do
	a.said(t, saysReloaded)
	r.put(t, 20, work{MS: 10})
	r.settled(t)
	reloads := a.saying(saysReloaded)
	if most := 3 * math.Ceil(writing); float64(reloads) > most {
		t.Errorf("%d reloads for 100 writes within %.1f s, want %.0f at most", reloads, writing, most)
	}
	r.note("reloads", reloads)
	r.check(t, allowed{})
}

func fileGoneForAWhile(t *testing.T, r *rig) {
	a, pids := r.idle(t, pool{})
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	dir := filepath.Dir(a.config)
	for i, away := range []struct{ lose, mend func() }{
		{func() { must(os.Remove(a.config)) }, func() {}},
		// Unreadable for root, too.
		{func() { must(os.Remove(a.config)); must(os.Mkdir(a.config, 0o700)) }, func() { must(os.Remove(a.config)) }},
		{func() { must(os.RemoveAll(dir)) }, func() { must(os.Mkdir(dir, 0o700)) }},
	} {
		away.lose()
		await(t, func() error {
			if refused := a.saying(`"level":"ERROR"`, saysRefused); refused <= i {
				return fmt.Errorf("%d losses of the configuration were told, want %d", refused, i+1)
			}
			return nil
		})
		r.sameChildren(t, pids)
		away.mend()
		a.write(t, r.config(t, "a", pool{top: fmt.Sprintf("drain_timeout = \"%ds\"", 20+i)}))
		within(t, 2*time.Second, func() error {
			if reloads := a.saying(saysReloaded); reloads != i+1 {
				return fmt.Errorf("%d reloads, want %d", reloads, i+1)
			}
			return nil
		})
	}
	r.check(t, allowed{})
}

func poolRemoved(t *testing.T, r *rig) {
	r.put(t, 4, work{MS: 1500})
	config := r.config(t, "a", pool{})
	a := r.startConfig(t, "a", config)
	r.ledger.await(t, "4 begun jobs", begun(4))
	a.write(t, strings.ReplaceAll(config, "pools.work", "pools.other")+"")
	a.said(t, saysReloaded)
	r.put(t, 20, work{MS: 10})
	r.finish(t, allowed{})
	a.stop(t)
}

func sizeChanges(t *testing.T, r *rig) {
	r.put(t, 400, work{MS: 40})
	a := r.start(t, "a", pool{children: 8})
	r.ledger.await(t, "some ended", ended(40))
	a.write(t, r.config(t, "a", pool{children: 2}))
	await(t, func() error {
		if n := len(pidsOf(since(r.ledger.all(t), now()-0.5))); n != 2 {
			return fmt.Errorf("%d children are at work, want 2", n)
		}
		return nil
	})
	a.write(t, r.config(t, "a", pool{children: 8}))
	await(t, func() error {
		entries := r.ledger.all(t)
		if len(r.jids)-count(entries, "end") < 100 {
			r.put(t, 100, work{MS: 40})
		}
		if n := len(pidsOf(since(entries, now()-0.5))); n != 8 {
			return fmt.Errorf("%d children are at work, want 8", n)
		}
		return nil
	})
	r.finish(t, allowed{})
}

func commandChanged(t *testing.T, r *rig) {
	script := filepath.Join(r.dir, "new.py")
	copyFile(t, fixture(t, "worker.py"), script)
	r.put(t, 300, work{MS: 20})
	a := r.start(t, "a", pool{})
	r.ledger.await(t, "some ended", ended(40))
	old := pidsOf(r.ledger.all(t))
	a.write(t, r.config(t, "a", pool{command: append(command(t, "worker.py")[:3:3], script)}))
	r.ledger.await(t, "only new children at work", func(es []entry) bool {
		if len(r.jids)-count(es, "end") < 50 {
			r.put(t, 100, work{MS: 20})
		}
		recent := pidsOf(since(es, now()-0.5))
		for pid := range recent {
			if old[pid] {
				return false
			}
		}
		return len(recent) > 0
	})
	r.finish(t, allowed{})
}

func reloadAndStop(t *testing.T, r *rig) {
	from, to := 0.0, 0.0 // of the slowest
	for i := range 200 {
		r.put(t, 8, work{MS: 5})
		a := r.begins(t, pool{top: `drain_timeout = "2s"`}, 8*i+1)
		a.write(t, r.config(t, "a", pool{children: 2 + i%3, top: `drain_timeout = "2s"`}))
		a.signal(t, syscall.SIGHUP)
		a.signal(t, syscall.SIGTERM)
		told := now()
		a.exit(t)
		if now()-told > to-from {
			from, to = told, now()
		}
	}
	r.bound(t, "exit_after", from, to, 3)
	r.start(t, "a", pool{})
	r.finish(t, allowed{})
}
