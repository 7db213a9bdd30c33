package cli

import (
	"os"

	"golang.org/x/sys/unix"
)

// logFile is the file that stderr is redirected to, so that it can be opened again by
// name after a log rotation has moved it away.
type logFile struct {
	path string // "" if stderr is no file with a name
}

// findLogFile remembers the name while it is still right.
func findLogFile() *logFile {
	info, err := os.Stderr.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return &logFile{}
	}
	path, err := os.Readlink("/proc/self/fd/2")
	if err != nil {
		return &logFile{}
	}
	return &logFile{path: path}
}

// reopen puts the file of that name in the place of stderr, and of stdout if both were
// the same. It does nothing where stderr is no file.
func (l *logFile) reopen() error {
	if l.path == "" {
		return nil
	}
	file, err := os.OpenFile(l.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o640)
	if err != nil {
		return err
	}
	defer file.Close()
	out, outErr := os.Stdout.Stat()
	old, oldErr := os.Stderr.Stat()
	if outErr == nil && oldErr == nil && os.SameFile(out, old) {
		if err := unix.Dup3(int(file.Fd()), 1, 0); err != nil {
			return err
		}
	}
	return unix.Dup3(int(file.Fd()), 2, 0)
}
