package ops

import (
	"testing"

	"oarlock/internal/accord"
	"oarlock/internal/must"
	"oarlock/internal/redistest"
	"oarlock/internal/rules"
	"oarlock/queue"
)

// TestWhoOnlyAsksHearsWhatWouldBeRefused: a queue that has jobs keeps the meaning of their priorities. So to change it is refused, and whoever asks what
// a change of the rules would do is told that before.
func TestWhoOnlyAsksHearsWhatWouldBeRefused(t *testing.T) {
	q, ctx := open(t, redistest.Shared(t)), t.Context()
	agree := func(file rules.File) {
		t.Helper()
		must.Get(accord.Apply(ctx, q, func(d rules.Document) (rules.Document, []rules.Conflict) { return d.Agree(file, true) }))(t)
	}
	low := rules.File{Owner: "test", Set: rules.Set{Queues: map[string]rules.Queue{"low": {Priority: "low-first"}}}}
	other := rules.File{Owner: "test", Set: rules.Set{Queues: map[string]rules.Queue{"low": {Limit: 3}}}}
	agree(low)
	ask := func() (diff RulesDifference, apply, remove error) {
		t.Helper()
		_, apply = ApplyRules(ctx, q, other, true, nil, nil)
		_, remove = RemoveRules(ctx, q, nil, true, nil)
		return must.Get(DiffRules(ctx, q, other))(t), apply, remove
	}
	if diff, apply, remove := ask(); apply != nil || remove != nil || diff.Refused != "" || diff.Same() {
		t.Errorf("of a queue without jobs: %v; %v; %+v", apply, remove, diff)
	}
	put(t, q, queue.Put{Queue: "low", JID: "j", Klass: "K"})
	diff, apply, remove := ask()
	_, done := ApplyRules(ctx, q, other, false, nil, nil)
	if done == nil {
		t.Fatal("it was done")
	}
	for _, told := range []string{errorText(apply), errorText(remove), diff.Refused} {
		if told != done.Error() {
			t.Errorf("who asks is told %q, who does it %q", told, done)
		}
	}
	if diff := must.Get(DiffRules(ctx, q, low))(t); diff.Refused != "" || !diff.Same() {
		t.Errorf("without a change: %+v", diff)
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
