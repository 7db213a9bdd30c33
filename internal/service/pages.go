package service

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// forgetStart gives the pages of our own program back to the kernel. Starting touched each package that it consists of, those of other
// commands included, and who supervises needs half of these pages; they come back from the page cache as they are touched. Where we cannot
// read what is mapped, all stays.
func forgetStart() {
	program, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return
	}
	smaps, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		return
	}
	for _, m := range asInFile(string(smaps), program) {
		_, _, _ = unix.Syscall(unix.SYS_MADVISE, m.start, m.end-m.start, unix.MADV_DONTNEED)
	}
}

// mapping is a part of our memory.
type mapping struct{ start, end uintptr }

// asInFile returns what is mapped of a program, cannot be written to, and is as it is in the file: what a loader or a debugger has changed
// would be lost.
func asInFile(smaps, program string) (all []mapping) {
	var last mapping
	for line := range strings.Lines(smaps) {
		var m mapping
		var rights, offset, device, inode string
		if n, _ := fmt.Sscanf(line, "%x-%x %s %s %s %s", &m.start, &m.end, &rights, &offset, &device, &inode); n == 6 {
			last = mapping{}
			if !strings.Contains(rights, "w") && strings.HasSuffix(line, " "+program+"\n") {
				last = m
			}
		} else if last != (mapping{}) && strings.HasPrefix(line, "Anonymous:") && strings.HasSuffix(line, " 0 kB\n") {
			all = append(all, last)
		}
	}
	return all
}
