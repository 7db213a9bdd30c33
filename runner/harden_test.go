package runner

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"oarlock/runner/internal/runnertest"
)

// TestSameUserCannotLookIntoUs is rows S7 and S11. Root may look into anything, so it takes another user.
func TestSameUserCannotLookIntoUs(t *testing.T) {
	if os.Getuid() == 0 {
		runnertest.AsNobody(t, t.Name())
		return
	}
	h := newHost(t)
	for _, strength := range []KillStrength{KillGuard, KillGroup} {
		script := fmt.Sprintf("cd /proc/%d; for f in environ mem maps; do head -c1 $f; done; ls fd; ls /proc/$PPID/fd", os.Getpid())
		_, w := runOnce(t, h, &Spec{Mode: Once, Command: shell(script), Kill: strength, Sandbox: Sandbox{NoNewPrivs: true, OOMScoreAdj: 300}}, RunLimits{})
		said := w.text("r1")
		const looks = 5
		if refused := strings.Count(said, "Permission denied"); refused != looks || strings.Count(said, "\n") != looks {
			t.Errorf("%v: %d of %d looks are refused: %q", strength, refused, looks, said)
		} else {
			t.Logf("S7 S11 %v: %d of %d looks are refused", strength, refused, looks)
		}
	}
}

// TestOtherUserCannotTouchUs is rows S9 and S10 for a pool with a user of its own.
func TestOtherUserCannotTouchUs(t *testing.T) {
	if os.Getuid() != 0 {
		t.Log("S9 S10 take two users, and so root")
		return
	}
	h, w := newHost(t), newWitness()
	sandbox := func(user string) Sandbox { return Sandbox{User: user, Group: "nogroup", NoNewPrivs: true} }
	sibling := start(t, h, &Spec{Mode: Once, Command: shell("read line"), Sandbox: sandbox("65533")}, w)
	script := fmt.Sprintf("for pid in %d %d; do kill -TERM $pid; head -c1 /proc/$pid/environ; head -c1 /proc/$pid/mem; ls /proc/$pid/fd; done",
		os.Getpid(), sibling.PID())
	_, said := runOnce(t, h, &Spec{Mode: Once, Command: shell(script), Dir: "/", Sandbox: sandbox("nobody")}, RunLimits{})
	text := said.text("r1")
	t.Logf("S9 S10 %d signals and %d looks are refused", strings.Count(text, "Operation not permitted"), strings.Count(text, "Permission denied"))
	if strings.Count(text, "Operation not permitted") != 2 || strings.Count(text, "Permission denied") != 6 {
		t.Errorf("it says %q", text)
	}
	sibling.Kill(CauseShutdown)
	await(t, sibling.Exited(), "exit")
}
