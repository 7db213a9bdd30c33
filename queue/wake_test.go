package queue

import (
	"slices"
	"strings"
	"testing"
)

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
			if _, err := wakes.Receive(ctx); err != nil {
				t.Fatal(err)
			}
			call(tt.call)
			l.redis.Publish(ctx, "ql:oarlock:wake", "the end")
			var woken []string
			for {
				m, err := wakes.ReceiveMessage(ctx)
				if err != nil {
					t.Fatal(err)
				}
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
