package runner

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestSameUserCannotLookIntoUs is rows S7 and S11. Root may look into anything, so it takes another user.
func TestSameUserCannotLookIntoUs(t *testing.T) {
	if os.Getuid() == 0 {
		asNobody(t, t.Name())
		return
	}
	h := newHost(t)
	for _, strength := range []KillStrength{KillGuard, KillGroup} {
		script := fmt.Sprintf("cd /proc/%d; for f in environ mem maps; do head -c1 $f; done; ls fd; ls /proc/$PPID/fd", os.Getpid())
		_, w := runOnce(t, h, &Spec{Mode: Once, Command: shell(script), Kill: strength, Sandbox: Sandbox{NoNewPrivs: true}}, RunLimits{})
		said := w.text("r1")
		const looks = 5
		if refused := strings.Count(said, "Permission denied"); refused != looks || strings.Count(said, "\n") != looks {
			t.Errorf("%v: %d of %d looks are refused: %q", strength, refused, looks, said)
		} else {
			t.Logf("S7 S11 %v: %d of %d looks are refused", strength, refused, looks)
		}
	}
}
