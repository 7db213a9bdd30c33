package supervisor

import (
	"reflect"
	"testing"
	"time"

	"oarlock/runner"
)

// What a reload takes out of the configuration finishes its jobs, however long they take.
func TestWhatLeavesFinishesItsJobs(t *testing.T) {
	for name, change := range map[string]func(*Pool){
		"renamed":      func(p *Pool) { p.Name = "p2" },
		"another mode": func(p *Pool) { p.Child.Mode = runner.Once },
	} {
		runFaked(t, name, func(t *testing.T, w *fakeWorld) {
			w.cfg.DrainTimeout = time.Second
			w.host.work = lasting(time.Hour)
			w.runFor(time.Second, 1)
			next := w.cfg
			next.Pools = []Pool{w.cfg.Pools[0]}
			change(&next.Pools[0])
			done, err := w.s.Reload(next)
			must(t, err)
			want := Changes{Leaving: []Leaving{{Pool: "p", Replaced: true, Jobs: 1}}}
			if name == "renamed" {
				want = Changes{Added: []string{"p2"}, Leaving: []Leaving{{Pool: "p", Jobs: 1}}}
			}
			if !reflect.DeepEqual(done, want) {
				t.Errorf("the reload did %+v, want %+v", done, want)
			}
			time.Sleep(30 * time.Minute)
			if n := len(w.s.Snapshot().Pools); n != 2 {
				t.Errorf("%d pools in the middle of the job, want the old one and the new", n)
			}
			w.after(31*time.Minute, "complete", 1)
			same(t, w.host.begun("j0"), 1, "the job was begun %d times")
			if n := len(w.s.Snapshot().Pools); n != 1 {
				t.Errorf("%d pools when the job is over, want the new one", n)
			}
		})
	}
}

// A limit that comes later holds for what leaves, too.
func TestAStopEndsWhatLeaves(t *testing.T) {
	faked(t, func(t *testing.T, w *fakeWorld) {
		w.cfg.DrainTimeout = time.Second
		w.host.work = lasting(time.Hour)
		w.runFor(time.Second, 1)
		must(t, errOf(w.s.Reload(Config{DrainTimeout: time.Second})))
		w.after(time.Minute, "running", 1)
		w.s.Stop()
		w.wait()
		w.want("waiting", 1)
	})
}

// A reload tells the pools that it changed from those that it did not, and knows whose
// children are replaced.
func TestAReloadTellsWhatItDid(t *testing.T) {
	faked(t, func(t *testing.T, w *fakeWorld) {
		pool := func(name string) Pool {
			p := w.cfg.Pools[0]
			p.Name = name
			return p
		}
		w.cfg.Pools = []Pool{pool("same"), pool("wider"), pool("newer"), pool("gone")}
		w.runFor(time.Second, 0)
		next := w.cfg
		next.Pools = []Pool{pool("newer"), pool("wider"), pool("same"), pool("added")}
		next.Pools[0].Child.Command = []string{"other"}
		next.Pools[1].Children++
		want := Changes{
			Added: []string{"added"}, Changed: []string{"newer", "wider"}, Rolling: []string{"newer"},
			Leaving: []Leaving{{Pool: "gone"}},
		}
		if done, err := w.s.Reload(next); err != nil || !reflect.DeepEqual(done, want) {
			t.Errorf("the reload did %+v, %v; want %+v", done, err, want)
		}
		if done, err := w.s.Reload(next); err != nil || !reflect.DeepEqual(done, Changes{}) {
			t.Errorf("the same again did %+v, %v", done, err)
		}
	})
}
