package integration

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// fileOf writes a file of that mode for user, past our umask.
func fileOf(t *testing.T, path, text string, mode os.FileMode, user int) {
	t.Helper()
	err := os.WriteFile(path, []byte(text), 0o600)
	if err := errors.Join(err, os.Chmod(path, mode), os.Chown(path, user, user)); err != nil {
		t.Fatal(err)
	}
}

// needRoot tells whether the test may act for several users.
func needRoot(t *testing.T) bool {
	t.Helper()
	if os.Geteuid() != 0 {
		notHere(t.Name(), errors.New("it takes two users, and so root"))
		return false
	}
	return true
}

// forgedState makes a state directory of user with the life file of a supervisor that is
// dead, whose only child is the process pid.
func forgedState(t *testing.T, pid, user int) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "oar")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	_, rest, _ := strings.Cut(string(stat), ") ")
	fileOf(t, filepath.Join(dir, "1-forged.life"), fmt.Sprintf(`{"pid":1,"start":1,"boot":%q}`, strings.TrimSpace(string(boot))), 0o600, user)
	fileOf(t, filepath.Join(dir, "1-forged.children"), fmt.Sprintf("%-63s\n", fmt.Sprint(pid, " ", pid, " ", strings.Fields(rest)[19])), 0o600, user)
	if err := errors.Join(os.Chmod(dir, 0o755), os.Chown(dir, user, user)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// A state directory that others could have written makes a supervisor kill nobody: that of
// root refuses it, another does without.
func TestForgedListOfChildren(t *testing.T) {
	if !needRoot(t) {
		return
	}
	if err := os.Chmod(filepath.Dir(oarlock(t)), 0o711); err != nil { // for the stranger
		t.Fatal(err)
	}
	victim := exec.Command("sleep", "60")
	victim.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	died := make(chan error, 1)
	go func() { died <- victim.Wait() }()
	defer victim.Process.Kill()
	run := func(dir string, user uint32, until string) (said string, code int) {
		config := filepath.Join(dir, "oarlock.toml")
		text := fmt.Sprintf("[redis]\nurl = \"unix:///nowhere\"\n[supervisor]\nstate_dir = %q\n[pools.p]\nqueues = [\"q\"]\ncommand = [\"true\"]\nsandbox.dir = \"/\"\n", dir)
		fileOf(t, config, text, 0o644, 0)
		cmd := exec.Command(oarlock(t), "run", "-c", config)
		cmd.Dir = "/"
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user, Gid: user}}
		log := filepath.Join(t.TempDir(), "log")
		out, err := os.Create(log)
		if err != nil {
			t.Fatal(err)
		}
		defer out.Close()
		cmd.Stdout, cmd.Stderr = out, out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan struct{})
		go func() { _ = cmd.Wait(); close(ended) }()
		await(t, 20*time.Second, func() error {
			select {
			case <-ended:
				return nil
			default:
			}
			if until != "" && strings.Contains(read(t, log), until) {
				return nil
			}
			return fmt.Errorf("it says\n%s", read(t, log))
		})
		_ = cmd.Process.Signal(syscall.SIGTERM)
		<-ended
		return read(t, log), cmd.ProcessState.ExitCode()
	}
	dir := forgedState(t, victim.Process.Pid, stranger)
	if said, code := run(dir, 0, "waiting for Redis"); code != 78 || !strings.Contains(said, "state_dir: "+dir+" belongs to user 54321") {
		t.Errorf("root with a stranger's state directory: exit code %d, want 78\n%s", code, said)
	}
	dir = forgedState(t, victim.Process.Pid, 0)
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if said, code := run(dir, 0, "waiting for Redis"); code != 78 || !strings.Contains(said, "can be written by others") {
		t.Errorf("root with anybody's state directory: exit code %d, want 78\n%s", code, said)
	}
	if said, code := run(dir, stranger, "is not believed"); code != 0 || !strings.Contains(said, "is not believed") {
		t.Errorf("a stranger with anybody's state directory: exit code %d, want 0\n%s", code, said)
	}
	// It may even be ours, restored from a copy: a process without our mark is nobody we started.
	dir = forgedState(t, victim.Process.Pid, 0)
	if said, _ := run(dir, 0, "nothing proves it"); !strings.Contains(said, "nothing proves it") {
		t.Errorf("root with its own state directory:\n%s", said)
	}
	select {
	case <-died:
		t.Error("the process that was named is dead")
	default:
	}
}
