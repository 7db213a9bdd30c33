package queue

import (
	"fmt"
	"strings"
	"testing"
)

// RandomLab is a Redis in which random calls of the protocol are played, for tests of what
// others make of the keys that are left.
type RandomLab struct{ *lab }

// NewRandomLab starts the Redis.
func NewRandomLab(t *testing.T) RandomLab {
	return RandomLab{newLab(t, "redis", DefaultNamespace)}
}

// Open connects a client.
func (l RandomLab) Open(t *testing.T) *Client { return labClient(t, l.lab) }

// Dialects are those that random calls may be of: qless, reqless, and both at once.
func (l RandomLab) Dialects() []Dialect { return []Dialect{Qless, Reqless, both} }

// Play empties the database and plays random calls from a seed, but for those that sound
// refuses, which sees the call and any field of a job. After each it calls then with all calls
// so far, as text.
func (l RandomLab) Play(t *testing.T, dialect Dialect, seed uint64, length int,
	sound func(call []string, field func(jid, name string) string) bool, then func(calls fmt.Stringer)) {
	t.Helper()
	if err := l.redis.FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	m := newModel(dialect)
	shared := dialect
	if m.both {
		shared = Qless
	}
	var calls strings.Builder
	next := drawn(dialect, seed, length)
	for s, ok := next(m); ok; s, ok = next(m) {
		if !sound(s.Cmd, m.field) {
			continue
		}
		fmt.Fprintf(&calls, "\n  %s %v %q", s.Cmd[0], s.Now, s.Cmd[1:])
		m.call(s)
		_, _ = callUnified(t.Context(), l.lab, shared, s) // a refusal is a legal answer
		l.heard(t)
		then(&calls)
	}
}

// Keys is what is stored, each key as text.
func (l RandomLab) Keys(t *testing.T) map[string]string {
	t.Helper()
	keys := make(map[string]string)
	for name, stored := range l.dump(t) {
		keys[name] = fmt.Sprint(stored)
	}
	return keys
}
