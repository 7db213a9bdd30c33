package integration

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
)

// Users that own nothing, for rows that need one besides root. Limits of processes count
// for each user, and none for root.
const (
	stranger = 54321
	bomber   = 54322 // would leave the others no processes
	limited  = 54323 // has few processes, and shares them with nobody
)

// strangersPython is a Python that any user may run; the one that root finds first may
// be root's own.
var strangersPython = sync.OnceValue(func() string {
	found, _ := exec.LookPath("python3")
	own, _ := python()
	for _, path := range []string{"/usr/bin/python3", own, found} {
		cmd := exec.Command(path, "-I", "-S", "-c", "")
		cmd.Dir = "/"
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: stranger, Gid: stranger}}
		if cmd.Run() == nil {
			return path
		}
	}
	return "python3"
})

// asUser lets supervisor a run as a user that owns nothing, started by the command before
// if there is one.
func (r *rig) asUser(t testing.TB, user int, before string) {
	t.Helper()
	r.under(t, fmt.Sprintf("exec setpriv --reuid %d --regid %[1]d --clear-groups %s %s \"$@\"", user, before, oarlock(t)))
	r.openTo(t, "a", user)
}

// strangersCommand runs a copy of a Python fixture that any user may read.
func (r *rig) strangersCommand(t testing.TB, worker string) []string {
	t.Helper()
	copied := filepath.Join(r.dir, worker)
	copyFile(t, fixture(t, worker), copied)
	return []string{strangersPython(), "-I", "-S", copied}
}
