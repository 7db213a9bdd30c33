package integration

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/creack/pty"
)

// fileOf writes a file of that mode for user, past our umask.
func fileOf(t *testing.T, path, text string, mode os.FileMode, user int) {
	t.Helper()
	err := os.WriteFile(path, []byte(text), 0o600)
	must(t, errors.Join(err, os.Chmod(path, mode), os.Chown(path, user, user)))
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
	dir := got(os.MkdirTemp("", "oar"))(t)
	t.Cleanup(func() { os.RemoveAll(dir) })
	stat := got(os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)))(t)
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	_, rest, _ := strings.Cut(string(stat), ") ")
	fileOf(t, filepath.Join(dir, "1-forged.life"), fmt.Sprintf(`{"pid":1,"start":1,"boot":%q}`, strings.TrimSpace(string(boot))), 0o600, user)
	fileOf(t, filepath.Join(dir, "1-forged.children"), fmt.Sprintf("%-63s\n", fmt.Sprint(pid, " ", pid, " ", strings.Fields(rest)[19])), 0o600, user)
	must(t, errors.Join(os.Chmod(dir, 0o755), os.Chown(dir, user, user)))
	return dir
}

// A state directory that others could have written makes a supervisor kill nobody: that of
// root refuses it, another does without.
func TestForgedListOfChildren(t *testing.T) {
	t.Parallel()
	if !needRoot(t) {
		return
	}
	must(t, os.Chmod(filepath.Dir(oarlock(t)), 0o711)) // for the stranger
	victim := exec.Command("sleep", "60")
	victim.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	must(t, victim.Start())
	died := make(chan error, 1)
	go func() { died <- victim.Wait() }()
	defer victim.Process.Kill()
	readable, err := os.MkdirTemp("", "oar")
	must(t, errors.Join(err, os.Chmod(readable, 0o755)))
	defer os.RemoveAll(readable)
	run := func(dir string, user uint32, until string) (said string, code int) {
		config := filepath.Join(readable, "oarlock.toml")
		text := fmt.Sprintf("[redis]\nurl = \"unix:///nowhere\"\n[supervisor]\nstate_dir = %q\n[pools.p]\nqueues = [\"q\"]\ncommand = [\"true\"]\nsandbox.dir = \"/\"\n", dir)
		fileOf(t, config, text, 0o644, 0)
		cmd := exec.Command(oarlock(t), "run", "-c", config)
		cmd.Dir = "/"
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user, Gid: user}}
		log := filepath.Join(t.TempDir(), "log")
		out := got(os.Create(log))(t)
		defer out.Close()
		cmd.Stdout, cmd.Stderr = out, out
		must(t, cmd.Start())
		ended := make(chan struct{})
		go func() { _ = cmd.Wait(); close(ended) }()
		await(t, func() error {
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
	must(t, os.Chmod(dir, 0o777))
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

// A configuration that merely lies in the working directory, and is somebody else's, sends
// nobody to his address; one that was named does, with a warning, on stderr alone.
func TestConfigurationOfAStranger(t *testing.T) {
	t.Parallel()
	if !needRoot(t) {
		return
	}
	dir := t.TempDir()
	listener := got(net.Listen("unix", filepath.Join(dir, "trap")))(t)
	defer listener.Close()
	trapped := make(chan struct{}, 100)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			trapped <- struct{}{}
			conn.Close()
		}
	}()
	config := filepath.Join(dir, "oarlock.toml")
	text := fmt.Sprintf("[redis]\nurl = \"unix://%s/trap\"\n", dir)
	fileOf(t, config, text, 0o644, stranger)
	ask := func(terminal bool, args ...string) (out, said string, code int) {
		cmd := exec.Command(oarlock(t), args...)
		cmd.Dir = dir
		cmd.Env = []string{"HOME=/nowhere", "XDG_STATE_HOME=" + t.TempDir(), "NO_COLOR=1"} // no supervisor of this machine is asked
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		if terminal {
			master, slave, err := pty.Open()
			must(t, err)
			defer master.Close()
			cmd.Stderr = slave
			if err := cmd.Run(); err == nil {
				t.Error("there was a Redis")
			}
			slave.Close()
			text, _ := io.ReadAll(master) // its end is EIO
			return stdout.String(), string(text), cmd.ProcessState.ExitCode()
		}
		_ = cmd.Run()
		return stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()
	}
	caught := func() bool {
		select {
		case <-trapped:
			return true
		default:
			return false
		}
	}
	for _, args := range [][]string{{"put", "q", "{}"}, {"queue", "ls", "--json"}, {"doctor"}, {"run"}, {"check"}, {"status"}, {"unit"}} {
		out, said, code := ask(false, args...)
		if caught() {
			t.Errorf("%s went to the stranger's address", args)
		}
		if code != 75 && code != 78 && code != 1 && args[0] != "unit" || !strings.Contains(said, "oarlock.toml is not used: "+config+" belongs to user 54321") || strings.Contains(out, "not used") {
			t.Errorf("%s ends with %d and says\n%s%s", args, code, out, said)
		}
	}
	if _, said, _ := ask(false, "put", "q", "{}", "-c", "oarlock.toml"); !caught() || !strings.Contains(said, "may have been written by others") {
		t.Errorf("with a stranger's file that was named it says\n%s", said)
	}
	fileOf(t, config, text, 0o644, 0)
	if _, said, _ := ask(false, "put", "q", "{}"); !caught() || strings.Contains(said, "With the configuration") {
		t.Errorf("with a file of ours it says\n%s", said)
	}
	if _, said, _ := ask(true, "put", "q", "{}"); !caught() || !strings.Contains(said, "With the configuration oarlock.toml.") {
		t.Errorf("with a file of ours it says on a terminal\n%s", said)
	}
	if _, said, _ := ask(true, "put", "q", "{}", "-c", "oarlock.toml"); !caught() || strings.Contains(said, "With the configuration") {
		t.Errorf("with a file of ours that was named it says\n%s", said)
	}
	fileOf(t, config, text, 0o666, 0)
	if _, said, code := ask(false, "put", "q", "{}", "-c", "oarlock.toml"); caught() || code != 78 || !strings.Contains(said, "root does not use it") {
		t.Errorf("with anybody's file it ends with %d and says\n%s", code, said)
	}
	if _, said, _ := ask(false, "put", "q", "{}", "--trust-config"); !caught() || strings.Contains(said, "written by") {
		t.Errorf("with anybody's file that is trusted it says\n%s", said)
	}
}
