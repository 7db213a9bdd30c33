package runner

import "golang.org/x/sys/unix"

// waitingIn returns how many bytes there are in the pipe that fd is an end of.
func waitingIn(fd int) int {
	n, _ := unix.IoctlGetInt(fd, unix.TIOCINQ)
	return n
}

// hostMemory returns the memory of this host, and what of it nobody uses for anything, in bytes.
func hostMemory() (total, free uint64, ok bool) {
	var host unix.Sysinfo_t
	if unix.Sysinfo(&host) != nil {
		return 0, 0, false
	}
	unit := uint64(host.Unit)
	return uint64(host.Totalram) * unit, uint64(host.Freeram) * unit, true
}
