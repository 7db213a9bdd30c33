package control

import (
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// trusted reports whether a process of the same user, or of root, is at the other end.
func trusted(conn net.Conn) bool {
	socket, ok := conn.(*net.UnixConn)
	if !ok {
		return false
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return false
	}
	var peer *unix.Ucred
	var problem error
	err = raw.Control(func(fd uintptr) {
		peer, problem = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	})
	return err == nil && problem == nil && (peer.Uid == 0 || int(peer.Uid) == os.Geteuid())
}
