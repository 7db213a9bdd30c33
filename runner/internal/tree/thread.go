package tree

import "runtime"

// thread starts processes from a thread of its own that never ends before it: the death signal of a
// child is sent when the thread that started it ends.
type thread struct {
	work chan func()
	done chan struct{}
}

func newThread() *thread {
	t := &thread{work: make(chan func()), done: make(chan struct{})}
	go func() { // until close
		runtime.LockOSThread() // and not unlocked: the thread ends with the goroutine
		defer close(t.done)
		for f := range t.work {
			f()
		}
	}()
	return t
}

// do runs f on the thread and returns its error.
func (t *thread) do(f func() error) error {
	result := make(chan error, 1)
	t.work <- func() { result <- f() }
	return <-result
}

func (t *thread) close() {
	close(t.work)
	<-t.done
}
