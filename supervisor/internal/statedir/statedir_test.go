package statedir

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"oarlock/runner"
)

// somebody is a user who is neither root nor we.
const somebody = 54321

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A directory is a state directory if it is ours and nobody else writes to it.
func TestStateDir(t *testing.T) {
	for _, tt := range []struct {
		name string
		make func(dir string) error
		want string // part of the error; "": none
	}{
		{"not there yet", func(string) error { return nil }, ""},
		{"ours alone", func(dir string) error { return os.Mkdir(dir, 0o700) }, ""},
		{"that a group reads", func(dir string) error { return os.Mkdir(dir, 0o750) }, ""},
		{"behind a link", func(dir string) error {
			return errors.Join(os.Mkdir(dir+".real", 0o700), os.Symlink(dir+".real", dir))
		}, ""},
		{"that its group writes", func(dir string) error { return errors.Join(os.Mkdir(dir, 0o700), os.Chmod(dir, 0o770)) }, "can be written by others"},
		{"that anybody writes", func(dir string) error { return errors.Join(os.Mkdir(dir, 0o700), os.Chmod(dir, 0o707)) }, "can be written by others"},
		{"like /tmp", func(dir string) error { return errors.Join(os.Mkdir(dir, 0o700), os.Chmod(dir, 0o777|os.ModeSticky)) }, "can be written by others"},
		{"somebody's", func(dir string) error { return errors.Join(os.Mkdir(dir, 0o755), os.Chown(dir, somebody, somebody)) }, "belongs to user 54321"},
		{"behind a link to somebody's", func(dir string) error {
			return errors.Join(os.Mkdir(dir+".real", 0o755), os.Chown(dir+".real", somebody, somebody), os.Symlink(dir+".real", dir))
		}, "belongs to user 54321"},
		{"that is a pipe", func(dir string) error { return syscall.Mkfifo(dir, 0o600) }, "not a directory"},
		{"that is a file", func(dir string) error { return os.WriteFile(dir, nil, 0o600) }, "not a directory"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "state")
			if err := tt.make(dir); errors.Is(err, os.ErrPermission) {
				t.Log("only root can give a directory away")
				return
			} else if err != nil {
				t.Fatal(err)
			}
			err := Check(dir)
			var exposed *ExposedError
			switch {
			case tt.want == "" && err != nil:
				t.Errorf("Check() = %v", err)
			case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("Check() = %v, want %q", err, tt.want)
			case tt.want != "" && errors.As(err, &exposed) == strings.Contains(tt.want, "directory"):
				t.Errorf("%v is exposure: %t", err, exposed != nil)
			}
			if l, again := Begin(dir); (again == nil) != (err == nil) {
				t.Errorf("Begin() = %v", again)
			} else if again == nil {
				l.End()
			}
		})
	}
}

// What lies in the state directory and others could have written is not heeded; nothing in
// it is waited for, and its neighbours are.
func TestOnlyFilesOfOursAreHeeded(t *testing.T) {
	for _, tt := range []struct {
		name   string
		suffix string // of the file that is changed
		change func(path string) error
		want   string // part of the error
	}{
		{"somebody's", lifeSuffix, func(path string) error { return os.Chown(path, somebody, somebody) }, "belongs to user 54321"},
		{"anybody's", lifeSuffix, func(path string) error { return os.Chmod(path, 0o666) }, "can be written by others"},
		{"its children anybody's", childrenSuffix, func(path string) error { return os.Chmod(path, 0o620) }, "can be written by others"},
		{"its children somebody's", childrenSuffix, func(path string) error { return os.Chown(path, somebody, somebody) }, "belongs to user 54321"},
		{"with a second name", lifeSuffix, func(path string) error { return os.Link(path, path+".too") }, "second name"},
		{"a pipe", lifeSuffix, func(path string) error { return errors.Join(os.Remove(path), syscall.Mkfifo(path, 0o600)) }, "is no file"},
		{"its children a pipe", childrenSuffix, func(path string) error { return errors.Join(os.Remove(path), syscall.Mkfifo(path, 0o600)) }, "is no file"},
		{"a link that leads out", childrenSuffix, func(path string) error {
			return errors.Join(os.Remove(path), os.Symlink("/etc/hostname", path))
		}, "escapes"},
		{"endless", childrenSuffix, func(path string) error { return os.Truncate(path, mostState+1) }, "longer"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			victim := sleeper(t, childMark)
			l, err := Begin(dir)
			must(t, err)
			_, err = l.Enter(victim.Process.Pid, victim.Process.Pid)
			must(t, err)
			l.Abandon()
			if err := tt.change(filepath.Join(dir, l.name+tt.suffix)); errors.Is(err, os.ErrPermission) {
				t.Log("only root can give a file away")
				return
			} else if err != nil {
				t.Fatal(err)
			}
			neighbour, err := Begin(dir)
			must(t, err)
			neighbour.Abandon()
			left, _, err := heritages(opened(t, dir))
			if len(left) != 1 || left[0].life.name != neighbour.name || err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), l.name) {
				t.Errorf("%d heritages, %v; want only the neighbour's, and %q", len(left), err, tt.want)
			}
			if !runner.Alive(victim.Process.Pid) {
				t.Error("the process that it names is dead")
			}
			for _, h := range left {
				h.keep()
			}
		})
	}
}
