package doctor

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// Host looks at what this machine allows a supervisor that keeps its state in stateDir.
func (d *Doctor) Host(stateDir string) {
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
		if err := roomIn(stateDir); err != nil {
			d.found(Bad, "state directory", "Mend that, or name another one: supervisor.state_dir.", "Nothing can be written in %s: %v.", stateDir, err)
			return
		}
		d.found(OK, "state directory", "", "%s", stateDir)
	}
}

// roomIn says why nobody, whoever it be, can write in a directory: its file system is read-only or full. Whether we may does
// not matter: the supervisor's user may be another.
func roomIn(dir string) error {
	if err := unix.Access(dir, unix.W_OK); errors.Is(err, unix.EROFS) {
		return err
	}
	var fs unix.Statfs_t
	if unix.Statfs(dir, &fs) == nil && fs.Blocks > 0 && fs.Bfree == 0 {
		return unix.ENOSPC
	}
	return nil
}
