package bench

import (
	_ "embed"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

//go:embed noop.py
var noopPython []byte

//go:embed noop-batch.py
var noopBatch []byte

//go:embed noop.sh
var noopShell []byte

//go:embed noop-preload.py
var noopPreload []byte

// errNoPython says that a mode needs python3, which is not here.
var errNoPython = errors.New("mode preload is measured with python3, which is not in PATH; name a program with --command")

// Noop writes a program that does nothing for each job, one after the other, into dir and gives the command that runs it.
func Noop(dir string) (command []string, err error) { return noop(dir, Shape{Mode: "reuse"}, "") }

// errNoPythonForBatch is errNoPython for messages of several jobs.
var errNoPythonForBatch = errors.New("batches are measured with python3, which is not in PATH; name a program with --command")

// noop writes a program that does nothing for each job into dir and gives the command
// that runs it in a shape: Python if there is one, the shell otherwise. helper is the text
// of the Python helper, which mode preload needs.
func noop(dir string, s Shape, helper string) (command []string, err error) {
	python, mode := findPython(), s.Mode
	switch {
	case s.Batch > 1 && mode == "reuse" && python == "":
		return nil, errNoPythonForBatch
	case s.Batch > 1 && mode == "reuse":
		path := filepath.Join(dir, "noop-batch.py")
		return []string{python, "-S", path}, os.WriteFile(path, noopBatch, 0o600)
	case mode == "preload" && python == "":
		return nil, errNoPython
	case mode == "preload":
		path := filepath.Join(dir, "noop-preload.py")
		return []string{python, path}, errors.Join(
			os.WriteFile(filepath.Join(dir, "oarlock.py"), []byte(helper), 0o600),
			os.WriteFile(path, noopPreload, 0o600))
	case python == "":
		path := filepath.Join(dir, "noop.sh")
		return []string{"sh", path}, os.WriteFile(path, noopShell, 0o600)
	}
	path := filepath.Join(dir, "noop.py")
	// It needs no packages, and finding them is most of Python's start.
	return []string{python, "-S", path}, os.WriteFile(path, noopPython, 0o600)
}

// findPython gives the path of Python itself: a python3 in PATH is often a wrapper that
// takes longer to start than Python does. "" means that there is none.
func findPython() string {
	out, err := exec.Command("python3", "-I", "-c", "import sys; print(sys.executable)").Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}
