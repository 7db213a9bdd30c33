// Package private gives out directories that belong to one child each, keeps those of failed runs for
// somebody to look at, and gets rid of all others, whatever is in them and whoever has died. It owns the
// directory that holds them, and a goroutine that removes. It knows of children no more than a user and
// the name of a pool.
package private

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Dirs gives out private directories and gets rid of them.
//
//	<root>/<life>/lock        held as long as this supervisor lives
//	<root>/<life>/d-<random>  one in use, or spare
//	<root>/trash/<random>     to be removed, in the background
//	<root>/kept/<pool>/<time> of failed runs, for somebody to look at
//
// Names are ours and random: nothing of a job is part of a path. <root> belongs to us and children
// cannot list it; what is theirs is only the directory itself. Methods may be called by several
// goroutines.
type Dirs struct {
	root string
	life string // our <life>
	lock *os.File
	log  *slog.Logger

	trash chan string    // to be removed; closed by close
	swept sync.WaitGroup // the goroutine that does it

	mu sync.Mutex // guards what is in kept

	handed sync.Mutex
	stamps map[string]stamp   // of those in use and of spares, by path
	spares map[owner][]string // to be used again, the oldest first
	idle   *time.Timer        // when spares are no longer kept

	making sync.Mutex // guards lock, while all is made anew
}

// trashQueue is how many directories may wait for their removal before giving back another waits, too.
const trashQueue = 1024

// Open prepares root, which it makes if it is not there, and begins to remove what dead supervisors have
// left there. The error says what is the matter with root: somebody else's, most likely.
func Open(root string, log *slog.Logger) (*Dirs, error) {
	d := &Dirs{root: root, life: filepath.Join(root, "l-"+randomName()), log: log, trash: make(chan string, trashQueue),
		stamps: make(map[string]stamp), spares: make(map[owner][]string), idle: time.NewTimer(spareTime)}
	left, err := d.prepare()
	if err != nil {
		return nil, fmt.Errorf("private directories: %w", err)
	}
	d.swept.Add(1)
	go d.sweep(left)
	return d, nil
}

func (d *Dirs) prepare() (left []string, err error) {
	if err := ownDir(d.root); err != nil {
		return nil, err
	}
	turn, err := d.turn()
	if err != nil {
		return nil, err
	}
	defer turn.Close()
	for _, dir := range []string{d.trashDir(), filepath.Join(d.root, "kept"), d.life} {
		if err := ownDir(dir); err != nil {
			return nil, err
		}
	}
	if d.lock, err = lockFile(filepath.Join(d.life, "lock"), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return nil, err
	}
	return d.leftovers()
}

// turn lets one of those who share root look through it at a time, or another's directory might be
// gone through before it is locked.
func (d *Dirs) turn() (*os.File, error) { return lockFile(filepath.Join(d.root, "lock"), unix.LOCK_EX) }

// ownDir makes a directory that belongs to us, which others may go through but neither list nor change:
// a child under another user gets to its own directory, and sees no other.
func ownDir(path string) error {
	if err := os.MkdirAll(path, 0o711); err != nil {
		return err
	}
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if owner := info.Sys().(*syscall.Stat_t).Uid; !info.IsDir() || int(owner) != os.Geteuid() {
		return fmt.Errorf("%s is not a directory of ours (user %d); name another", path, os.Geteuid())
	}
	return os.Chmod(path, 0o711)
}

// randomName returns a name of 65 random bits in letters and digits.
func randomName() string { return strings.ToLower(rand.Text()[:13]) }

// lockFile locks a file, as how says, for as long as it is open.
func lockFile(path string, how int) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(file.Fd()), how); err != nil {
		file.Close()
		return nil, os.NewSyscallError("lock "+path, err)
	}
	return file, nil
}

// leftovers moves what dead supervisors had in use into the trash, and returns all there is in it.
func (d *Dirs) leftovers() ([]string, error) {
	lives, err := filepath.Glob(filepath.Join(d.root, "l-*"))
	if err != nil {
		return nil, err
	}
	for _, life := range lives {
		if life == d.life {
			continue
		}
		lock, err := lockFile(filepath.Join(life, "lock"), unix.LOCK_EX|unix.LOCK_NB)
		if errors.Is(err, unix.EWOULDBLOCK) {
			continue // alive
		}
		if err == nil {
			lock.Close()
		}
		if _, err := d.aside(life); err != nil {
			d.log.Warn("directories of a dead supervisor cannot be removed", "dir", life, "err", err)
		}
	}
	entries, err := os.ReadDir(d.trashDir())
	if err != nil {
		return nil, err
	}
	var left []string
	for _, entry := range entries {
		left = append(left, filepath.Join(d.trashDir(), entry.Name()))
	}
	return left, nil
}

// late is leftovers for the time after the start; what fails is for the next start.
func (d *Dirs) late() []string {
	turn, err := d.turn()
	if err != nil {
		return nil
	}
	defer turn.Close()
	left, _ := d.leftovers()
	return left
}

func (d *Dirs) trashDir() string { return filepath.Join(d.root, "trash") }

// sweepAgain is how long the sweep waits before it tries once more what it could not remove.
const sweepAgain = time.Second

// sweepLooks is how often it looks again for what dead supervisors have left: a child that one of
// them was starting may hold the lock of the dead for a moment.
const sweepLooks = 3

// sweep removes left and then everything that is put into the trash, until close. What cannot be
// removed, as when descriptors have run out, is tried again.
func (d *Dirs) sweep(left []string) {
	defer d.swept.Done()
	stuck := make(map[string]error)
	remove := func(path string) {
		err := removeTree(path, d.trashDir())
		if err == nil {
			delete(stuck, path)
			return
		}
		if stuck[path] == nil {
			d.log.Warn("a private directory cannot be removed yet", "dir", path, "err", err)
		}
		stuck[path] = err
	}
	again := func() {
		for path := range stuck {
			remove(path)
		}
	}
	for _, path := range left {
		remove(path)
	}
	looks := sweepLooks
	look := func() {
		if looks--; looks < 0 {
			return
		}
		for _, path := range d.late() {
			remove(path)
		}
	}
	tries := time.NewTicker(sweepAgain)
	defer tries.Stop()
	for {
		var later <-chan time.Time
		if len(stuck) > 0 || looks > 0 {
			later = tries.C
		}
		select {
		case <-later:
			again()
			look()
		case <-d.idle.C:
			for _, path := range d.dropSpares() {
				remove(path)
			}
		case path, open := <-d.trash:
			if open {
				remove(path)
				continue
			}
			again()
			look()
			for path, err := range stuck {
				d.log.Warn("a private directory cannot be removed; it stays until the next start", "dir", path, "err", err)
			}
			return
		}
	}
}

// Close waits until all is removed. All directories have been given back.
func (d *Dirs) Close() {
	d.idle.Stop()
	if trashed, err := d.aside(d.life); err == nil {
		d.trash <- trashed
	}
	close(d.trash)
	d.swept.Wait()
	d.lock.Close()
}

// Create returns the path of an empty private directory, which has been nobody's. It belongs to uid and gid; -1 is ours.
func (d *Dirs) Create(uid, gid int) (string, error) {
	if path, there := d.spare(owner{uid, gid}); there {
		return path, nil
	}
	path := d.newPath()
	err := os.Mkdir(path, 0o700)
	if errors.Is(err, fs.ErrNotExist) {
		if err = d.anew(); err == nil {
			err = os.Mkdir(path, 0o700)
		}
	}
	if err != nil {
		return "", fmt.Errorf("private directory: %w", err)
	}
	if uid >= 0 || gid >= 0 {
		err = os.Lchown(path, uid, gid)
	}
	if err == nil {
		err = d.stamp(path, owner{uid, gid})
	}
	if err != nil {
		os.Remove(path)
		return "", fmt.Errorf("private directory: %w", err)
	}
	return path, nil
}

func (d *Dirs) newPath() string { return filepath.Join(d.life, "d-"+randomName()) }

// anew prepares root once more, after somebody has removed it below us.
func (d *Dirs) anew() error {
	d.making.Lock()
	defer d.making.Unlock()
	if _, err := os.Stat(d.life); err == nil {
		return nil // another start was faster
	}
	was := d.lock
	if _, err := d.prepare(); err != nil {
		d.lock = was
		return err
	}
	was.Close()
	d.log.Warn("the private directories of children were removed below us, with what was in them; made anew", "dir", d.root)
	return nil
}

// Remove takes back a directory that Create returned. It takes no time: one that is empty, as most are, is
// gone; another is renamed, and goes in the background.
func (d *Dirs) Remove(path string) {
	d.forget(path)
	if unix.Rmdir(path) == nil {
		return
	}
	trashed, err := d.aside(path)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			d.log.Warn("a private directory cannot be removed; it stays until the next start", "dir", path, "err", err)
		}
		return
	}
	d.trash <- trashed
}

// Keep takes back a directory that Create returned, and keeps it together with at most most-1 others of
// pool, the oldest giving way. It returns where it now is; empty if it could not be kept.
func (d *Dirs) Keep(path, pool string, most int) string {
	if most < 1 {
		d.Remove(path)
		return ""
	}
	d.forget(path)
	d.mu.Lock()
	defer d.mu.Unlock()
	dir := filepath.Join(d.root, "kept", "pool-"+url.PathEscape(pool))
	kept := filepath.Join(dir, time.Now().UTC().Format("20060102T150405.000000000"))
	err := os.MkdirAll(dir, 0o711)
	if err == nil {
		err = moveDir(path, kept)
	}
	if err != nil {
		d.log.Warn("a private directory cannot be kept", "dir", path, "pool", pool, "err", err)
		d.Remove(path)
		return ""
	}
	entries, _ := os.ReadDir(dir) // sorted by name, which is the time
	slices.Reverse(entries)
	for _, entry := range entries[min(most, len(entries)):] {
		d.Remove(filepath.Join(dir, entry.Name()))
	}
	return kept
}

// aside moves path into the trash and returns where it is there.
func (d *Dirs) aside(path string) (string, error) {
	trashed := filepath.Join(d.trashDir(), randomName())
	return trashed, moveDir(path, trashed)
}

// moveDir renames a directory that a child may have made unwritable, for a directory that cannot be
// written cannot get a new parent. What is there instead of a directory is moved as it is: nothing is
// ever followed.
func moveDir(from, to string) error {
	err := os.Rename(from, to)
	if errors.Is(err, fs.ErrPermission) {
		if err := openUp(unix.AT_FDCWD, from); err != nil {
			return err
		}
		err = os.Rename(from, to)
	}
	return err
}
