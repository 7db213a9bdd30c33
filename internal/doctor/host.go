package doctor

import (
	"os"
	"syscall"
)

// filesPerChild is how many descriptors a child costs its supervisor: its pipes, its
// process, its control group.
const filesPerChild = 8

// Host looks at what this machine allows a supervisor that keeps its state in stateDir
// and has so many children.
func (d *Doctor) Host(stateDir string, children int) {
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err == nil {
		// Go raises the soft limit by itself.
		if need := uint64(256 + filesPerChild*children); files.Max < need {
			d.found(Warning, "open files", "LimitNOFILE= in the unit, or ulimit -Hn.", "%d files may be open; %d children need %d.", files.Max, children, need)
		} else {
			d.found(OK, "open files", "", "%d may be open.", files.Max)
		}
	}
	if os.Geteuid() == 0 {
		d.found(Note, "user", "Run it as a user of its own, or give the pools one: sandbox.user.", "We are root, and so would be the children of a supervisor that we start.")
	}
	if stateDir == "" {
		return
	}
	info, err := os.Stat(stateDir)
	switch {
	case os.IsNotExist(err):
		d.found(Note, "state directory", "", "%s is not there yet; the first run makes it.", stateDir)
	case err != nil:
		d.found(Warning, "state directory", "Let the supervisor's user own it.", "%v", err)
	case !info.IsDir():
		d.found(Bad, "state directory", "Name another one: supervisor.state_dir.", "%s is no directory.", stateDir)
	case info.Mode().Perm()&0o022 != 0:
		d.found(Warning, "state directory", "chmod go-w "+stateDir, "Others may write to %s: a supervisor of root refuses it, and another does without, so that its jobs wait for their locks if it is killed.", stateDir)
	default:
		d.found(OK, "state directory", "", "%s", stateDir)
	}
}
