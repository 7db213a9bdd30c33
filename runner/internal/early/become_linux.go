//go:build !race

package early

import (
	"syscall"
	"unsafe"
)

func init() {
	if text, ordered := syscall.Getenv(Env); ordered {
		if argv := arguments(); len(argv) > 2 && argv[1] == Subcommand {
			var o Order
			o.parse(text)
			o.become(argv[2:])
		}
	}
}

// What package syscall has no name for; the same on all machines that Go runs on.
const (
	sysCloseRange     = 436
	closeRangeCloexec = 4
	prSetPdeathsig    = 1
	prSetNoNewPrivs   = 38
	executable        = 1 // X_OK
	lastSignal        = 64
	sizeOfSignalSet   = 8
	setSignalMask     = 2
)

// become applies o to this process, which becomes argv. It returns if it cannot.
func (o *Order) become(argv []string) {
	if !prctl(prSetPdeathsig, uintptr(syscall.SIGKILL)) || syscall.Getppid() != o.Parent {
		return
	}
	if _, _, err := syscall.Syscall(sysCloseRange, uintptr(o.Files), uintptr(^uint32(0)>>1), closeRangeCloexec); err != 0 {
		return
	}
	if o.OOMScoreAdj != 0 && !write("/proc/self/oom_score_adj", appendInt(nil, o.OOMScoreAdj)) {
		return
	}
	if o.Dir != "" && syscall.Chdir(o.Dir) != nil {
		return
	}
	if o.NoNewPrivs && !prctl(prSetNoNewPrivs, 1) {
		return
	}
	env := environment()
	path := find(argv[0])
	if path == "" {
		return
	}
	// The C library keeps two of them for itself; nobody catches any in what this process is about to be.
	var byDefault, none [4]uint64
	for sig := uintptr(1); sig <= lastSignal; sig++ {
		syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, sig, uintptr(unsafe.Pointer(&byDefault)), 0, sizeOfSignalSet, 0, 0)
	}
	syscall.RawSyscall6(syscall.SYS_RT_SIGPROCMASK, setSignalMask, uintptr(unsafe.Pointer(&none)), 0, sizeOfSignalSet, 0, 0)
	for _, l := range o.Limits {
		if syscall.Setrlimit(l.Resource, &l.Rlimit) != nil {
			return
		}
	}
	point := []byte{'!'}
	syscall.Write(o.Proof, point)
	syscall.Exec(path, argv, env)
	syscall.Write(o.Proof, point)
}

// arguments returns those of this process; package os, which has them, is not there yet.
func arguments() (argv []string) {
	fd, err := syscall.Open("/proc/self/cmdline", syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer syscall.Close(fd)
	var text []byte
	for room := make([]byte, 4<<10); ; {
		n, err := syscall.Read(fd, room)
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			return nil
		}
		if n == 0 {
			break
		}
		text = append(text, room[:n]...)
	}
	from := 0
	for at, c := range text {
		if c == 0 {
			argv = append(argv, string(text[from:at]))
			from = at + 1
		}
	}
	return argv
}

// environment returns that of the program: ours without what was for us.
func environment() (env []string) {
	for _, entry := range syscall.Environ() {
		if !begins(entry, Env+"=") && !begins(entry, Full+"=") {
			env = append(env, entry)
		}
	}
	return env
}

// find returns the file that name stands for, as package os/exec would find it; "" if that is not there or may not be
// run.
func find(name string) string {
	for i := range len(name) {
		if name[i] == '/' {
			return runnable(name)
		}
	}
	path, _ := syscall.Getenv("PATH")
	for path != "" {
		dir := path
		path = ""
		for i := range len(dir) {
			if dir[i] == ':' {
				dir, path = dir[:i], dir[i+1:]
				break
			}
		}
		if dir == "" {
			dir = "."
		}
		if file := runnable(dir + "/" + name); file != "" {
			return file
		}
	}
	return ""
}

// runnable returns file if it is one that may be run, else "".
func runnable(file string) string {
	var s syscall.Stat_t
	if syscall.Stat(file, &s) != nil || s.Mode&syscall.S_IFMT == syscall.S_IFDIR || syscall.Access(file, executable) != nil {
		return ""
	}
	return file
}

func begins(text, with string) bool { return len(text) >= len(with) && text[:len(with)] == with }

func prctl(option int, value uintptr) bool {
	_, _, err := syscall.RawSyscall6(syscall.SYS_PRCTL, uintptr(option), value, 0, 0, 0, 0)
	return err == 0
}

// write writes text to a file that is there.
func write(file string, text []byte) bool {
	fd, err := syscall.Open(file, syscall.O_WRONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	_, err = syscall.Write(fd, text)
	syscall.Close(fd)
	return err == nil
}
