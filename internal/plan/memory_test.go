package plan

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
		here  Capacity
		pools string
	}{
		{Capacity{strength: runner.KillCgroup, memory: true}, "grouped"},
		{Capacity{strength: runner.KillCgroup}, "grouped limited"},
		{Capacity{strength: runner.KillGuard, memory: true}, "grouped limited"},
	} {
		told := tt.here.WatchedMemory(cfg)
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

func TestCheckCountsTheChildrenOfARoll(t *testing.T) {
	p := config.DefaultPool()
	p.Mode, p.Children, p.MaxMemory = "reuse", 8, 1<<30
	cfg := config.Config{Pools: map[string]config.Pool{"p": p}}
	if got := MemoryNeeded(cfg, 4<<30); !strings.Contains(got, "12 children") || !strings.Contains(got, "12 GiB") || !strings.Contains(got, "more than the 4.0 GiB") {
		t.Errorf("check says %q", got)
	}
	p.MaxMemory = 0
	cfg.Pools["p"] = p
	if got := MemoryNeeded(cfg, 4<<30); got != "" {
		t.Errorf("of a pool without a limit check says %q", got)
	}
}
