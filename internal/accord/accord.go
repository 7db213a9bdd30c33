// Package accord makes the rules of files and those in Redis agree: what somebody changes is checked, compiled and
// installed over the version that was seen, or seen again. It owns nothing that lasts. It must not know pools, nor how
// what it tells is shown.
package accord

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"oarlock/internal/rules"
	"oarlock/internal/window"
	"oarlock/queue"
)

// Store is what is asked of a queue.Client, whose comments are its contract.
type Store interface {
	Rules(context.Context) (queue.Rules, error)
	InstallRules(ctx context.Context, version string, r queue.NewRules) (string, error)
	NeedRules(context.Context) (since float64, err error)
	DamagedRules(ctx context.Context, queue string) ([]queue.RulesDamage, error)
	Now() float64
}

// Change makes another document of one, and tells what of it could not be done.
type Change func(rules.Document) (rules.Document, []rules.Conflict)

// Result is what became of a change.
type Result struct {
	Version       string // of the rules that count now
	Installed     bool   // they are other ones than before
	Before, After rules.Document
	Conflicts     []rules.Conflict
}

// Needed is how long all who work a key space have to learn that there are rules, before the first are installed: two
// of their looks at most.
const Needed = 2 * time.Second

// tries is how often others may be quicker.
const tries = 10

// Apply makes a change. Nothing is written where nothing changes, unless what was compiled of the rules is damaged. The error is a *queue.PolarityError if queues have jobs that
// they must not have, and a sentence if the document cannot be read.
func Apply(ctx context.Context, s Store, change Change) (Result, error) {
	for range tries {
		r, err := try(ctx, s, change)
		if !errors.Is(err, queue.ErrRulesChanged) {
			return r, err
		}
	}
	return Result{}, fmt.Errorf("%w, %d times; try again", queue.ErrRulesChanged, tries)
}

func try(ctx context.Context, s Store, change Change) (Result, error) {
	there, before, err := Read(ctx, s)
	if err != nil {
		return Result{}, err
	}
	r := Result{Version: there.Version, Before: before}
	if r.After, r.Conflicts = change(before); r.After.Equal(before) {
		if damaged, err := s.DamagedRules(ctx, ""); err != nil || len(damaged) == 0 {
			return r, err
		}
	}
	set, err := r.After.Set()
	if err != nil {
		return r, err
	}
	if there.Version == "" {
		if err := announce(ctx, s); err != nil {
			return r, err
		}
	}
	r.Version, err = s.InstallRules(ctx, there.Version, New(r.After, set, s.Now()))
	r.Installed = err == nil
	return r, err
}

// announce lets whoever works the key space, and knows no rules, hear of them before there are any, whoever said first that there will be.
func announce(ctx context.Context, s Store) error {
	since, err := s.NeedRules(ctx)
	left := Left(since, s.Now())
	if err != nil || left <= 0 {
		return err
	}
	wait := time.NewTimer(left)
	defer wait.Stop()
	select {
	case <-wait.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Left is how much of Needed is left at a time, where it is said since another that there will be rules.
func Left(since, now float64) time.Duration {
	return Needed - time.Duration(max(0, now-since)*float64(time.Second))
}

// Read reads the rules that count.
func Read(ctx context.Context, s Store) (queue.Rules, rules.Document, error) {
	there, err := s.Rules(ctx)
	if err != nil {
		return there, rules.Document{}, err
	}
	doc, err := rules.ParseDocument(there.Doc)
	return there, doc, err
}

// ReadSet reads what the rules that count say, and the document that says it.
func ReadSet(ctx context.Context, s Store) (rules.Set, rules.Document, error) {
	_, doc, err := Read(ctx, s)
	if err != nil {
		return rules.Set{}, doc, err
	}
	set, err := doc.Set()
	return set, doc, err
}

// New is what Redis is told of a document, which says set, at a time of Redis in seconds since the epoch.
func New(doc rules.Document, set rules.Set, now float64) queue.NewRules {
	compiled := rules.Compile(set)
	out := queue.NewRules{Doc: doc.Text(), LowFirst: compiled.LowFirst, Windows: map[string]string{}, Named: map[string]string{}}
	if compiled.Puts != nil {
		out.Puts = text(compiled.Puts)
	}
	for _, w := range set.Windows {
		if open, err := window.Parse(w.Spec()); err == nil {
			out.Windows[w.Spec().Text()] = open.Table(time.Unix(int64(now), 0))
		}
	}
	for name, w := range compiled.Windows {
		out.Named[name] = text(w)
	}
	for _, name := range slices.Sorted(maps.Keys(compiled.Queues)) {
		q := compiled.Queues[name]
		out.Queues = append(out.Queues, queue.RuledQueue{Queue: name, Rules: text(q), Limit: q.Limit})
	}
	for _, name := range slices.Sorted(maps.Keys(compiled.Throttles)) {
		t := compiled.Throttles[name]
		ruled := queue.RuledThrottle{Name: name, Rules: text(t), Limit: t.Limit}
		if !t.Borrow { // else a cap is no limit
			ruled.Caps = t.Caps(t.Limit)
		}
		out.Throttles = append(out.Throttles, ruled)
	}
	if a := set.Answers; a != nil {
		out.Answers = queue.AnswerRules{Early: &a.Early, Done: &a.Done, Most: &a.Most}
	}
	return out
}

func text(rule any) string {
	out, err := json.Marshal(rule)
	if err != nil {
		panic(err) // there is nothing in it that has no JSON
	}
	return string(out)
}
