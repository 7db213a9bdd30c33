package queue

import (
	"context"
	"reflect"
	"slices"
	"strings"
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
			never(t, got != want || err != nil, "%s, %s: config.get heartbeat is %#v, %v; want %#v", server, dialect, got, err, want)
			for _, command := range []string{"queues", "queues.counts"} {
				if _, err := l.eval(t.Context(), text, nil, []string{command, "0"}); err != nil {
					t.Errorf("%s, %s: %v", server, dialect, err)
				}
			}
		}
	}
}

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
					must(l.do(t.Context(), words...))(t)
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
	never(t, refused < 200, "only %d calls were refused", refused)
}

// TestWhateverMakesJobsReadyWakesTheirQueue runs commands after which a job of the queue r may
// be taken that could not be before, and listens for who is woken: that queue, and once.
func TestWhateverMakesJobsReadyWakesTheirQueue(t *testing.T) {
	l := newLab(t, "redis", DefaultNamespace)
	put := func(queue, jid string, options ...string) []string {
		return append([]string{"put", "", queue, jid, "K", "{}", "0"}, options...)
	}
	words := strings.Fields
	running := [][]string{put("q", "a"), words("pop q w 1")}
	dependents := append(running, put("r", "b", "depends", `["a"]`), put("r", "c", "depends", `["a"]`))
	throttled := [][]string{words("throttle.set t 2"),
		words(`queue.put w q a K {} 0 throttles ["t"]`), words(`queue.put w q a2 K {} 0 throttles ["t"]`), words("queue.pop q w 2"),
		words(`queue.put w r b K {} 0 throttles ["t"]`), words(`queue.put w r c K {} 0 throttles ["t"]`)}
	settle := func(action string, options ...string) []string {
		return append(append([]string{"exchange", "w", "1", "a", "q", "", action}, options...), "0", "ordered", "0", "0", "0", "0")
	}
	sweep := words("sweep 10 q")
	tests := []struct {
		name   string
		before [][]string
		call   []string
	}{
		{"complete of what others wait for", dependents, words("complete a w q {}")},
		{"the same in a batch", dependents, settle("complete", "0")},
		{"complete of what a delayed job waits for", append(running, append(words("put w r b K {} 60 depends"), `["a"]`)), words("complete a w q {}")},
		{"depends off", dependents, words("depends b off a")},
		{"depends off all", dependents, words("depends b off all")},
		{"complete with next", running, words("complete a w q {} next r")},
		{"complete with next, delayed", running, words("complete a w q {} next r delay 60")},
		{"the same in a batch", running, settle("complete", "2", "next", "r", "delay", "60")},
		{"move", running, put("r", "a")},
		{"requeue", running, words("requeue w r a K {} 0")},
		{"unfail", append(running, words("fail a w g m"), put("q", "d"), words("pop q w 1"), words("fail d w g m")), words("unfail r g")},
		{"unpause", [][]string{words("pause r")}, words("unpause r")},
		{"throttle.release", throttled, words("throttle.release t a a2")},
		{"complete of a holder", throttled, words("job.complete a w q {}")},
		{"fail of a holder", throttled, words("job.fail a w g m")},
		{"cancel of holders", throttled, words("job.cancel a a2")},
		{"timeout of a holder", throttled, words("job.timeout a")},
		{"retry of a holder", throttled, words("job.retry a q w 60")},
		{"complete of a holder in a batch", throttled, settle("complete", "0")},
		{"release of a holder in a batch", throttled, settle("release", "1", "delay", "60")},
		{"sweep of a holder that has no retries left", append(slices.Clone(throttled),
			words("config.set grace-period 0")), sweep},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ctx := t.Context()
			l.redis.FlushDB(ctx)
			now := "1000"
			call := func(words []string) {
				t.Helper()
				if _, err := callScript(ctx, l, dialectOf(words[0]), step{Now: now, Cmd: words}); err != nil {
					t.Fatalf("%v: %v", words, err)
				}
			}
			for _, words := range tt.before {
				call(words)
			}
			if tt.call[0] == "sweep" {
				l.redis.HSet(ctx, "ql:j:a", "remaining", "0")
				now = "1100"
			}
			wakes := l.redis.Subscribe(ctx, "ql:oarlock:wake")
			defer wakes.Close()
			must(wakes.Receive(ctx))(t)
			call(tt.call)
			l.redis.Publish(ctx, "ql:oarlock:wake", "the end")
			var woken []string
			for {
				m := must(wakes.ReceiveMessage(ctx))(t)
				if m.Payload == "the end" {
					break
				}
				woken = append(woken, m.Payload)
			}
			if n := len(slices.DeleteFunc(slices.Clone(woken), func(queue string) bool { return queue != "r" })); n != 1 {
				t.Errorf("woken are %q, want r, once", woken)
			}
		})
	}
}

func dialectOf(command string) Dialect {
	for _, dialect := range []Dialect{Batch, Qless, Reqless} {
		if slices.Contains(Commands(dialect), command) && (dialect != Batch || command != "put") {
			return dialect
		}
	}
	panic("no command " + command)
}
