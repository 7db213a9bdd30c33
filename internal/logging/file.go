package logging

import (
	"os"

	"golang.org/x/sys/unix"
)

// file is the file that stderr is redirected to, so that it can be opened again by
// name after a log rotation has moved it away.
type file struct {
	path string // "" if stderr is no file with a name
}

// findFile remembers the name while it is still right.
func findFile() file {
	info, err := os.Stderr.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return file{}
	}
	path, err := os.Readlink("/proc/self/fd/2")
	if err != nil {
		return file{}
	}
	return file{path: path}
}

// reopen puts the file of that name in the place of stderr, and of stdout if both were
// the same. It does nothing where stderr is no file.
func (f file) reopen() error {
	if f.path == "" {
		return nil
	}
	again, err := os.OpenFile(f.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o640)
	if err != nil {
		return err
	}
	defer again.Close()
	out, outErr := os.Stdout.Stat()
	old, oldErr := os.Stderr.Stat()
	if outErr == nil && oldErr == nil && os.SameFile(out, old) {
		if err := unix.Dup3(int(again.Fd()), 1, 0); err != nil {
			return err
		}
	}
	return unix.Dup3(int(again.Fd()), 2, 0)
}
