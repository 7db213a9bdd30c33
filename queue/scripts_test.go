package queue

import (
	"context"
	"testing"

	"github.com/redis/go-redis/v9"
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
	c := &Client{scripts: newScripts(DefaultNamespace)}
	for _, tt := range []struct {
		flushes int
		class   ErrorClass
	}{{0, Success}, {1, Success}, {loadTries - 1, Success}, {loadTries, Busy}} {
		server := &forgetful{flushes: tt.flushes}
		_, err := c.run(t.Context(), server, scriptName{Qless, "get"}, 0, "j")
		if Class(err) != tt.class {
			t.Errorf("after %d flushes: %v (%v), want %v", tt.flushes, err, Class(err), tt.class)
		}
		if want := min(tt.flushes+1, loadTries); server.loads != want {
			t.Errorf("after %d flushes: loaded %d times, want %d", tt.flushes, server.loads, want)
		}
	}
}
