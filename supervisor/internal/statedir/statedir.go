// Package statedir is what a supervisor leaves in the state directory for its successors, and
// what becomes of that: children of the dead are ended, and their jobs given back. It owns the
// files in the directory. It knows no pool, and of Redis only what holding and giving back takes.
package statedir

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// What the state directory says makes us end processes and give jobs back. So it is
// believed only where nobody but us, and root, can have written it. The directory is held
// open for as long as it is used and its files are reached through it: what lies elsewhere
// under its name since, or behind a link that leads out of it, is not touched.

// ExposedError says that somebody else could have written what a state directory holds.
type ExposedError struct {
	Path string // the directory, or a file in it
	Why  string
}

func (e *ExposedError) Error() string { return e.Path + " " + e.Why }

// Check makes dir, unless it is there, and reports whether it can be used as a
// state directory. The error is an *ExposedError if others could have written there, else
// about the file system. Children under other users may pass through what it makes.
func Check(dir string) error {
	root, err := open(dir)
	if err != nil {
		return err
	}
	return root.Close()
}

// open is Check, and holds the directory that was looked at.
func open(dir string) (*os.Root, error) {
	if err := os.MkdirAll(dir, 0o711); err != nil {
		return nil, fmt.Errorf("state directory: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("state directory: %w", err)
	}
	info, err := root.Stat(".")
	if err == nil {
		err = ownedAlone(dir, info)
	}
	if err != nil {
		root.Close()
		return nil, err
	}
	return root, nil
}

// ownedAlone returns an *ExposedError unless what info tells of, at path, belongs to us and
// nobody else may write to it. What belongs to root is root's word, and good for us.
func ownedAlone(path string, info fs.FileInfo) error {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return &ExposedError{path, "does not tell whose it is"}
	}
	switch mode := info.Mode(); {
	case int(stat.Uid) != os.Geteuid() && (stat.Uid != 0 || info.IsDir()):
		return &ExposedError{path, fmt.Sprintf("belongs to user %d and we are user %d; name a directory of our own as supervisor.state_dir, or chown it", stat.Uid, os.Geteuid())}
	case mode.Perm()&0o022 != 0: // of an access control list, that is the mask
		return &ExposedError{path, fmt.Sprintf("can be written by others (mode %v); chmod go-w it, or name another directory as supervisor.state_dir", mode)}
	case mode.IsRegular() && stat.Nlink > 1:
		return &ExposedError{path, "has a second name elsewhere; remove it"}
	case !mode.IsRegular() && !mode.IsDir():
		return &ExposedError{path, "is no file; remove it"}
	}
	return nil
}

// mostState is the longest file of a state directory that is read, in bytes.
const mostState = 16 << 20

// openFile opens a file of the state directory, if it is one and ours; it waits for
// nothing, and follows no link.
func openFile(dir *os.Root, name string, flag int) (*os.File, error) {
	file, err := dir.OpenFile(name, flag|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil {
		err = ownedAlone(name, info)
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

// readFile reads an open file of the state directory from its beginning.
func readFile(file *os.File) ([]byte, error) {
	text, err := io.ReadAll(io.NewSectionReader(file, 0, mostState+1))
	if err == nil && len(text) > mostState {
		err = errors.New("it is longer than we write")
	}
	return text, err
}
