package integration

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// devicesOfSlots gives each slot a device by {slot}, of which a file lock tells who has it, processes that
// children leave behind included, and replaces children in every way there is.
func devicesOfSlots(t *testing.T, r *rig) {
	if _, err := exec.LookPath("flock"); err != nil {
		t.Skipf("SKIPPED flock is not installed (apt install util-linux): %v", err)
	}
	devices := t.TempDir()
	config := func(mode string, round int, broken bool) string {
		p := pool{mode: mode, command: append([]string{"/bin/sh", fixture(t, "device.sh")}, command(t, "worker.py")...)}
		if broken {
			p.command[2] = "/bin/false"
		}
		p.more = fmt.Sprintf("replace = \"after\"\nmax_crashes = 1000\nenv = { DEVICE = \"{slot}\", DEVICES = %q, ROUND = \"%d\" }", devices, round)
		if mode == "reuse" {
			p.more += "\nmax_jobs = 30\nidle_timeout = \"1s\"\nhello = false"
		}
		return r.config(t, "a", p)
	}
	mode := "reuse"
	start := func(round int) *supervisor {
		a := r.startConfig(t, "a", config(mode, round, false))
		a.said(t, `"msg":"ready"`) // from then on it can be asked
		return a
	}
	a := start(0)
	for round := range 200 {
		r.put(t, 6, work{MS: 20})
		r.put(t, 1, work{MS: 200, Orphan: true})
		r.ledger.await(t, "most jobs ended", ended(len(r.jids)-8))
		switch what := round % 7; what {
		case 0:
			a.control(t, "recycle")
		case 1, 5:
			r.put(t, 3, work{End: "SIGSEGV", Once: true})
		case 2:
			a.write(t, config(mode, round, false))
			a.control(t, "reload")
		case 3:
			a.kill(t)
			a = start(round)
		case 4: // a roll that is given up
			a.write(t, config(mode, round, true))
			a.control(t, "reload")
			last(300 * time.Millisecond)
			a.write(t, config(mode, round, false))
			a.control(t, "reload")
		case 6: // another mode is another pool
			mode = map[string]string{"reuse": "once", "once": "reuse"}[mode]
			a.write(t, config(mode, round, false))
			a.control(t, "reload")
		}
	}
	allDone(t, r.settled(t))
	a.stop(t)
	if met, err := os.ReadFile(filepath.Join(devices, "meetings")); err == nil {
		t.Errorf("somebody had the device already:\n%s", met)
	}
	holders, _ := os.ReadFile(filepath.Join(devices, "holders"))
	if r.note("holders", strings.Count(string(holders), "\n")); strings.Count(string(holders), "\n") < 10 {
		t.Errorf("devices were held by %q only", holders)
	}
}
