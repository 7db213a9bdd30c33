package queue

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

// leavesTraces are recorded refusals that come after a write, in the originals and
// here.
var leavesTraces = []string{
	"pop of a fraction is refused by the store", // the worker is registered
	"updates before a bad one have already happened",
	"the first of several is done when the second is refused",
	"refused timeouts", // the same
	"bad priority patterns have already cleared the old ones",
	"priority patterns: malformed", // the same
}

// TestRefusalsChangeNothing runs every recorded call that is refused and looks at
// all keys before and after.
func TestRefusalsChangeNothing(t *testing.T) {
	l := newLab(t, "shared", DefaultNamespace)
	refused := 0
	for _, dialect := range []Dialect{Qless, Reqless} {
		for family, list := range scenarios(t, dialect) {
			for _, s := range list {
				refuses := slices.ContainsFunc(s.Steps, func(st step) bool { return st.Reply.Type == "error" })
				if !refuses || slices.Contains(leavesTraces, s.Name) {
					continue
				}
				l.redis.FlushDB(t.Context())
				for _, words := range s.Seed {
					if _, err := l.do(t.Context(), words...); err != nil {
						t.Fatal(err)
					}
				}
				for i, st := range s.Steps {
					var before map[string]storedKey
					if st.Reply.Type == "error" {
						before = l.keyspace(t)
					}
					_, err := callUnified(t.Context(), l, dialect, st)
					if before == nil || err == nil {
						continue
					}
					refused++
					if after := l.keyspace(t); !reflect.DeepEqual(before, after) {
						t.Errorf("%s/%s: %s: step %d, %q, was refused (%.80s) and left\n%v\nafter\n%v",
							dialect, family, s.Name, i, st.Cmd, strings.TrimSpace(err.Error()), after, before)
					}
				}
			}
		}
	}
	if refused < 200 {
		t.Errorf("only %d calls were refused", refused)
	}
}
