package cli

import (
	"strings"
	"testing"

	"oarlock/internal/config"
	"oarlock/runner"
)

// Where the kernel does not hold children to limits.memory, that is said, with what is done in its place.
func TestMemoryThatIsOnlyWatched(t *testing.T) {
	limited := config.DefaultPool()
	limited.Sandbox.Limits.Memory = 200 << 20
	grouped := limited
	grouped.Sandbox.Kill = "group"
	cfg := config.Config{Pools: map[string]config.Pool{"free": config.DefaultPool(), "grouped": grouped, "limited": limited}}
	for _, tt := range []struct {
		here  capacity
		pools string
	}{
		{capacity{strength: runner.KillCgroup, memory: true}, "grouped"},
		{capacity{strength: runner.KillCgroup}, "grouped limited"},
		{capacity{strength: runner.KillGuard, memory: true}, "grouped limited"},
	} {
		told := tt.here.watchedMemory(cfg)
		var pools []string
		for _, text := range told {
			name, rest, _ := strings.Cut(strings.TrimPrefix(text, "pool "), ":")
			pools = append(pools, name)
			if !strings.Contains(rest, "is looked at every 1s, and killed if it holds more than 200 MiB") {
				t.Errorf("it says %s", text)
			}
		}
		if got := strings.Join(pools, " "); got != tt.pools {
			t.Errorf("%+v: told of %q, want %q", tt.here, got, tt.pools)
		}
	}
}

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
