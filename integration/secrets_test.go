package integration

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// password is what nobody may find who is not meant to.
const password = "canary-secret"

// shows tells whether user can read a file, and what: "refused", "secret", or "nothing" of it.
func shows(t *testing.T, user uint32, path string) string {
	t.Helper()
	cat := exec.Command("cat", path)
	cat.Dir = "/"
	cat.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user, Gid: user}}
	out, err := cat.CombinedOutput()
	switch {
	case strings.Contains(string(out), password):
		return "secret"
	case err == nil:
		return "nothing"
	case strings.Contains(string(out), "ermission denied"):
		return "refused"
	}
	t.Errorf("user %d reads %s: %v\n%s", user, path, err, out)
	return "?"
}

// Who can read what of a supervisor that has its password by a variable, or by a credential.
func whoReadsThePassword(t *testing.T, r *rig) {
	credentials := filepath.Join(r.dir, "credentials")
	must(t, os.Mkdir(credentials, 0o755))
	fileOf(t, filepath.Join(credentials, "redis-password"), password, 0o400, stranger)
	r.url = strings.Replace(r.url, "://", "://:"+password+"@", 1)
	r.asUser(t, stranger, fmt.Sprintf("env -u REDIS_URL MY_URL=%s CREDENTIALS_DIRECTORY=%s", r.url, credentials))
	before := r.url
	r.url = "${MY_URL}"
	looks := filepath.Join(r.dir, "looks")
	script := fmt.Sprintf("env; for pid in $PPID $(cat %s); do cat /proc/$pid/environ; done; cat %s/redis-password", r.pidFile("a"), credentials)
	r.put(t, 1, work{})
	a := r.start(t, "a", pool{mode: "once", command: []string{"/bin/sh", "-c", "{ " + script + "; } > " + looks + " 2>&1"}})
	r.url = before
	allDone(t, r.settled(t))
	said := read(t, looks)
	if refused := strings.Count(said, "Permission denied"); refused != 2 || strings.Contains(said, "MY_URL") || strings.Count(said, password) != 1 || !strings.HasSuffix(strings.TrimSpace(said), password) {
		t.Errorf("the child of the same user is refused %d looks, want 2, and finds (it can read the credential, and nothing else)\n%s", refused, said)
	}
	environ := fmt.Sprintf("/proc/%d/environ", a.pid())
	for user, want := range map[uint32]string{0: "nothing", stranger: "refused", bomber: "refused"} {
		if got := shows(t, user, environ); got != want {
			t.Errorf("the environment of the supervisor shows user %d: %s, want %s", user, got, want)
		}
	}
	if got := shows(t, bomber, filepath.Join(credentials, "redis-password")); got != "refused" {
		t.Errorf("the credential shows another user: %s", got)
	}
	a.write(t, strings.Replace(read(t, a.config), "children = 4", "children = 2", 1)) // MY_URL is known still
	a.said(t, `"msg":"reloaded"`)
	a.stop(t)
	ran(t, exec.Command(oarlock(t), "queue", "ls", "--redis", before))
}

// Every command hides what its environment held, as long as it waits for an answer.
func TestCommandsHideTheirEnvironment(t *testing.T) {
	t.Parallel()
	if !needRoot(t) {
		return
	}
	dir, err := os.MkdirTemp("", "oar")
	must(t, errors.Join(err, os.Chmod(dir, 0o755), os.Chmod(scratch, 0o755), os.Mkdir(filepath.Join(dir, "state"), 0o755)))
	defer os.RemoveAll(dir)
	asked := make(chan int, 100) // processes that have connected
	for _, name := range []string{"redis", "state/control-1.sock"} {
		listener, err := net.Listen("unix", filepath.Join(dir, name))
		must(t, errors.Join(err, os.Chmod(filepath.Join(dir, name), 0o777)))
		defer listener.Close()
		go func() { // answers nobody
			for {
				conn, err := listener.(*net.UnixListener).AcceptUnix()
				if err != nil {
					return
				}
				defer conn.Close()
				asked <- peerOf(conn)
			}
		}()
	}
	for _, args := range []string{"put q {}", "queue ls", "job show j", "failed ls", "events", "doctor", "config get", "worker ls", "lua --install",
		"status", "reload", "stop", "scale p 1", "put q {} --redis=unix://user:" + password + "@" + dir + "/redis"} {
		cmd := exec.Command(oarlock(t), strings.Fields(args+" --state-dir "+dir+"/state")...)
		cmd.Dir = "/"
		cmd.Env = []string{"HOME=/nowhere", "PATH=/usr/bin:/bin", "REDIS_URL=unix://:" + password + "@" + dir + "/redis"}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: stranger, Gid: stranger}}
		must(t, cmd.Start())
		for late := time.After(time.Minute); ; {
			select {
			case pid := <-asked:
				if pid != cmd.Process.Pid {
					continue // of the command before
				}
			case <-late:
				t.Errorf("%s asks nobody", args)
			}
			break
		}
		for user, want := range map[uint32]string{0: "nothing", stranger: "refused", bomber: "refused"} {
			if got := shows(t, user, fmt.Sprintf("/proc/%d/environ", cmd.Process.Pid)); got != want {
				t.Errorf("%s: its environment shows user %d: %s, want %s", args, user, got, want)
			}
		}
		if got := shows(t, bomber, fmt.Sprintf("/proc/%d/cmdline", cmd.Process.Pid)); got != "nothing" {
			t.Errorf("%s: its arguments show another user: %s", args, got)
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
}

// peerOf is the process at the other end.
func peerOf(conn *net.UnixConn) (pid int) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0
	}
	_ = raw.Control(func(fd uintptr) {
		if peer, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); err == nil {
			pid = int(peer.Pid)
		}
	})
	return pid
}
