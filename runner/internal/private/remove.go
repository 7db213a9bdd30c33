package private

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// removeTree removes path whatever it holds: unreadable directories, more levels than a path may name,
// links, sockets, devices. Nothing is opened but directories, and no link is followed. A directory
// below path is first moved up into side, which is on the same file system and ours, and then emptied
// in its turn; so there is no depth to climb down, and no path through a directory that a child may
// still change. It goes on past what cannot be removed and returns the first such error.
func removeTree(path, side string) error {
	top, err := unix.Open(side, unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return &os.PathError{Op: "open", Path: side, Err: err}
	}
	defer unix.Close(top)
	var first error
	note := func(err error) {
		if first == nil {
			first = err
		}
	}
	aside := randomName() + "-"
	moved := 0
	waiting := []string{filepath.Base(path)} // in side
	for len(waiting) > 0 {
		name := waiting[len(waiting)-1]
		waiting = waiting[:len(waiting)-1]
		err := unix.Unlinkat(top, name, 0)
		if err == nil || err == unix.ENOENT {
			continue
		}
		err = emptyDir(top, name, func(parent int, below string) error {
			moved++
			to := aside + strconv.Itoa(moved)
			err := unix.Renameat(parent, below, top, to)
			if err == unix.EACCES || err == unix.EPERM {
				if err = openUp(parent, below); err == nil {
					err = unix.Renameat(parent, below, top, to)
				}
			}
			if err == nil {
				waiting = append(waiting, to)
			}
			return err
		})
		if err != nil {
			note(err)
		}
		if err := unix.Unlinkat(top, name, unix.AT_REMOVEDIR); err != nil {
			note(&os.PathError{Op: "remove", Path: filepath.Join(side, name), Err: err})
		}
	}
	return first
}

// emptyDir removes what is in the directory name of parent, and hands directories to moveUp.
func emptyDir(parent int, name string, moveUp func(parent int, name string) error) error {
	fd, err := openDirAt(parent, name)
	if err != nil {
		return fmt.Errorf("open directory %s: %w", name, err)
	}
	dir := os.NewFile(uintptr(fd), name)
	defer dir.Close()
	var first error
	for removed := true; removed; { // a directory that is read while it shrinks may hide entries
		removed = false
		if _, err := dir.Seek(0, io.SeekStart); err != nil {
			return err
		}
		for {
			names, err := dir.Readdirnames(1024)
			for _, entry := range names {
				err := unix.Unlinkat(fd, entry, 0)
				if errors.Is(err, unix.EISDIR) || errors.Is(err, unix.EPERM) {
					err = moveUp(fd, entry)
				}
				if err == nil {
					removed = true
				} else if first == nil {
					first = fmt.Errorf("remove %s: %w", entry, err)
				}
			}
			if err != nil {
				break // io.EOF, or nothing can be read here
			}
		}
	}
	return first
}

// openDirAt opens a directory to be read and changed, giving us the right to do so if that is missing.
func openDirAt(parent int, name string) (int, error) {
	const flags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
	if err := openUp(parent, name); err != nil {
		return -1, err
	}
	return unix.Openat(parent, name, flags, 0)
}
