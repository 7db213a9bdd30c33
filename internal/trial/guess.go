package trial

import (
	"context"
	"time"

	"oarlock/runner"
)

// watched is how long a process that answered a job is: one that has not left by then is
// there for the next.
const watched = 300 * time.Millisecond

// Guess finds out in which mode the program is meant to run: reuse if it says hello, or
// if it stays when it has worked a job; else once. It tries that by running it.
func (t *Trial) Guess(ctx context.Context) runner.Mode {
	as := *t
	as.Spec.Mode = runner.Reuse
	s, err := as.fresh(ctx, nil)
	if err != nil {
		return runner.Once // which will tell what is wrong
	}
	defer s.end()
	if s.Hello() != nil {
		return runner.Reuse
	}
	if err := s.work(ctx); err != nil {
		return runner.Once
	}
	select {
	case <-s.Exited():
		return runner.Once
	case <-time.After(watched):
		return runner.Reuse
	}
}
