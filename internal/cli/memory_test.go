package cli

import (
	"strings"
	"testing"
)

// check, the log at the start and status say it.
func TestWhoSaysThatMemoryIsOnlyWatched(t *testing.T) {
	const words = "the kernel does not limit the memory of its children here"
	s := newScript(t, strings.Replace(workFiles, "input = \"data\"", "input = \"data\"\nsandbox = { kill = \"group\", limits = { memory = \"200MiB\" } }", 1))
	p := begin(t, s, "run")
	p.await(words)
	p.await(`INFO  ready`)
	for _, args := range [][]string{{"check"}, {"status"}, {"status", "--json"}} {
		if text := p.ask(args...); !strings.Contains(text, words) {
			t.Errorf("%v says %s", args, text)
		}
	}
	_ = s.oarlock(0, []string{"doctor"}) // which finds more
	if text := s.said["stdout"]; !strings.Contains(text, words) {
		t.Errorf("doctor says %s", text)
	}
	p.ask("stop")
	p.leaves(exitOK)
}
