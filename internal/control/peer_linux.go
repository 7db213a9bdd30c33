package control

import (
	"errors"
	"net"
	"os"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// trusted reports whether a process of the same user, of root, or of one of others is at
// the other end.
func trusted(conn net.Conn, others ...int) bool {
	peer := credOf(conn)
	return peer != nil && (peer.Uid == 0 || int(peer.Uid) == os.Geteuid() || slices.Contains(others, int(peer.Uid)))
}

// peerOf is who is at the other end.
func peerOf(conn net.Conn) Peer {
	if peer := credOf(conn); peer != nil {
		return Peer{PID: int(peer.Pid), UID: int(peer.Uid)}
	}
	return Peer{UID: -1}
}

// Gone reports whether the process that connected has ended.
func (p Peer) Gone() bool { return p.PID > 0 && errors.Is(unix.Kill(p.PID, 0), unix.ESRCH) }

// credOf is what the kernel knows of the other end; nil if it does not tell.
func credOf(conn net.Conn) *unix.Ucred {
	socket, ok := conn.(*net.UnixConn)
	if !ok {
		return nil
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return nil
	}
	var peer *unix.Ucred
	var problem error
	err = raw.Control(func(fd uintptr) {
		peer, problem = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	})
	if err != nil || problem != nil {
		return nil
	}
	return peer
}

// ownerOf returns the id of the user who owns a directory; −1 if that cannot be learnt.
func ownerOf(dir string) int {
	if info, err := os.Stat(dir); err == nil {
		if stat, ok := info.Sys().(*syscall.Stat_t); ok {
			return int(stat.Uid)
		}
	}
	return -1
}
