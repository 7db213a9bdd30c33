package queue

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"oarlock/queue/internal/clock"
)

// Diagnose lets a doctor look at all keys, and tells what it says is wrong, which Repair has it mend, too: it knows this package, and so comes from the
// tests that do.
var Diagnose, Repair func(t testing.TB, c *Client) []string

// Protocol is the unified script of the protocol, as other clients have it.
func Protocol(dialect Dialect) *redis.Script {
	return redis.NewScript(assembled(dialect, "", DefaultNamespace))
}

// CheckOK, CheckNever and CheckStop are checks for the tests outside of the package.
var CheckOK, CheckNever, CheckStop = ok, never, stop

// Skew has a client believe that the clock of its server is off by what off says at the moment.
func Skew(c *Client, off func() time.Duration) {
	c.clock = clock.New(func(ctx context.Context) (time.Time, error) {
		t, err := c.serverTime(ctx)
		return t.Add(off()), err
	}, c.log)
}

// Beside lets a test run beside others.
func Beside(t testing.TB) { beside(t) }

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
	ok(t, l.redis.FlushDB(t.Context()).Err())
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

// Keys is what is stored, each key as text: of a time to live whether there is one, since it runs while one looks.
func (l RandomLab) Keys(t *testing.T) map[string]string {
	t.Helper()
	keys := make(map[string]string)
	for name, stored := range l.dump(t) {
		stored.TTL = min(stored.TTL, 1)
		keys[name] = fmt.Sprint(stored)
	}
	return keys
}

// PlayKeys empties the database and plays a random program of jobs with keys from a seed, beginning now: 0 by our scripts alone, 1 beside
// clients that know no keys. After each step it calls then with the program so far; what is left is drained at the end.
func (l RandomLab) PlayKeys(t *testing.T, c *Client, mix int, seed uint64, steps int, then func(program []string)) {
	w := newTurnsWorld(t, l.lab, turnsMix(mix), seed, unchanged)
	w.now = c.Now()
	mustPlay(t, seed, steps, told{w, then})
}

// PlayMerges is as PlayKeys, of puts that merge; it knows no mixes.
func (l RandomLab) PlayMerges(t *testing.T, c *Client, _ int, seed uint64, steps int, then func(program []string)) {
	w := newMergeWorld(t, l.lab, seed, unchanged)
	w.now = c.Now()
	mustPlay(t, seed, steps, told{w, then})
}

// PlayAll is as PlayKeys, of all that the rules know of, too.
func (l RandomLab) PlayAll(t *testing.T, c *Client, mix int, seed uint64, steps int, then func(program []string)) {
	w := newJointWorld(t, l.lab, c, turnsMix(mix), seed, unchanged)
	w.now = c.Now()
	mustPlay(t, seed, steps, told{w, then})
}

// told is a program that somebody is told of after each step.
type told struct {
	program
	then func(program []string)
}

func (p told) step(i int) (more bool) {
	more = p.program.step(i)
	p.then(p.noted())
	return more
}
