package accord

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"oarlock/internal/must"
	"oarlock/internal/rules"
	"oarlock/queue"
)

// fake is a Redis with rules.
type fake struct {
	mu        sync.Mutex
	rules     queue.Rules
	installed int
	needed    float64             // since when
	damaged   []queue.RulesDamage // until they are installed
	before    func(f *fake)       // done once, when somebody installs; somebody else is quicker
	away      error
}

func (f *fake) Now() float64 { return float64(time.Now().UnixMilli()) / 1e3 }

func (f *fake) Rules(context.Context) (queue.Rules, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.rules, f.away
}

func (f *fake) NeedRules(context.Context) (float64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.needed = cmp.Or(f.needed, f.Now())
	return f.needed, nil
}

func (f *fake) DamagedRules(context.Context, string) ([]queue.RulesDamage, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.damaged, nil
}

func (f *fake) InstallRules(_ context.Context, version string, r queue.NewRules) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.before != nil {
		f.before(f)
		f.before = nil
	}
	if version != f.rules.Version {
		return "", queue.ErrRulesChanged
	}
	f.installed++
	f.damaged = nil
	f.rules = queue.Rules{Version: fmt.Sprint(f.installed, "@1"), Doc: r.Doc}
	return f.rules.Version, nil
}

// limits is a file with throttles of these limits.
func limits(owner string, limits map[string]int) rules.File {
	s := rules.Set{Throttles: map[string]rules.Throttle{}}
	for name, limit := range limits {
		t := rules.DefaultThrottle()
		t.Limit = limit
		s.Throttles[name] = t
	}
	return rules.File{Owner: owner, Set: s}
}

// has tells what Redis has.
func (f *fake) has(t *testing.T) map[string]int {
	t.Helper()
	_, doc, err := Read(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	set := must.Get(doc.Set())(t)
	out := map[string]int{}
	for name, throttle := range set.Throttles {
		out[name] = throttle.Limit
	}
	return out
}

func agree(file rules.File) Change {
	return func(d rules.Document) (rules.Document, []rules.Conflict) { return d.Agree(file, false) }
}

// Whoever is slower looks again, and both count.
func TestTwoChangeAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{}
		f.before = func(f *fake) {
			other, _ := rules.Document{}.Agree(limits("b", map[string]int{"y": 2}), false)
			f.rules = queue.Rules{Version: "of b", Doc: other.Text()}
		}
		began := time.Now()
		r, err := Apply(t.Context(), f, agree(limits("a", map[string]int{"x": 1})))
		if err != nil || !r.Installed {
			t.Fatalf("%+v, %v", r, err)
		}
		if has := f.has(t); len(has) != 2 || has["x"] != 1 || has["y"] != 2 {
			t.Errorf("Redis has %v", has)
		}
		if waited := time.Since(began); waited != Needed {
			t.Errorf("those who know no rules had %v to hear of them", waited)
		}
		if r, err := Apply(t.Context(), f, agree(limits("a", map[string]int{"x": 1}))); err != nil || r.Installed || f.installed != 1 {
			t.Errorf("what changes nothing is installed: %+v, %v", r, err)
		}
		f.damaged = []queue.RulesDamage{{Throttle: "x"}}
		if r, err := Apply(t.Context(), f, agree(limits("a", map[string]int{"x": 1}))); err != nil || !r.Installed || f.installed != 2 {
			t.Errorf("what is damaged is not written anew: %+v, %v", r, err)
		}
	})
}

func TestSomebodyIsAlwaysQuicker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{}
		var quicker func(f *fake)
		n := 0
		quicker = func(f *fake) {
			n++
			f.rules.Version += "x"
			f.before = nil
		}
		busy := &always{f, quicker}
		if _, err := Apply(t.Context(), busy, agree(limits("a", map[string]int{"x": 1}))); !errors.Is(err, queue.ErrRulesChanged) || n != tries {
			t.Errorf("after %d tries: %v", n, err)
		}
	})
}

// From the moment at which a file says something until it counts, or cannot, nothing is taken: at the first start, where all
// others have to hear of rules first, and when the file has changed. A file that says nothing holds nothing up.
func TestNothingIsTakenBeforeTheRulesCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{}
		ctx, stop := context.WithCancel(t.Context())
		var wait sync.WaitGroup
		var mu sync.Mutex
		held, has := false, 0
		k := NewKeeper(f, func(context.Context) {}, func(hold bool) {
			mu.Lock()
			defer mu.Unlock()
			if held && !hold {
				f.mu.Lock()
				has = f.installed
				f.mu.Unlock()
			}
			held = hold
		}, slog.New(slog.DiscardHandler))
		is := func(when string, want bool, installed int) {
			t.Helper()
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			if held != want || has != installed {
				t.Errorf("%s: held %v, want %v; %d installations when it was let go, want %d", when, held, want, has, installed)
			}
		}
		k.Set(rules.File{Owner: "a"})
		wait.Go(func() { _ = k.Run(ctx) })
		is("no rules", false, 0)
		time.Sleep(time.Minute)
		k.Set(limits("a", map[string]int{"x": 1}))
		is("the first rules", true, 0)
		time.Sleep(Needed + time.Second)
		is("they count", false, 1)
		k.Set(limits("a", map[string]int{"x": 2}))
		is("a change, of which nobody needs to hear before", false, 2)
		k.Expect(limits("a", map[string]int{"x": 3}))
		is("a file is to come", true, 2)
		time.Sleep(time.Minute)
		is("it has not come, though Redis was looked at", true, 2)
		k.Set(limits("a", map[string]int{"x": 3}))
		is("it came", false, 3)
		f.mu.Lock()
		f.rules.Doc, f.rules.Version = "{", "damaged"
		f.mu.Unlock()
		k.Set(limits("a", map[string]int{"x": 4}))
		is("it cannot count", false, 3)
		stop()
		wait.Wait()
	})
}

// always is a Redis in which somebody is quicker whenever rules are installed.
type always struct {
	*fake
	quicker func(*fake)
}

func (a *always) InstallRules(ctx context.Context, version string, r queue.NewRules) (string, error) {
	a.before = a.quicker
	return a.fake.InstallRules(ctx, version, r)
}

// Two supervisors whose files differ never take turns, and one that is started again says what its file says.
func TestKeepersOfTwoFiles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{}
		ctx, stop := context.WithCancel(t.Context())
		var wait sync.WaitGroup
		told := map[string][][2]int{} // by whose file
		keep := func(file rules.File) *Keeper {
			k := NewKeeper(f, func(context.Context) {}, func(bool) {}, slog.New(slog.DiscardHandler))
			k.Tell(func(before, now int) {
				f.mu.Lock()
				defer f.mu.Unlock()
				told[file.Owner] = append(told[file.Owner], [2]int{before, now})
			})
			k.Set(file)
			wait.Go(func() { _ = k.Run(ctx) })
			time.Sleep(10 * time.Second)
			return k
		}
		a := keep(limits("a", map[string]int{"x": 1, "y": 1}))
		b := keep(limits("b", map[string]int{"x": 2, "z": 3}))
		time.Sleep(time.Hour)
		if has := f.has(t); has["x"] != 1 || has["y"] != 1 || has["z"] != 3 || f.installed != 2 {
			t.Errorf("Redis has %v after %d installations", has, f.installed)
		}
		if s := b.State(); len(s.Conflicts) != 1 || s.Conflicts[0].Entry != "throttles.x" || len(a.State().Conflicts) != 0 {
			t.Errorf("of b: %+v; of a: %+v", s, a.State())
		}
		if _, conflicts := b.Counts(); conflicts != 1 {
			t.Errorf("b counts %d conflicts", conflicts)
		}
		a.Set(limits("a", map[string]int{"x": 2})) // somebody edits a's file, and y goes
		time.Sleep(time.Minute)
		if has := f.has(t); has["x"] != 2 || len(has) != 2 || len(b.State().Conflicts) != 0 {
			t.Errorf("Redis has %v, b's conflicts are %v", has, b.State().Conflicts)
		}
		f.mu.Lock()
		if !slices.Equal(told["a"], [][2]int{{1, 2}, {2, 3}}) || !slices.Equal(told["b"], [][2]int{{2, 3}}) {
			t.Errorf("the keepers tell of these changes: %v", told)
		}
		f.rules = queue.Rules{} // Redis loses its keys
		f.mu.Unlock()
		time.Sleep(time.Minute)
		if has := f.has(t); has["x"] != 2 || has["z"] != 3 {
			t.Errorf("what was lost is not back: %v", has)
		}
		f.mu.Lock()
		f.rules.Doc, f.rules.Version = "{", "damaged"
		f.mu.Unlock()
		time.Sleep(time.Minute)
		if s := a.State(); !strings.Contains(s.Trouble, "cannot be read") {
			t.Errorf("of what cannot be read: %+v", s)
		}
		f.mu.Lock()
		f.rules.Doc, f.rules.Version = `{"entries":{"throttles.odd":{"owner":"c","revision":1,"rule":{"limit":"many"}}}}`, "odd"
		f.mu.Unlock()
		time.Sleep(time.Minute)
		if s := a.State(); !strings.Contains(s.Trouble, "oarlock rules rm throttles.odd") {
			t.Errorf("of a rule that cannot be read: %+v", s)
		}
		stop()
		wait.Wait()
	})
}

// Whoever comes second, while the first waits for those who know no rules, waits with it, for what is left of that.
func TestTheFirstRulesAreWaitedForByAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, began := &fake{}, time.Now()
		f.needed = f.Now()
		time.Sleep(time.Second)
		if r, err := Apply(t.Context(), f, agree(limits("b", map[string]int{"y": 2}))); err != nil || !r.Installed || time.Since(began) != Needed {
			t.Errorf("%+v, %v, after %v", r, err, time.Since(began))
		}
	})
}

// A file that says something else than another is logged once, and again when it was changed.
func TestAConflictIsLoggedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{}
		must.Get(Apply(t.Context(), f, agree(limits("b", map[string]int{"x": 2}))))(t)
		var log strings.Builder
		k := NewKeeper(f, func(context.Context) {}, func(bool) {}, slog.New(slog.NewTextHandler(&log, nil)))
		ctx, stop := context.WithCancel(t.Context())
		k.Set(limits("a", map[string]int{"x": 1}))
		var wait sync.WaitGroup
		wait.Go(func() { _ = k.Run(ctx) })
		for changes := 1; changes < 3; changes++ {
			time.Sleep(time.Minute)
			synctest.Wait()
			if n := strings.Count(log.String(), "differs from"); n != changes {
				t.Errorf("it is logged %d times, after %d files:\n%s", n, changes, log.String())
			}
			k.Set(limits("a", map[string]int{"x": 1}))
		}
		stop()
		wait.Wait()
	})
}
