package runner

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Where children have control groups, a process is proved to be of a pool's child however it was started below that, in each mode;
// we ourselves are not, and without control groups nobody is.
func TestChildOf(t *testing.T) {
	for _, strength := range strengths(t) {
		for _, mode := range []Mode{Once, Reuse, Preload} {
			t.Run(strengthName(strength)+"/"+strconv.Itoa(int(mode)), func(t *testing.T) {
				h, w := newHost(t), newWitness()
				file := filepath.Join(t.TempDir(), "pids")
				command, data := escaping(mode, file)
				c := start(t, h, &Spec{Pool: "mail", Mode: mode, Command: command, Kill: strength}, w)
				mustRun(t, c, dataJob("r1", data), RunLimits{Lease: sinceBoot() + time.Hour})
				until(t, "line from the child", func() bool { return w.text("r1") != "" })
				pids := []int{c.PID()}
				text, err := os.ReadFile(file)
				must(t, err)
				for word := range strings.FieldsSeq(string(text)) {
					if pid, err := strconv.Atoi(word); err == nil {
						pids = append(pids, pid)
					}
				}
				if len(pids) < 2 {
					t.Fatalf("nothing was started: %q", text)
				}
				for _, pid := range pids {
					if pool, is := h.ChildOf(pid); is != (strength == KillCgroup) || is && pool != "mail" {
						t.Errorf("process %d of %v: %q, %v", pid, pids, pool, is)
					}
				}
				for _, pid := range []int{os.Getpid(), os.Getppid(), 1, 0} {
					if pool, is := h.ChildOf(pid); is {
						t.Errorf("process %d is of pool %q", pid, pool)
					}
				}
			})
		}
	}
}

func strengthName(s KillStrength) string {
	for name, one := range strengthNames {
		if one == s {
			return name
		}
	}
	return ""
}
