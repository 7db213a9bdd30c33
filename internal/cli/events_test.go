package cli

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"oarlock/internal/must"
	"oarlock/queue"
)

// follow runs `oarlock events` until it has seen what it was told to see, while something happens again and again.
func (s *script) follow(happen func() error, args ...string) string {
	s.t.Helper()
	p := begin(s.t, s, append([]string{"events"}, args...)...)
	for {
		must.Do(s.t, happen())
		select {
		case line, more := <-p.lines:
			if !more {
				p.leaves(exitOK)
				return strings.Join(p.seen, "\n")
			}
			p.seen = append(p.seen, line)
		case <-time.After(10 * time.Millisecond): // it may not listen yet
		}
	}
}

// What a supervisor tells of itself can be followed by kinds, queue and jid, as lines for people and as JSON; what there is not is said
// before anybody is asked.
func TestEventsHere(t *testing.T) {
	s := newScript(t, workFiles)
	p := running(t, s)
	q := openAt(t, s.env["REDIS_URL"])
	follow := func(args ...string) string {
		t.Helper()
		return s.follow(func() error {
			_, err := q.Put(t.Context(), queue.Put{Queue: "work", Klass: "K", Data: []byte(`"bad"`)})
			return err
		}, append([]string{"--here"}, args...)...)
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
	p.leaves(exitOK)
	if text := s.says(t, exitFailed, "events --here"); !strings.Contains(text, "no supervisor is running") {
		t.Errorf("without a supervisor it says %s", text)
	}
}
