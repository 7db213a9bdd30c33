package queue

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestCommandsPerCall counts the Redis commands inside a call; PROTOCOL.md quotes
// the numbers. What a call costs follows from them.
func TestCommandsPerCall(t *testing.T) {
	l := newLab(t, "redis", DefaultNamespace)
	put := func(jid string) string { return "put 0 w q " + jid + " K {} 0" }
	puts := func(n int) (calls []string) {
		for i := range n {
			calls = append(calls, put(strconv.Itoa(i)))
		}
		return calls
	}
	running := []string{put("j"), "pop 1 q w 1"}
	failed := append(running, "fail 2 j w g m")
	reqless := strings.NewReplacer("put ", "queue.put ", "pop ", "queue.pop ", "fail ", "job.fail ")
	tests := []struct {
		name        string
		before      []string // in qless; translated for reqless
		qless       string
		wantQless   int
		reqless     string
		wantReqless int
	}{
		{"put, new job, queue unknown", nil, put("j"), 8, "queue.put 0 w q j K {} 0", 10},
		{"put, queue known", puts(1), put("j"), 6, "queue.put 0 w q j K {} 0", 8},
		{"pop, empty queue", nil, "pop 0 q w 1", 5, "queue.pop 0 q w 1", 6},
		{"pop of 1", puts(1), "pop 1 q w 1", 15, "queue.pop 1 q w 1", 18},
		{"pop of 1, where another queue has keys", append(puts(1), "put 0 w other x K {} 0 key k"), "pop 1 q w 1", 20, "queue.pop 1 q w 1", 23},
		{"pop of 10", puts(10), "pop 1 q w 10", 62, "queue.pop 1 q w 10", 83},
		{"pop of 50", puts(50), "pop 1 q w 50", 262, "queue.pop 1 q w 50", 363},
		{"peek of 10", puts(10), "peek 1 q 10", 35, "queue.peek 1 q 0 10", 35},
		{"heartbeat with data", running, "heartbeat 2 j w {}", 6, "job.heartbeat 2 j w {}", 5},
		{"complete", running, "complete 2 j w q {}", 14, "job.complete 2 j w q {}", 19},
		{"complete … next", running, "complete 2 j w q {} next q", 15, "job.completeAndRequeue 2 j w q {} q", 20},
		{"fail", running, "fail 2 j w g m", 14, "job.fail 2 j w g m", 19},
		{"retry", running, "retry 2 j q w", 6, "job.retry 2 j q w", 9},
		{"timeout", running, "timeout 2 j", 8, "job.timeout 2 j", 12},
		{"cancel, failed job", failed, "cancel 3 j", 15, "job.cancel 3 j", 20},
		{"get", puts(1), "get 1 0", 4, "job.get 1 0", 4},
		{"queues, per queue", puts(1), "queues 1 q", 8, "queue.counts 1 q", 9},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			count := func(dialect Dialect, call string, translate func(string) string) int {
				l.redis.FlushDB(t.Context())
				for _, before := range tt.before {
					if _, err := callUnified(t.Context(), l, dialect, step{Argv: strings.Fields(translate(before))}); err != nil {
						t.Fatal(err)
					}
				}
				l.redis.ConfigResetStat(t.Context())
				if _, err := callUnified(t.Context(), l, dialect, step{Argv: strings.Fields(call)}); err != nil {
					t.Fatal(err)
				}
				return commandsRun(t, l)
			}
			a := count(Qless, tt.qless, func(s string) string { return s })
			b := count(Reqless, tt.reqless, reqless.Replace)
			if a != tt.wantQless || b != tt.wantReqless {
				t.Errorf("%d commands in qless, %d in reqless; want %d and %d", a, b, tt.wantQless, tt.wantReqless)
			}
		})
	}
}

var commandCalls = regexp.MustCompile(`cmdstat_([^:]+):calls=(\d+)`)

// commandsRun is how many commands the server ran inside scripts since its statistics
// were reset.
func commandsRun(t *testing.T, l *lab) int {
	t.Helper()
	l.private(t)
	total := 0
	for _, m := range commandCalls.FindAllStringSubmatch(l.redis.Info(t.Context(), "commandstats").Val(), -1) {
		switch m[1] {
		case "evalsha", "info", "config|resetstat":
		default:
			n, err := strconv.Atoi(m[2])
			if err != nil {
				t.Fatal(err)
			}
			total += n
		}
	}
	return total
}
