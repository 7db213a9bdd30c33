package runner

import (
	"bufio"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/dustin/go-humanize"
	"golang.org/x/sys/unix"
)

// Bound is how much there may be of something that children take, on this host or for us.
type Bound struct {
	Of    Resource
	Where string // its name: "pids.max of /system.slice/oarlock.service"
	Used  uint64 // 0: not known
	Max   uint64
}

// Resource is something that children take.
type Resource string

const (
	Processes Resource = "processes" // threads count as well
	Files     Resource = "open files"
	Memory    Resource = "memory" // in bytes
)

func (b Bound) String() string {
	return fmt.Sprintf("%s of %s (%s)", b.count(b.Used), b.count(b.Max), b.Where)
}

// count is n in the unit of the limit.
func (b Bound) count(n uint64) string {
	if b.Of == Memory {
		return humanize.IBytes(n)
	}
	return humanize.Comma(int64(min(n, math.MaxInt64)))
}

// Bounds returns what bounds us and our children, as far as this host tells.
func Bounds() []Bound {
	all := groupBounds(os.ReadFile)
	if b, ok := userBound(); ok {
		all = append(all, b)
	}
	tasks := allTasks()
	for _, name := range []string{"pid_max", "threads-max"} {
		if most, ok := readNumber(os.ReadFile, "/proc/sys/kernel/"+name); ok {
			all = append(all, Bound{Processes, "kernel." + name, tasks, most})
		}
	}
	var files unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &files) == nil {
		open, _ := os.ReadDir("/proc/self/fd")
		all = append(all, Bound{Files, "RLIMIT_NOFILE", uint64(len(open)), files.Cur})
	}
	if total, free, ok := hostMemory(); ok {
		all = append(all, Bound{Memory, "of this host", total - available(free), total})
	}
	return all
}

// Shortage says in a few words what this host, or a limit on us, has run out of when err came,
// which Short has reported, or of which no more is known than that.
func Shortage(err error) string {
	of := []Resource{Processes, Memory, Files}
	switch {
	case errors.Is(err, syscall.EAGAIN):
		of = []Resource{Processes}
	case errors.Is(err, syscall.ENOMEM):
		of = []Resource{Memory}
	case errors.Is(err, syscall.EMFILE):
		of = []Resource{Files}
	case errors.Is(err, syscall.ENFILE):
		return "open files of the host used up (fs.file-max)"
	case errors.Is(err, errTerminal) && errors.Is(err, syscall.ENOSPC):
		return "pseudo-terminals used up (kernel.pty.max, or the option max of /dev/pts)"
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return "no room left on a disk: " + err.Error()
	}
	var fullest Bound
	for _, b := range Bounds() {
		for _, one := range of {
			if b.Of == one && b.Max > 0 && b.share() >= nearlyAll && b.share() > fullest.share() {
				fullest = b
			}
		}
	}
	if fullest.Max == 0 {
		return fmt.Sprintf("%s used up (%v)", of[0], err)
	}
	return fmt.Sprintf("%s used up: %v", fullest.Of, fullest)
}

// nearlyAll is what share of a limit is in use when a start fails for it: some may have ended
// before we look, and a start takes several at once.
const nearlyAll = 0.85

func (b Bound) share() float64 { return float64(b.Used) / float64(max(b.Max, 1)) }

// groupBounds are those of the control groups that we are in, of either version, and of those
// above them.
func groupBounds(read func(string) ([]byte, error)) (all []Bound) {
	for _, g := range ownGroups(read) {
		for _, c := range []struct {
			of                  Resource
			controller          string
			most, used, v1, v1u string
		}{
			{Processes, "pids", "pids.max", "pids.current", "pids.max", "pids.current"},
			{Memory, "memory", "memory.max", "memory.current", "memory.limit_in_bytes", "memory.usage_in_bytes"},
		} {
			most, used := c.most, c.used
			if g.controllers != "" {
				if !strings.Contains(","+g.controllers+",", ","+c.controller+",") {
					continue
				}
				most, used = c.v1, c.v1u
			}
			for path := g.path; ; path = filepath.Dir(path) {
				dir := filepath.Join(g.mount, path)
				if n, ok := readNumber(read, filepath.Join(dir, most)); ok && n < math.MaxInt64/2 {
					in, _ := readNumber(read, filepath.Join(dir, used))
					all = append(all, Bound{c.of, most + " of " + path, in, n})
				}
				if path == "/" || path == "." {
					break
				}
			}
		}
	}
	return all
}

// ownGroup is a control group that we are in.
type ownGroup struct {
	mount       string
	path        string // below mount
	controllers string // of version 1, with commas; "" for version 2
}

func ownGroups(read func(string) ([]byte, error)) (groups []ownGroup) {
	mounts, _ := read("/proc/self/mountinfo")
	own, _ := read("/proc/self/cgroup")
	for line := range strings.Lines(string(own)) {
		parts := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(parts) != 3 {
			continue
		}
		for mount := range strings.Lines(string(mounts)) {
			head, tail, _ := strings.Cut(strings.TrimSuffix(mount, "\n"), " - ")
			fields, kind := strings.Fields(head), strings.Fields(tail)
			if len(fields) < 5 || len(kind) < 3 {
				continue
			}
			second := kind[0] == "cgroup2" && parts[1] == ""
			first := kind[0] == "cgroup" && parts[1] != "" && strings.Contains(","+kind[2]+",", ","+parts[1]+",")
			if second || first {
				groups = append(groups, ownGroup{fields[4], below(fields[3], parts[2]), parts[1]})
				break
			}
		}
	}
	return groups
}

// below is a group's path below what is mounted, root, as seen from there.
func below(root, path string) string {
	if rest, inside := strings.CutPrefix(path, root); root != "/" && inside {
		return "/" + strings.TrimPrefix(rest, "/")
	}
	return filepath.Clean("/" + path)
}

// readNumber reads a file that holds a number and nothing else.
func readNumber(read func(string) ([]byte, error), path string) (n uint64, ok bool) {
	text, err := read(path)
	if err != nil {
		return 0, false
	}
	n, err = strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
	return n, err == nil // "max" is none
}

// userBound is that of the processes of our user; there is none for root.
func userBound() (Bound, bool) {
	var most unix.Rlimit
	if os.Geteuid() == 0 || unix.Getrlimit(unix.RLIMIT_NPROC, &most) != nil || most.Cur > math.MaxInt64/2 {
		return Bound{}, false
	}
	uid := os.Getuid()
	var used uint64
	entries, _ := os.ReadDir("/proc")
	for _, entry := range entries {
		if entry.Name()[0] < '0' || entry.Name()[0] > '9' {
			continue
		}
		used += threadsOf(entry.Name(), uid)
	}
	return Bound{Processes, "RLIMIT_NPROC of user " + strconv.Itoa(uid), used, most.Cur}, true
}

// threadsOf is how many threads the process has, if it is that user's.
func threadsOf(pid string, uid int) uint64 {
	file, err := os.Open("/proc/" + pid + "/status")
	if err != nil {
		return 0
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		switch {
		case len(fields) < 2:
		case fields[0] == "Uid:" && fields[1] != strconv.Itoa(uid):
			return 0
		case fields[0] == "Threads:":
			n, _ := strconv.ParseUint(fields[1], 10, 64)
			return n
		}
	}
	return 0
}

// allTasks is how many threads there are on this host, which is the number after the slash in
// the fourth field of loadavg.
func allTasks() uint64 {
	text, _ := os.ReadFile("/proc/loadavg")
	if fields := strings.Fields(string(text)); len(fields) > 3 {
		_, all, _ := strings.Cut(fields[3], "/")
		n, _ := strconv.ParseUint(all, 10, 64)
		return n
	}
	return 0
}

// available is how much memory can be had without taking it from somebody, or free if this
// host does not tell.
func available(free uint64) uint64 {
	text, _ := os.ReadFile("/proc/meminfo")
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == "MemAvailable:" {
			if n, err := strconv.ParseUint(fields[1], 10, 64); err == nil {
				return n << 10
			}
		}
	}
	return free
}
