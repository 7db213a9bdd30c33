package service

import (
	"errors"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"oarlock/internal/config"
)

// CatchSignals catches what a supervisor obeys until it is released. It does so from the
// first moment: a signal that comes while the supervisor is being made is obeyed when it is
// there, and none that comes while it clears up ends it in the middle of that. At a terminal
// ^Z is the shell's, not ours. stops has those that set a limit to the time in which to
// leave as soon as they come, whether or not anybody is there yet who obeys signals.
func CatchSignals(terminal bool) *Signals {
	caught := []os.Signal{
		syscall.SIGTERM, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGUSR2,
		syscall.SIGCONT, syscall.SIGTTIN, syscall.SIGTTOU,
	}
	if !terminal {
		caught = append(caught, syscall.SIGTSTP)
	}
	all, some := make(chan os.Signal, 16), make(chan os.Signal, 1)
	signal.Notify(all, caught...)
	signal.Notify(some, syscall.SIGTERM, syscall.SIGINT)
	return &Signals{all, some, func() {
		signal.Stop(all)
		signal.Stop(some)
	}}
}

// Signals are those that were caught, and Release lets them end the process again.
type Signals struct {
	all, stops chan os.Signal
	Release    func()
}

// ErrUnread says that a signal ended the wait for the configuration.
var ErrUnread = errors.New("told to stop before the configuration was read: it does not answer")

// Await returns what read reads, in a goroutine of its own: a pipe, or a file system that does not answer, may keep that one for ever.
// After TERM or INT it waits for leavePatience, and after another for no longer; then the error is ErrUnread. A signal that came
// before something was read is still to be obeyed.
func (s *Signals) Await(read func() (config.Config, error)) (config.Config, error) {
	done := make(chan struct{})
	var cfg config.Config
	var err error
	go func() { // or the process ends
		defer close(done)
		cfg, err = read()
	}()
	select {
	case <-done:
		return cfg, err
	case got := <-s.stops:
		select {
		case <-done:
			select {
			case s.stops <- got:
			default: // another came
			}
			return cfg, err
		case <-s.stops:
		case <-time.After(leavePatience):
		}
		return config.Config{}, ErrUnread
	}
}

// outlivePipes makes a log that nobody reads any more an error of its writes, from its first
// line to its last, and not the end of the process. Children do not inherit that.
var outlivePipes = sync.OnceFunc(func() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) })
