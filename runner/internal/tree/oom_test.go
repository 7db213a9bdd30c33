package tree

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestOOMCounterExplainsEachDeathOnce(t *testing.T) {
	file := filepath.Join(t.TempDir(), "memory.events")
	write := func(kills int) {
		must(t, os.WriteFile(file, fmt.Appendf(nil, "low 0\noom 5\noom_kill %d\noom_group_kill 0\n", kills), 0o600))
	}
	write(3)
	c := &oomCounter{file: file, explained: oomKills(file)}
	const nobodys = 1 << 30 // no process has this number
	if got := c.proof(nobodys, time.Now()); got != "" {
		t.Errorf("without a death: %q", got)
	}
	write(4)
	if got := c.proof(nobodys, time.Now()); !strings.Contains(got, "rose to 4") {
		t.Errorf("after a death: %q", got)
	}
	if got := c.proof(nobodys, time.Now()); got != "" {
		t.Errorf("the same death explains a second one: %q", got)
	}
	if got := oomKills(filepath.Join(t.TempDir(), "missing")); got != -1 {
		t.Errorf("a missing file counts %d", got)
	}
}

func TestFindVictim(t *testing.T) {
	records := []string{
		"6,100,1000000,-;booted\n",
		"3,101,5000000,-;Out of memory: Killed process 42 (python3) total-vm:1kB\n SUBSYSTEM=x\n",
		"3,102,9000000,-;Memory cgroup out of memory: Killed process 421 (python3) total-vm:1kB, anon-rss:2kB\n",
		"broken",
	}
	find := func(pid int, since time.Duration) string {
		next := 0
		return findVictim(func(buffer []byte) int {
			if next == len(records) {
				return -1
			}
			next++
			return copy(buffer, records[next-1])
		}, pid, since)
	}
	if got := find(421, 8*time.Second); got != "Memory cgroup out of memory: Killed process 421 (python3) total-vm:1kB, anon-rss:2kB" {
		t.Errorf("of 421: %q", got)
	}
	if got := find(42, 4*time.Second); !strings.HasPrefix(got, "Out of memory: Killed process 42 ") {
		t.Errorf("of 42: %q", got)
	}
	if got := find(42, 8*time.Second); got != "" {
		t.Errorf("of a later process 42: %q", got)
	}
	if got := find(2, 0); got != "" {
		t.Errorf("of 2: %q", got)
	}
}
