package runner

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"
)

func ask(t *testing.T, script string, change func(*Question)) (string, error) {
	t.Helper()
	h := newHost(t)
	q := Question{Command: []string{"sh", "-c", script}, Env: []string{"PATH=/usr/bin:/bin"}, Input: []byte("{\"n\":1}\n"), Timeout: time.Minute, Most: 1 << 10}
	if change != nil {
		change(&q)
	}
	out, err := h.Ask(t.Context(), q)
	return string(out), err
}

func TestAskAnswers(t *testing.T) {
	if out, err := ask(t, `read line; echo "$line $X"`, func(q *Question) { q.Env = append(q.Env, "X=2") }); err != nil || out != "{\"n\":1} 2\n" {
		t.Errorf("%q, %v", out, err)
	}
	if out, err := ask(t, `echo yes`, func(q *Question) { q.Input = []byte(strings.Repeat("x", 1<<20)) }); err != nil || out != "yes\n" {
		t.Errorf("who reads nothing answered %q, %v", out, err)
	}
}

func TestAskSaysWhatIsWrong(t *testing.T) {
	for what, tt := range map[string]struct {
		script string
		change func(*Question)
		want   string
	}{
		"floods":          {`yes`, nil, "sh printed more than 1024 bytes"},
		"fails":           {`echo one >&2; echo 'no "node"' >&2; exit 3`, nil, `sh exited with code 3: no "node"`},
		"is killed":       {`kill -9 $$`, nil, "sh killed by SIGKILL"},
		"floods stderr":   {`yes | head -c 1000000 >&2; echo last >&2; exit 1`, nil, "sh exited with code 1: last"},
		"is not there":    {"", func(q *Question) { q.Command = []string{"/no/such"} }, "/no/such"},
		"hostile message": {"printf 'a\\033[2Jb\\n' >&2; exit 1", nil, `a\x1b[2Jb`},
	} {
		if out, err := ask(t, tt.script, tt.change); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("one that %s: %q, %v; want %s", what, out, err, tt.want)
		}
	}
	var err error
	for limit := 300 * time.Millisecond; limit < time.Minute; limit *= 5 { // a machine that is busy begins late
		_, err = ask(t, `sleep 1000 & echo thinking >&2; sleep 1000`, func(q *Question) { q.Timeout = limit })
		if err != nil && err.Error() == fmt.Sprintf("sh did not answer within %v: thinking", limit) {
			return
		}
	}
	t.Errorf("one that hangs, with a grandchild that holds its output: %v", err)
}

func TestAskEndsWithItsContext(t *testing.T) {
	h := newHost(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		_, err := h.Ask(ctx, Question{Command: []string{"sleep", "1000"}, Timeout: time.Hour, Most: 1})
		done <- err
	}()
	cancel()
	same(t, <-done, context.Canceled, "it ended with %v")
}
