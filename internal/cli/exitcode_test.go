package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"oarlock/internal/config"
	"oarlock/internal/must"
)

// What the host lacks may be there a moment later; what a file says stays as it is.
func TestExitCodesTellTheHostFromTheFile(t *testing.T) {
	wrong := config.Problem{Key: "pools", Why: "there is no pool"}
	for _, errno := range []syscall.Errno{syscall.ENOSPC, syscall.EROFS, syscall.EIO, syscall.EDQUOT, syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.ESTALE} {
		broken := &fs.PathError{Op: "mkdir", Path: "/state", Err: errno}
		for what, err := range map[string]error{
			"as it is":      fmt.Errorf("state directory: %w", broken),
			"of a key":      config.Wrong("supervisor.state_dir", fmt.Errorf("state directory: %w", broken)),
			"of the file":   &config.UnreadableError{Err: broken},
			"among several": errors.Join(errors.New("leave"), config.Wrong("redis", broken)),
		} {
			if got := exitCode(err); got != exitTempFail {
				t.Errorf("%v %s is exit code %d", errno, what, got)
			}
		}
		if got := exitCode(append(config.Wrong("supervisor.state_dir", broken), wrong)); got != exitConfig {
			t.Errorf("%v beside a mistake is exit code %d: a restart does not cure that", errno, got)
		}
	}
	for _, errno := range []syscall.Errno{syscall.EACCES, syscall.ENOTDIR, syscall.ENAMETOOLONG, syscall.ENOENT} {
		if got := exitCode(config.Wrong("supervisor.state_dir", errno)); got != exitConfig {
			t.Errorf("%v is exit code %d", errno, got)
		}
	}
}

// A disk that is full, or that the kernel has made read-only, ends the start so that the
// service manager tries again.
func TestStartOnADiskInTrouble(t *testing.T) {
	for name, options := range map[string]struct {
		flags uintptr
		data  string
		why   string
	}{
		"full":      {0, "mode=0700,nr_inodes=1", "no space left on device"},
		"read-only": {unix.MS_RDONLY, "mode=0700", "read-only file system"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScript(t, workFiles)
			disk := filepath.Join(s.dir, "disk")
			must.Do(t, os.Mkdir(disk, 0o755))
			if err := unix.Mount("tmpfs", disk, "tmpfs", options.flags, options.data); err != nil {
				t.Logf("not shown on this machine: mount: %v", err)
				return
			}
			t.Cleanup(func() { _ = unix.Unmount(disk, unix.MNT_DETACH) })
			for _, state := range []string{disk, filepath.Join(disk, "state")} {
				must.Do(t, s.oarlock(exitTempFail, []string{"run", "--state-dir", state}))
				if text := s.said["stderr"]; !strings.Contains(text, disk) || !strings.Contains(text, options.why) {
					t.Errorf("it says %s", text)
				}
			}
		})
	}
}

// What init writes runs, in a directory where nothing else is.
func TestInitThenRun(t *testing.T) {
	s := newScript(t, "")
	must.Do(t, s.oarlock(0, []string{"init"}))
	p := begin(t, s, "run")
	p.ask("put", "default", `{"to": "ann"}`, "--jid", "first")
	p.await(`worked on job first: \d+ bytes`)
	p.until("complete", "job", "show", "first")
	p.terminate()
}

// Of what a shell could not run the job tells what the code means and what to look at; of a script's own codes nothing more.
func TestWhyTellsWhatAShellMeans(t *testing.T) {
	s, c := scriptOn(t, "")
	for group, want := range map[string]string{
		"exit-127": "Its program left with exit code 127, as a shell does that does not find a command: is it installed, and in the PATH that children have?",
		"exit-126": "Its program left with exit code 126, as a shell does that finds a command and may not run it: is it executable, and made for this kind of host?",
		"exit-3":   "",
	} {
		atWork(t, c, "w", group)
		must.Do(t, c.Fail(t.Context(), group, "w", group, "sh: 1: frobnicate: not found"))
		said := s.says(t, exitOK, "job why "+group, "It has failed: "+group, want)
		if want == "" && strings.Contains(said, "shell") {
			t.Errorf("it says\n%s", said)
		}
	}
}
