package private

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"oarlock/runner/internal/runnertest"
)

var must = runnertest.Must

const nobody = runnertest.Nobody

// testDirs returns private directories below a fresh root, and what is logged about them.
func testDirs(t *testing.T, root string) (*Dirs, *bytes.Buffer) {
	t.Helper()
	var log bytes.Buffer
	d, err := Open(root, slog.New(slog.NewTextHandler(&log, nil)))
	must(t, err)
	return d, &log
}

func mustCreate(t *testing.T, d *Dirs) string {
	t.Helper()
	path, err := d.Create(-1, -1)
	must(t, err)
	return path
}

// entries returns all that is below dir, itself excepted.
func entries(t *testing.T, dir string) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if path != dir {
			found = append(found, path)
		}
		return err
	})
	must(t, err)
	return found
}

// makeAwkward fills dir with what is awkward to remove (S19, G4).
func makeAwkward(t *testing.T, dir, victim string) {
	t.Helper()
	in := func(names ...string) string { return filepath.Join(append([]string{dir}, names...)...) }
	must(t, os.Symlink(victim, in("link to a file")))
	must(t, os.Symlink(filepath.Dir(victim), in("link to a directory")))
	must(t, os.Symlink("no such file", in("dangling link")))
	must(t, os.Link(victim, in("hard link")))
	must(t, syscall.Mkfifo(in("fifo nobody writes to"), 0o600))
	must(t, os.WriteFile(in("file\nof no rights"), nil, 0))
	if os.Getuid() == 0 {
		must(t, syscall.Mknod(in("device"), syscall.S_IFCHR|0o600, 1<<8|5))
	}
	must(t, os.MkdirAll(in("a", "b", "c"), 0o700))
	must(t, os.WriteFile(in("a", "b", "c", "file"), []byte("x"), 0o400))
	must(t, os.Chmod(in("a", "b", "c"), 0))
	must(t, os.Chmod(in("a", "b"), 0o500))
	must(t, os.Chmod(in("a"), 0))
	must(t, os.Chmod(dir, 0))
}

func TestPrivateDirIsRemovedWhateverItHolds(t *testing.T) {
	if os.Getuid() == 0 {
		// Root may do anything; what matters are those who may not. So as somebody else, too.
		t.Run("as nobody", func(t *testing.T) { runnertest.AsNobody(t, t.Name()) })
	}
	root, outside := filepath.Join(t.TempDir(), "root"), t.TempDir()
	victim := filepath.Join(outside, "victim")
	must(t, os.WriteFile(victim, []byte("precious"), 0o600))
	d, log := testDirs(t, root)
	dir := mustCreate(t, d)
	makeAwkward(t, dir, victim)
	begin := time.Now()
	d.Remove(dir)
	took := time.Since(begin)
	d.Close()
	t.Logf("S19 given back in %v, all removed in %v", took, time.Since(begin))
	if got := entries(t, root); len(got) != 3 { // lock, trash, kept
		t.Errorf("left: %q; logged: %s", got, log)
	}
	if text, err := os.ReadFile(victim); err != nil || string(text) != "precious" {
		t.Errorf("the victim is %q, %v", text, err)
	}
	if info, err := os.Stat(victim); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the victim's rights changed: %v, %v", info.Mode(), err)
	}
}

func TestPrivateDirGoesAwayInNoTime(t *testing.T) {
	files, levels := runnertest.Scaled(500, 10_000), runnertest.Scaled(300, 3_000)
	tests := []struct {
		name string
		fill func(dir string)
	}{
		{"many files", func(dir string) {
			for i := range files {
				must(t, os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), nil, 0o600))
			}
		}},
		{"many levels", func(dir string) {
			level, err := os.OpenRoot(dir)
			must(t, err)
			for range levels {
				must(t, level.Mkdir("d", 0o700))
				below, err := level.OpenRoot("d")
				must(t, err)
				level.Close()
				level = below
			}
			level.Close()
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			root := filepath.Join(t.TempDir(), "root")
			d, log := testDirs(t, root)
			dir := mustCreate(t, d)
			tt.fill(dir)
			begin := time.Now()
			d.Remove(dir)
			took := time.Since(begin)
			d.Close()
			removed := time.Since(begin)
			t.Logf("G4 %s: given back in %v, removed in %v", tt.name, took, removed)
			if !testing.Short() && took > max(50*time.Millisecond, removed/4) { // who waits for a processor waits for both
				t.Errorf("giving it back took %v, and removing it %v", took, removed)
			}
			if got := entries(t, root); len(got) != 3 {
				t.Errorf("%d left, such as %q; logged: %s", len(got), got[0], log)
			}
		})
	}
}

// TestPrivateDirOfTheDead: what a supervisor that was killed has left is removed by the next one, and
// what a living one uses is not.
func TestPrivateDirOfTheDead(t *testing.T) {
	root := filepath.Join(t.TempDir(), "root")
	living, _ := testDirs(t, root)
	inUse := mustCreate(t, living)
	dead, _ := testDirs(t, root)
	must(t, os.WriteFile(filepath.Join(mustCreate(t, dead), "file"), nil, 0o600))
	dead.lock.Close() // as the kernel does for a killed process
	close(dead.trash)
	dead.swept.Wait()
	must(t, os.Mkdir(filepath.Join(root, "trash", "half-removed"), 0o700))

	next, log := testDirs(t, root)
	next.Close()
	if left, _ := filepath.Glob(filepath.Join(root, "trash", "*")); len(left) > 0 {
		t.Errorf("left in the trash: %q; logged: %s", left, log)
	}
	if _, err := os.Stat(dead.life); !os.IsNotExist(err) {
		t.Errorf("the directory of the dead is there: %v", err)
	}
	if _, err := os.Stat(inUse); err != nil {
		t.Errorf("one in use was removed: %v", err)
	}
	living.Close()
}

// A child that was just being started may hold the lock of its dead supervisor a little longer.
func TestPrivateDirOfTheDyingDead(t *testing.T) {
	root := filepath.Join(t.TempDir(), "root")
	dead, _ := testDirs(t, root)
	mustCreate(t, dead)
	close(dead.trash)
	dead.swept.Wait()
	next, log := testDirs(t, root)
	dead.lock.Close()
	next.Close()
	if _, err := os.Stat(dead.life); !os.IsNotExist(err) {
		t.Errorf("the directory of the dead is there: %v; logged: %s", err, log)
	}
}

func TestPrivateDirIsKept(t *testing.T) {
	root := filepath.Join(t.TempDir(), "root")
	d, _ := testDirs(t, root)
	var last string
	for i := range 5 {
		dir := mustCreate(t, d)
		must(t, os.WriteFile(filepath.Join(dir, "number"), fmt.Append(nil, i), 0o600))
		last = d.Keep(dir, "../../mail", 2)
	}
	d.Keep(mustCreate(t, d), "other", 2)
	if got := d.Keep(mustCreate(t, d), "other", 0); got != "" {
		t.Errorf("none to keep, and yet %s", got)
	}
	d.Close()
	kept, _ := filepath.Glob(filepath.Join(root, "kept", "*mail", "*"))
	if len(kept) != 2 || kept[1] != last {
		t.Fatalf("kept are %q, the last is %s", kept, last)
	}
	if text, err := os.ReadFile(filepath.Join(last, "number")); string(text) != "4" {
		t.Errorf("the last holds %q, %v", text, err)
	}
}

// TestPrivateDirIsReplaced: a child of our own user can put something else in the place of its directory
// while it is given back. Whatever wins, nothing outside changes (S20).
func TestPrivateDirIsReplaced(t *testing.T) {
	root, outside := filepath.Join(t.TempDir(), "root"), t.TempDir()
	victim := filepath.Join(outside, "victim")
	must(t, os.WriteFile(victim, []byte("precious"), 0o600))
	must(t, os.Chmod(outside, 0o500)) // so that opening it up would show
	defer os.Chmod(outside, 0o700)
	d, log := testDirs(t, root)
	races := runnertest.Scaled(500, 10_000)
	for range races {
		dir := mustCreate(t, d)
		replaced := make(chan struct{})
		go func() {
			defer close(replaced)
			os.Remove(dir)
			os.Symlink(outside, dir)
		}()
		d.Remove(dir)
		<-replaced
		os.Remove(dir)
	}
	d.Close()
	info, err := os.Stat(outside)
	must(t, err)
	if text, err := os.ReadFile(victim); string(text) != "precious" || info.Mode().Perm() != 0o500 {
		t.Errorf("outside something changed: %q, %v, %v", text, err, info.Mode())
	}
	t.Logf("S20 %d races, 0 effects", races)
	if got := entries(t, root); len(got) != 3 {
		t.Errorf("left: %q; logged: %s", got, log)
	}
}

func TestPrivateDirsOfOthers(t *testing.T) {
	root := filepath.Join(t.TempDir(), "root")
	d, _ := testDirs(t, root)
	defer d.Close()
	dir := mustCreate(t, d)
	for path, want := range map[string]os.FileMode{root: 0o711, d.life: 0o711, dir: 0o700} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v; want %v", path, info.Mode(), err, want)
		}
	}
	if os.Getuid() != 0 {
		t.Log("S21 takes two users, and so root")
		return
	}
	theirs, err := d.Create(nobody, nobody)
	must(t, err)
	must(t, os.Chmod(filepath.Dir(filepath.Dir(root)), 0o711)) // on the way to it, of this test's own
	must(t, os.Chmod(filepath.Dir(root), 0o711))
	read := func(path string) (string, error) {
		cmd := exec.Command("ls", path)
		cmd.Dir, cmd.SysProcAttr = theirs, &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := read(dir); err == nil || !strings.Contains(out, "Permission denied") {
		t.Errorf("S21 another's directory: %q, %v", out, err)
	}
	if out, err := read(d.life); err == nil || !strings.Contains(out, "Permission denied") {
		t.Errorf("S21 the list of all: %q, %v", out, err)
	}
	if out, err := read(theirs); err != nil {
		t.Errorf("S21 its own directory: %q, %v", out, err)
	}
}

func TestRootOfPrivateDirsMustBeOurs(t *testing.T) {
	target, link := t.TempDir(), filepath.Join(t.TempDir(), "link")
	must(t, os.Symlink(target, link))
	for _, root := range []string{link, "/proc/self"} {
		if _, err := Open(root, slog.New(slog.DiscardHandler)); err == nil {
			t.Errorf("%s was accepted", root)
		}
	}
}

// Somebody removes everything below a supervisor: the next child has a directory all the same.
func TestRemovedRootIsMadeAnew(t *testing.T) {
	root := filepath.Join(t.TempDir(), "state", "private")
	d, log := testDirs(t, root)
	lost := mustCreate(t, d)
	must(t, os.RemoveAll(filepath.Dir(root)))
	path := mustCreate(t, d)
	must(t, os.WriteFile(filepath.Join(path, "file"), nil, 0o600))
	d.Remove(lost)
	d.Remove(path)
	if text := log.String(); strings.Count(text, "made anew") != 1 {
		t.Errorf("the log says\n%s", text)
	}
	other, _ := testDirs(t, root) // the lock is held: what lives is not taken for dead
	if _, err := os.Stat(d.life); err != nil {
		t.Errorf("another has removed ours: %v", err)
	}
	other.Close()
	d.Close()
	if left, _ := filepath.Glob(root + "/l-*"); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}
