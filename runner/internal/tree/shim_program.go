package tree

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"syscall"

	"oarlock/internal/shebang"
)

// findProgram returns the file that name stands for, as the child's own user, directory and PATH see
// it. The error is a sentence; it is a noProgram if there is none.
func findProgram(name string) (string, error) {
	path, err := exec.LookPath(name)
	if errors.Is(err, exec.ErrDot) {
		err = nil // the user named "." in PATH, and may
	}
	switch {
	case err == nil:
		return path, nil
	case errors.Is(err, exec.ErrNotFound):
		return "", noProgram(fmt.Sprintf("there is no program %q in PATH (%s)", name, os.Getenv("PATH")))
	case errors.Is(err, fs.ErrNotExist):
		wd, _ := os.Getwd()
		return "", noProgram(fmt.Sprintf("there is no file %s (seen from %s)", name, wd))
	case errors.Is(err, fs.ErrPermission):
		return "", fmt.Errorf("%s is not executable for user %d; its x bit is not set, or that user may not enter its directory", name, os.Getuid())
	}
	return "", fmt.Errorf("cannot run %s: %w", name, err)
}

// execTrouble explains why the kernel would not run a file that is there.
func execTrouble(path string, err error) string {
	format := errors.Is(err, syscall.ENOEXEC)
	switch {
	case format, errors.Is(err, syscall.ENOENT):
		if why := shebang.Trouble(path, "."); why != "" {
			return why
		}
		if format {
			return shebang.NoFormat
		}
		return "the loader that it asks for is not there"
	case errors.Is(err, syscall.E2BIG):
		return "its arguments and environment are too long"
	}
	return err.Error()
}

// startCode returns the exit code for a program that cannot be run because of err.
func startCode(err error) int {
	if _, missing := errors.AsType[noProgram](err); missing {
		return ExitNotFound
	}
	if errors.Is(err, syscall.E2BIG) {
		return ExitTooBig
	}
	if Short(err) {
		return ExitShort
	}
	return ExitCannotRun
}

// noProgram says that what is to be run is not there.
type noProgram string

func (e noProgram) Error() string { return string(e) }
