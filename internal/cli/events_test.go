package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"oarlock/queue"
)

// What a supervisor tells of itself can be followed by kinds, queue and jid, as lines for people and as JSON; what there is not is said
// before anybody is asked.
func TestEventsHere(t *testing.T) {
	s := newScript(t, workFiles)
	p := begin(t, s, "run")
	p.await(`INFO  ready`)
	q, err := queue.Open(t.Context(), queue.Options{URL: s.env["REDIS_URL"]})
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	for name, value := range s.env {
		t.Setenv(name, value)
	}
	follow := func(args ...string) string {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		var out bytes.Buffer
		done := make(chan int, 1)
		go func() {
			done <- testProgram(nil, &out, &out).Main(ctx, append([]string{"oarlock", "events", "--here"}, args...))
		}()
		for {
			if _, err := q.Put(t.Context(), queue.Put{Queue: "work", Klass: "K", Data: []byte(`"bad"`)}); err != nil {
				t.Fatal(err)
			}
			select {
			case code := <-done:
				if code != exitOK {
					t.Fatalf("events %v: exit code %d\n%s", args, code, out.String())
				}
				return out.String()
			case <-time.After(10 * time.Millisecond): // it may not listen yet
			}
		}
	}
	var told struct{ Kind, Queue, Outcome string }
	text := follow("--kinds", "attempt-ended", "--queue", "w*", "--count", "1", "--json")
	if err := json.Unmarshal([]byte(text), &told); err != nil || told.Kind != "attempt-ended" || told.Queue != "work" || told.Outcome != "failed" {
		t.Errorf("it tells %s, %v", text, err)
	}
	text = follow("--kinds", "attempt-started,missed", "--count", "2")
	if lines := strings.Split(strings.TrimSpace(text), "\n"); len(lines) != 2 || !strings.Contains(lines[1], "attempt-started") || !strings.Contains(lines[1], "queue=work") {
		t.Errorf("it tells %s", text)
	}
	for command, says := range map[string]string{
		"events --here --kinds nope":        "there are no events of kind nope; there are missed, child-started",
		"events --kinds parked --count 1":   "there are no events of kind parked; there are put, merged",
		"events --pid 4711":                 "--pid is for --here",
		"events --here --kinds settled":     "there are no events of kind settled",
		"events --here something --count 1": "something",
	} {
		if text := s.says(t, exitUsage, command); !strings.Contains(text, says) {
			t.Errorf("%s: %s; want %s", command, text, says)
		}
	}
	p.ask("stop")
	p.ends(patience)
	if text := s.says(t, exitFailed, "events --here"); !strings.Contains(text, "no supervisor is running") {
		t.Errorf("without a supervisor it says %s", text)
	}
}
