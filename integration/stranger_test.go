package integration

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"oarlock/queue"
)

// strangerRests is how long a stranger rests between two jobs.
const strangerRests = 10 * time.Millisecond

// keyless makes of our unified script one that knows neither keys nor rules, as the original is.
func keyless(t testing.TB, knowing string) string {
	t.Helper()
	script := strings.NewReplacer("'oarlock-lane'", "'oarlock-nothing'", "'ql:oarlock:rules'", "'ql:nothing'", "named.key", "named.nothing").Replace(knowing)
	if strings.Contains(script, "'ql:oarlock:rules'") || script == knowing {
		t.Fatal("the script of the stranger knows rules")
	}
	return script
}

// knowing leaves our unified script as it is.
func knowing(_ testing.TB, script string) string { return script }

// stranger starts a program that works queues as a client of qless or reqless does which loads our unified script, or what change makes of it, and whose
// clock is so far ahead.
func (r *rig) stranger(t testing.TB, name string, dialect queue.Dialect, ahead time.Duration, change func(testing.TB, string) string, queues ...string) *exec.Cmd {
	t.Helper()
	path := filepath.Join(r.dir, name+".lua")
	must(t, os.WriteFile(path, []byte(change(t, queue.Unified("ql:", dialect))), 0o600))
	interpreter := got(python())(t)
	args := []string{"-I", "-S", fixture(t, "stranger.py"), r.redis.Addr, path, string(dialect), name, fmt.Sprint(ahead.Seconds()), fmt.Sprint(strangerRests.Milliseconds())}
	args = append(args, queues...)
	cmd := exec.Command(interpreter, args...)
	cmd.Env, cmd.Stderr = append(os.Environ(), "LEDGER="+r.ledger.path), t.Output()
	must(t, cmd.Start())
	t.Cleanup(func() { endNow(cmd) })
	r.strangers = append(r.strangers, name)
	return cmd
}

// pids are the process numbers of programs.
func pids(of map[string]*exec.Cmd) (all []int) {
	for _, cmd := range of {
		all = append(all, cmd.Process.Pid)
	}
	return all
}

// endNow kills a program, if it is still there.
func endNow(cmd *exec.Cmd) {
	if cmd.ProcessState == nil {
		cmd.Process.Kill()
		cmd.Wait()
	}
}
