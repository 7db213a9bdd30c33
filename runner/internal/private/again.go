package private

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// To make a directory and to remove it costs a file system many times what it does to look at one and to rename it. So
// one that its child has left as it was is used again, under another name: who remembers the old one finds nothing.

// owner is whom a directory was made for.
type owner struct{ uid, gid int }

// stamp tells whether a directory is as it was when it was handed out: whatever is done in it or to it, the kernel
// notes the time in its inode, which nobody can set.
type stamp struct {
	owner   owner
	device  uint64
	inode   uint64
	changed unix.Timespec
}

const (
	// mostSpares is how many directories are kept for one owner.
	mostSpares = 64
	// spareTime is how long they are kept after the last one came: what has nothing to do leaves nothing behind, on a file system that
	// may be full.
	spareTime = time.Second
)

// GiveBack is Remove for a directory that nobody can reach any more but by its name: no process that had it open lives.
// It is used again if nothing was done with it.
func (d *Dirs) GiveBack(path string) {
	if !d.reuse(path) {
		d.Remove(path)
	}
}

// reuse makes a spare of a directory in use. If it cannot be one, nothing changes.
func (d *Dirs) reuse(path string) bool {
	d.handed.Lock()
	was, known := d.stamps[path]
	known = known && len(d.spares[was.owner]) < mostSpares
	d.handed.Unlock()
	if !known || !untouched(path, was) {
		return false
	}
	spare := d.newPath()
	if unix.Rename(path, spare) != nil {
		return false
	}
	d.handed.Lock()
	defer d.handed.Unlock()
	delete(d.stamps, path)
	d.stamps[spare] = was
	d.spares[was.owner] = append(d.spares[was.owner], spare)
	d.idle.Reset(spareTime)
	return true
}

// dropSpares removes all spares. It returns where those are now that were not empty, which no spare of ours is.
func (d *Dirs) dropSpares() (left []string) {
	d.handed.Lock()
	all := d.spares
	d.spares = make(map[owner][]string)
	d.handed.Unlock()
	for _, spares := range all {
		for _, path := range spares {
			d.forget(path)
			if unix.Rmdir(path) == nil {
				continue
			}
			if trashed, err := d.aside(path); err == nil {
				left = append(left, trashed)
			}
		}
	}
	return left
}

// spare hands out a spare directory, if there is one.
func (d *Dirs) spare(of owner) (path string, there bool) {
	for {
		d.handed.Lock()
		spares := d.spares[of]
		if len(spares) == 0 {
			d.handed.Unlock()
			return "", false
		}
		path, d.spares[of] = spares[0], spares[1:]
		d.handed.Unlock()
		if d.stamp(path, of) == nil {
			return path, true
		}
		d.Remove(path) // somebody has put another in its place, or has removed it
	}
}

var errReplaced = errors.New("another is in its place")

// stamp notes what a directory is like that is about to be handed out; one that is used again is to be the same.
func (d *Dirs) stamp(path string, of owner) error {
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		return os.NewSyscallError("stat", err)
	}
	now := stampOf(&st, of)
	d.handed.Lock()
	defer d.handed.Unlock()
	if was, again := d.stamps[path]; again && (was.device != now.device || was.inode != now.inode) {
		return errReplaced
	}
	d.stamps[path] = now
	return nil
}

func stampOf(st *unix.Stat_t, of owner) stamp { return stamp{of, uint64(st.Dev), st.Ino, st.Ctim} }

// forget says that a directory is no longer in use.
func (d *Dirs) forget(path string) {
	d.handed.Lock()
	delete(d.stamps, path)
	d.handed.Unlock()
}

// untouched tells whether a directory is as it was when it had that stamp. The clock of a file system may stand still
// for some milliseconds (until Linux 6.13), in which much can be done: what matters most is looked at itself.
func untouched(path string, was stamp) bool {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil || stampOf(&st, was.owner) != was || st.Mode&0o7777 != 0o700 {
		return false
	}
	return empty(fd)
}

// empty tells whether a directory has no entries.
func empty(dir int) bool {
	var entries [1 << 10]byte
	n, err := unix.ReadDirent(dir, entries[:])
	if err != nil {
		return false
	}
	_, count, _ := unix.ParseDirent(entries[:n], -1, nil) // which leaves out . and ..
	return count == 0
}
