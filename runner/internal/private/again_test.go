package private

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"
)

// again gives dir back and returns the next directory, and whether it is the same one under another name.
func again(t *testing.T, d *Dirs, dir string) (next string, same bool) {
	t.Helper()
	inode := func(path string) uint64 {
		var st unix.Stat_t
		if unix.Lstat(path, &st) != nil {
			return 0
		}
		return st.Ino
	}
	held, err := unix.Open(dir, unix.O_PATH|unix.O_NOFOLLOW, 0) // or the next one made might have its inode
	if err == nil {
		defer unix.Close(held)
	}
	before := inode(dir)
	d.GiveBack(dir)
	next = mustCreate(t, d)
	if next == dir {
		t.Errorf("%s came again under its own name", dir)
	}
	return next, before != 0 && inode(next) == before
}

func TestPrivateDirIsUsedAgain(t *testing.T) {
	d, _ := testDirs(t, filepath.Join(t.TempDir(), "root"))
	first := mustCreate(t, d)
	second, same := again(t, d, first)
	if !same {
		t.Errorf("a directory that nobody has touched was not used again")
	}
	if _, err := os.Lstat(first); !os.IsNotExist(err) {
		t.Errorf("its old name: %v", err)
	}
	if _, same = again(t, d, second); !same {
		t.Error("not used a third time")
	}
	d.Close()
	if got := entries(t, d.root); len(got) != 3 { // lock, trash, kept
		t.Errorf("left: %q", got)
	}
}

// Where nothing was given back for a while nothing is kept: a file system that is full is not full of spares.
func TestSparesAreNotKeptForLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, _ := testDirs(t, filepath.Join(t.TempDir(), "root"))
		one, other := mustCreate(t, d), mustCreate(t, d)
		d.GiveBack(one)
		time.Sleep(spareTime / 2)
		d.GiveBack(other)
		time.Sleep(spareTime * 3 / 4)
		synctest.Wait()
		if got := entries(t, d.life); len(got) != 3 { // lock, and both
			t.Errorf("kept: %q", got)
		}
		must(t, os.WriteFile(filepath.Join(entries(t, d.life)[0], "x"), nil, 0o600))
		time.Sleep(spareTime / 2)
		synctest.Wait()
		if got := append(entries(t, d.life), entries(t, d.trashDir())...); len(got) != 1 {
			t.Errorf("left: %q", got)
		}
		d.Close()
	})
}

// TestTouchedPrivateDirIsNotUsedAgain: whatever a child did, the next one has an empty directory with its rights.
func TestTouchedPrivateDirIsNotUsedAgain(t *testing.T) {
	in := func(dir, name string) string { return filepath.Join(dir, name) }
	for name, touch := range map[string]func(dir string) error{
		"a file":        func(dir string) error { return os.WriteFile(in(dir, "x"), nil, 0o600) },
		"a hidden one":  func(dir string) error { return os.WriteFile(in(dir, ".x"), nil, 0o600) },
		"a directory":   func(dir string) error { return os.Mkdir(in(dir, "x"), 0o700) },
		"a link":        func(dir string) error { return os.Symlink("/", in(dir, "x")) },
		"made and gone": func(dir string) error { return errors.Join(os.Mkdir(in(dir, "x"), 0o700), os.Remove(in(dir, "x"))) },
		"opened up":     func(dir string) error { return os.Chmod(dir, 0o777) },
		"shut":          func(dir string) error { return os.Chmod(dir, 0) },
		"sticky":        func(dir string) error { return unix.Chmod(dir, 0o1700) },
		"marked":        func(dir string) error { return unix.Setxattr(dir, "user.x", []byte("y"), 0) },
		"gone":          os.Remove,
		"another": func(dir string) error {
			if err := os.Rename(dir, dir+"-"); err != nil {
				return err
			}
			return os.Mkdir(dir, 0o700)
		},
		"a link in its place": func(dir string) error {
			if err := os.Remove(dir); err != nil {
				return err
			}
			return os.Symlink(t.TempDir(), dir)
		},
	} {
		t.Run(name, func(t *testing.T) {
			d, _ := testDirs(t, filepath.Join(t.TempDir(), "root"))
			defer d.Close()
			dir := mustCreate(t, d)
			awaitTick(t, dir)
			if err := touch(dir); errors.Is(err, unix.ENOTSUP) {
				t.Skipf("SKIPPED the file system of %s keeps no attributes of users", dir)
			} else if err != nil {
				t.Fatal(err)
			}
			next, same := again(t, d, dir)
			if same {
				t.Error("it was used again")
			}
			info, err := os.Lstat(next)
			must(t, err)
			if found := entries(t, next); len(found) > 0 || info.Mode() != os.ModeDir|0o700 {
				t.Errorf("the next one has %q, %v", found, info.Mode())
			}
		})
	}
}

// awaitTick returns when the clock of the file system has gone on since dir was made.
func awaitTick(t *testing.T, dir string) {
	t.Helper()
	changed := func(path string) int64 {
		var st unix.Stat_t
		must(t, unix.Lstat(path, &st))
		return st.Ctim.Nano()
	}
	other := filepath.Join(t.TempDir(), "tick")
	for before := changed(dir); ; {
		must(t, os.WriteFile(other, []byte("x"), 0o600))
		if changed(other) > before {
			return
		}
	}
}
