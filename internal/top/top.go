// Package top is the terminal on which one watches a supervisor, the queues and what failed, and does something
// about it. It owns the screen while it runs, what was told last, and what a key means; what is asked and done is
// its Source's. It must not know the command line, Redis or the control socket.
package top

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	tea "charm.land/bubbletea/v2"

	"oarlock/internal/ops"
	"oarlock/internal/rollcall"
	"oarlock/internal/service"
)

// Source is where numbers come from, and who does what keys ask for. Its methods are called by several goroutines at
// once, with contexts that end in time, and return sentences for errors.
type Source interface {
	// Status is how the supervisor is; ErrNoSupervisor if none runs here.
	Status(ctx context.Context) (*service.Status, error)
	Queues(ctx context.Context) ([]ops.Queue, error)
	Groups(ctx context.Context) (map[string]int, error)                                       // of failed jobs, with their numbers
	Failed(ctx context.Context, group string) ([]ops.Job, error)                              // the newest of a group
	Why(ctx context.Context, jid string) ([]string, error)                                    // what holds a job, in sentences
	Words(ctx context.Context, jid string) (string, error)                                    // the last words of its last bad attempt
	Log(ctx context.Context, of rollcall.Who, pool string, slot int) ([]rollcall.Line, error) // what a child printed last
	Roll(ctx context.Context) (rollcall.Roll, error)                                          // all supervisors

	Quiet(ctx context.Context, quiet bool) (told string, err error)
	Scale(ctx context.Context, pool string, children int) (told string, err error)
	Recycle(ctx context.Context, pool string) (told string, err error)
	Pause(ctx context.Context, queue string, pause bool) (told string, err error)
	QuietPool(ctx context.Context, pool string, quiet bool) (told string, err error)
	AbandonRoll(ctx context.Context, pool string) (told string, err error)
	RecycleSlot(ctx context.Context, pool string, slot int) (told string, err error)
	StopRun(ctx context.Context, pool string, slot int, run string) (told string, err error) // only if it is that run still
	Retry(ctx context.Context, jid string) (told string, err error)
	RetryGroup(ctx context.Context, group string) (told string, err error)
}

// ErrNoSupervisor says that there is no supervisor to be watched.
var ErrNoSupervisor = errors.New("no supervisor is running")

// Options are how a terminal is watched.
type Options struct {
	Source   Source
	Every    time.Duration // from one look to the next
	ReadOnly bool          // no key changes anything
	In       *os.File      // both are one terminal
	Out      io.Writer
}

// Run watches until q, a signal or the end of ctx, and gives the terminal back as it was, whatever happens but KILL.
func Run(ctx context.Context, o Options) error {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	defer stop()
	looking, done := context.WithCancel(ctx) // what is asked ends with the screen
	defer done()
	program := tea.NewProgram(newModel(looking, o), tea.WithInput(o.In), tea.WithOutput(o.Out), tea.WithoutSignalHandler())
	leave := context.AfterFunc(ctx, func() {
		late := time.AfterFunc(patience, program.Kill) // which does not wait for who reads keys
		defer late.Stop()
		program.Quit()
		program.Wait()
	})
	defer leave()
	_, err := program.Run()
	if errors.Is(err, tea.ErrProgramPanic) {
		return errors.New("a mistake of ours ended top, please report what stands above; the supervisor does not notice")
	}
	if ctx.Err() != nil {
		return nil // it was asked to
	}
	return err
}

// Once is one frame, as wide as that and as high as it needs, without colours.
func Once(ctx context.Context, o Options, width int) (string, error) {
	m := newModel(ctx, o)
	m.width, m.height = width, 1<<15
	m.hearAll(tea.Batch(m.look(), m.lookElsewhere(pageQueues), m.lookElsewhere(pageFailures)))
	if m.world.status == nil && m.world.queuesErr != nil {
		return "", m.world.queuesErr
	}
	return m.whole(), nil
}
