package runner

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
)

// TestGroupBounds reads the limits of control groups of both versions, as hosts and containers
// have them.
func TestGroupBounds(t *testing.T) {
	const v2 = "30 23 0:26 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw\n"
	const v1 = "31 23 0:27 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n32 23 0:28 /docker/abc /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
	for _, tt := range []struct {
		name  string
		files map[string]string
		want  string
	}{
		{"version 2, a limit above", map[string]string{
			"/proc/self/mountinfo": v2, "/proc/self/cgroup": "0::/a.slice/b.service\n",
			"/sys/fs/cgroup/a.slice/b.service/pids.max": "max\n", "/sys/fs/cgroup/a.slice/pids.max": "70\n", "/sys/fs/cgroup/a.slice/pids.current": "69\n",
			"/sys/fs/cgroup/a.slice/b.service/memory.max": "1073741824\n", "/sys/fs/cgroup/a.slice/b.service/memory.current": "1048576\n",
		}, "[69 of 70 (pids.max of /a.slice) 1.0 MiB of 1.0 GiB (memory.max of /a.slice/b.service)]"},
		{"version 1, in a container", map[string]string{
			"/proc/self/mountinfo": v1, "/proc/self/cgroup": "5:pids:/x\n4:memory:/docker/abc\n",
			"/sys/fs/cgroup/pids/x/pids.max": "1000\n", "/sys/fs/cgroup/pids/x/pids.current": "2\n",
			"/sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
		}, "[2 of 1,000 (pids.max of /x)]"},
		{"none", nil, "[]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := groupBounds(func(path string) ([]byte, error) {
				if text, ok := tt.files[path]; ok {
					return []byte(text), nil
				}
				return nil, os.ErrNotExist
			})
			if fmt.Sprint(got) != tt.want {
				t.Errorf("bounds are %v, want %v", got, tt.want)
			}
		})
	}
}

// TestShortageNamesTheLimit lowers a limit of this process to what it uses.
func TestShortageNamesTheLimit(t *testing.T) {
	var before syscall.Rlimit
	must(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &before))
	var used uint64
	for _, b := range Bounds() {
		if b.Of == Files {
			used = b.Used
		}
	}
	must(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: used, Max: before.Max}))
	// Reading what is used takes a descriptor or two itself.
	got := Shortage(fmt.Errorf("pipe2: %w", syscall.EMFILE))
	must(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &before))
	if !strings.HasPrefix(got, "open files used up") {
		t.Errorf("the shortage is told as %q", got)
	}
	if got := Shortage(fmt.Errorf("fork/exec: %w", syscall.EAGAIN)); !strings.HasPrefix(got, "processes used up") {
		t.Errorf("the shortage is told as %q", got)
	}
}
