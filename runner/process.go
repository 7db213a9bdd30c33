package runner

import "syscall"

// process is one started process with all that it may have started, by whatever
// way it came to be: started by us, below a guard, or forked by a factory.
// Methods but wait may be called by several goroutines.
type process interface {
	// pid is the number of the child itself, not of a guard.
	pid() int
	// signal sends sig to the process group of the child.
	signal(sig syscall.Signal) error
	// tell sends sig to the child alone.
	tell(sig syscall.Signal) error
	// kill ends everything: the child and what it started. It may be repeated,
	// also when all is over.
	kill()
	// wait returns when the child has ended and what it left behind was killed.
	// It is called once.
	wait() Exit
	// lease is that of the child; nil where none is enforced.
	lease() *lease
	// release gives back what the process held (a control group, descriptors).
	// It is called once, after wait.
	release()
}
