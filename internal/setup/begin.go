package setup

import (
	_ "embed"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// WorkerName is the script that the example's command names.
const WorkerName = "worker.sh"

// exampleWorker is what that script may be.
//
//go:embed worker.sh
var exampleWorker string

// Begin writes the configuration example to the file path, and beside it the script WorkerName that it names, unless
// there is one: it gives the script's path, and whether it wrote that. The error is fs.ErrExist if there is a
// file at path and force is false.
func Begin(path, example string, force bool) (worker string, wrote bool, err error) {
	if err := writeNew(path, example, 0o644, force); err != nil {
		return "", false, err
	}
	worker = filepath.Join(filepath.Dir(path), WorkerName)
	err = writeNew(worker, exampleWorker, 0o755, false)
	if errors.Is(err, fs.ErrExist) {
		return worker, false, nil
	}
	return worker, err == nil, err
}

// writeNew writes a file that does not exist yet, or any if it may overwrite one. The error
// is fs.ErrExist if it may not.
func writeNew(path, text string, mode fs.FileMode, overwrite bool) error {
	how := os.O_CREATE | os.O_WRONLY | os.O_EXCL
	if overwrite {
		how = os.O_CREATE | os.O_WRONLY | os.O_TRUNC
	}
	file, err := os.OpenFile(path, how, mode)
	if err != nil {
		return err
	}
	_, err = file.WriteString(text)
	return errors.Join(err, file.Close())
}
