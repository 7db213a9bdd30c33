// Package nowait makes system calls that never wait, as reads and writes of non-blocking
// descriptors and questions for the time, without a word to Go's scheduler.
//
// Every other call announces itself, because it might wait. If all was idle before, that
// wakes the thread of the scheduler that looks after waiting calls, and for a while it
// looks every 20 µs. To a program that is woken some thousand times a second for a few
// microseconds each, that costs a quarter of its processor time.
package nowait

import (
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Read is read(2) on a non-blocking descriptor. It returns a syscall.Errno, EAGAIN if
// there is nothing to read, and never EINTR; 0 bytes are the end.
func Read(fd int, b []byte) (int, error) { return transfer(unix.SYS_READ, fd, b) }

// Write is write(2) on a non-blocking descriptor. It returns a syscall.Errno, EAGAIN if
// there is no room for a single byte, and never EINTR.
func Write(fd int, b []byte) (int, error) { return transfer(unix.SYS_WRITE, fd, b) }

// Peek reads from a socket what stays to be read. Its errors are those of Read.
func Peek(fd int, b []byte) (int, error) {
	n, _, errno := unix.RawSyscall6(unix.SYS_RECVFROM, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)), unix.MSG_PEEK|unix.MSG_DONTWAIT, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}

func transfer(call uintptr, fd int, b []byte) (int, error) {
	for {
		n, _, errno := unix.RawSyscall(call, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)))
		switch errno {
		case 0:
			return int(n), nil
		case syscall.EINTR:
		default:
			return 0, errno
		}
	}
}

// Clock is clock_gettime(2) of one of the CLOCK_ constants, or of a process. It returns a
// syscall.Errno.
func Clock(id int32) (time.Duration, error) {
	var t unix.Timespec
	_, _, errno := unix.RawSyscall(unix.SYS_CLOCK_GETTIME, uintptr(id), uintptr(unsafe.Pointer(&t)), 0)
	if errno != 0 {
		return 0, errno
	}
	return time.Duration(t.Nano()), nil
}
