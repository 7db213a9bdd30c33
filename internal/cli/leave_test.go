package cli

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"oarlock/internal/must"
	"oarlock/internal/screen"
)

// stop --wait returns when the process is gone, or says that it is not.
func TestStopWaits(t *testing.T) {
	if testing.Short() {
		t.Skip("long: it waits for its own timeouts")
	}
	s := newScript(t, `
-- oarlock.toml --
[log]
format = "text"
[supervisor]
drain_timeout = "1h"
[pools.work]
queues = ["work"]
command = ["sh", "-c", "echo began; until [ -e enough ]; do sleep 0.05; done"]
`)
	if code := s.anyCode([]string{"stop", "--wait"}); code != exitFailed || !strings.Contains(s.said["stderr"], "no supervisor is running") {
		t.Errorf("nobody is there: exit code %d, %s", code, s.said["stderr"])
	}
	for _, args := range [][]string{{"stop", "--timeout", "1s"}, {"drain", "--wait", "--timeout", "0s"}} {
		if code := s.anyCode(args); code != exitUsage {
			t.Errorf("%v: exit code %d", args, code)
		}
	}
	p := running(t, s)
	p.ask("put", "work", "{}", "--jid", "j")
	p.await("began")
	p.signal(syscall.SIGSTOP)
	if code := s.anyCode([]string{"stop", "--wait", "--timeout", "200ms"}); code != exitTempFail || !strings.Contains(s.said["stderr"], "may not have heard that it is to stop") {
		t.Errorf("a supervisor that is stopped: exit code %d, %s", code, s.said["stderr"])
	}
	p.signal(syscall.SIGCONT)
	for wait := 200 * time.Millisecond; ; wait *= 3 { // a machine that is busy lets it go on later
		code := s.anyCode([]string{"stop", "--wait", "--timeout", wait.String()})
		if code == exitTempFail && strings.Contains(s.said["stderr"], "is still there after "+screen.Span(wait)+": 1 of 1 children busy") && strings.HasPrefix(s.said["stdout"], "stopping: ") {
			break
		} else if wait > patience/6 || code != exitTempFail {
			t.Fatalf("exit code %d, %s%s", code, s.said["stdout"], s.said["stderr"])
		}
	}
	must.Do(t, os.WriteFile(filepath.Join(s.dir, "enough"), nil, 0o644))
	// It leaves meanwhile, and may be gone before it is told once more.
	switch code := s.anyCode([]string{"stop", "--wait"}); {
	case code == exitOK && (strings.Contains(s.said["stdout"], "\ngone after ") || strings.Contains(s.said["stdout"], "gone before it was told")):
	case code == exitFailed && strings.Contains(s.said["stderr"], "no supervisor is running"):
	default:
		t.Errorf("exit code %d, %s%s", code, s.said["stdout"], s.said["stderr"])
	}
	if stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(p.cmd.Process.Pid), "stat")); err == nil && !strings.Contains(string(stat), ") Z ") {
		t.Errorf("the process is still there: %s", stat)
	}
	p.leaves(exitOK)
	s.says(t, exitOK, "job show j", "complete")
}
