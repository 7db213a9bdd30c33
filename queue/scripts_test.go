package queue

import (
	"context"
	"testing"

	"github.com/redis/go-redis/v9"

	"oarlock/queue/internal/script"
)

// forgetful is a server whose scripts somebody flushes so many times before they can be called.
type forgetful struct{ flushes, loads int }

func (f *forgetful) Do(ctx context.Context, _ ...any) *redis.Cmd {
	cmd := redis.NewCmd(ctx)
	if f.loads <= f.flushes {
		cmd.SetErr(replyError("NOSCRIPT No matching script."))
	} else {
		cmd.SetVal("done")
	}
	return cmd
}

func (f *forgetful) ScriptLoad(ctx context.Context, _ string) *redis.StringCmd {
	f.loads++
	return redis.NewStringCmd(ctx)
}

func TestScriptsThatAreFlushedAgainAndAgain(t *testing.T) {
	c := &Client{scripts: script.NewSet(DefaultNamespace)}
	for _, tt := range []struct {
		flushes int
		class   ErrorClass
	}{{0, Success}, {1, Success}, {loadTries - 1, Success}, {loadTries, Busy}} {
		server := &forgetful{flushes: tt.flushes}
		_, err := c.run(t.Context(), server, script.Name{Dialect: Qless, Command: "get"}, 0, "j")
		if Class(err) != tt.class {
			t.Errorf("after %d flushes: %v (%v), want %v", tt.flushes, err, Class(err), tt.class)
		}
		if want := min(tt.flushes+1, loadTries); server.loads != want {
			t.Errorf("after %d flushes: loaded %d times, want %d", tt.flushes, server.loads, want)
		}
	}
}

// TestSharedNames checks which dialect the unified script answers in where a name
// belongs to both.
func TestSharedNames(t *testing.T) {
	for server := range labs {
		l := newLab(t, server, DefaultNamespace)
		for dialect, want := range map[Dialect]any{Qless: int64(60), Reqless: "60"} {
			text := Unified(DefaultNamespace, dialect)
			got, err := l.eval(t.Context(), text, nil, []string{"config.get", "0", "heartbeat"})
			if got != want || err != nil {
				t.Errorf("%s, %s: config.get heartbeat is %#v, %v; want %#v", server, dialect, got, err, want)
			}
			for _, command := range []string{"queues", "queues.counts"} {
				if _, err := l.eval(t.Context(), text, nil, []string{command, "0"}); err != nil {
					t.Errorf("%s, %s: %v", server, dialect, err)
				}
			}
		}
	}
}
