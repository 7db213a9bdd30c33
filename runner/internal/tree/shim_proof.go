package tree

import (
	"fmt"
	"os"
	"os/exec"

	"golang.org/x/sys/unix"
)

// execProof tells whether the shim became its program. Between its start and that, a shim may die of
// what the program has nothing to do with, such as a Go runtime that is allowed no more threads, and an
// exit code or signal does not say whose it was.
//
// The shim inherits one end of a pipe and writes a byte to it right before exec, which closes that end;
// it writes another if exec failed, and may then try once more. A nil execProof is that of a process that was started without a shim.
type execProof struct {
	ours, theirs *os.File
}

// newExecProof gives cmd the other end as one more descriptor, and returns its number. The caller calls
// started once cmd was started, or could not be.
func newExecProof(cmd *exec.Cmd) (p *execProof, fd int, err error) {
	p = &execProof{}
	if p.ours, p.theirs, err = Pipe(true); err != nil {
		return nil, 0, fmt.Errorf("pipe from the shim: %w", err)
	}
	fd = 3 + len(cmd.ExtraFiles)
	cmd.ExtraFiles = append(cmd.ExtraFiles[:len(cmd.ExtraFiles):len(cmd.ExtraFiles)], p.theirs)
	return p, fd, nil
}

// started closes the end that is not ours.
func (p *execProof) started() {
	if p != nil {
		p.theirs.Close()
	}
}

// close gives up the proof.
func (p *execProof) close() {
	if p != nil {
		p.ours.Close()
	}
}

// given tells whether the program was begun, once the process has ended; it closes p.
func (p *execProof) given() bool {
	if p == nil {
		return true
	}
	defer p.ours.Close()
	conn, err := p.ours.SyscallConn()
	if err != nil {
		return false
	}
	n := 0
	conn.Read(func(fd uintptr) bool {
		var said [4]byte
		n, _ = unix.Read(int(fd), said[:])
		return true // there will not be more
	})
	return n > 0 && n%2 == 1
}

// execPoint says to fd that the program is to be run now, or, called again, that it could not be.
func execPoint(fd int) { unix.Write(fd, []byte{'!'}) }
