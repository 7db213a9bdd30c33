package cli

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"

	"oarlock/internal/screen"
	"oarlock/internal/service"
	"oarlock/supervisor"
)

// leaveCommand is a verb after which the supervisor leaves. It may wait for that.
func leaveCommand(verb, does, done string) *cli.Command {
	return &cli.Command{
		Name:     verb,
		Usage:    does,
		Category: "a running supervisor",
		Description: "Exits at once, or with --wait when the process is gone; with 75 if it is still there\n" +
			"after --timeout, and with 1 if no supervisor runs.",
		Flags: []cli.Flag{
			pidFlag(),
			&cli.BoolFlag{Name: "wait", Usage: "return when it is gone"},
			&cli.DurationFlag{Name: "timeout", DefaultText: "never", Usage: "with --wait: give up waiting after so long; it leaves all the same"},
		},
		Action: func(c *cli.Context) error {
			if err := wantArgs(c, 0, 0, "nothing"); err != nil {
				return err
			}
			if c.IsSet("timeout") && (!c.Bool("wait") || c.Duration("timeout") <= 0) {
				return misused("--timeout is how long to --wait, and more than 0s")
			}
			s, err := reach(c)
			if err != nil {
				return err
			}
			end, err := endOf(s.PID) // before it is told: later the number may be another's
			if err != nil {
				return err
			}
			defer end.close()
			var shot supervisor.Snapshot
			if err := errors.Join(s.Status(c.Context, &shot), s.Do(c.Context, verb)); err != nil {
				return err
			}
			screen.Printf(c.App.Writer, "%s; %s\n", done, runOn(shot))
			if !c.Bool("wait") {
				return nil
			}
			began := time.Now()
			gone, err := end.await(c.Context, c.Duration("timeout"))
			switch {
			case err != nil:
				return err
			case !gone:
				at := "it does not say what it waits for"
				if s.Status(c.Context, &shot) == nil {
					at = service.Summary(shot)
				}
				screen.Printf(c.App.ErrWriter, "oarlock: supervisor %s is still there after %s: %s. It goes on leaving.\n", s.PID, screen.Span(c.Duration("timeout")), at)
				return silent{exitTempFail}
			}
			screen.Printf(c.App.Writer, "gone after %s\n", screen.Span(time.Since(began)))
			return nil
		},
	}
}

// passing is the end of a process that is not our child.
type passing struct{ fd int }

func endOf(pid string) (passing, error) {
	number, err := strconv.Atoi(pid)
	if err != nil {
		return passing{}, fmt.Errorf("%q is no process id", pid)
	}
	fd, err := unix.PidfdOpen(number, 0)
	if err != nil {
		return passing{}, fmt.Errorf("watch process %d: %w", number, err)
	}
	return passing{fd}, nil
}

func (e passing) close() { unix.Close(e.fd) }

// endingLook bounds how long the end of a context stays unnoticed.
const endingLook = 100 * time.Millisecond

// await waits until the process has ended, for timeout at most; 0 is for ever. It reports
// whether it has.
func (e passing) await(ctx context.Context, timeout time.Duration) (bool, error) {
	for began := time.Now(); ; {
		wait := endingLook
		if timeout > 0 {
			wait = max(min(wait, timeout-time.Since(began)), 0)
		}
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(e.fd), Events: unix.POLLIN}}, int(wait.Milliseconds()))
		switch {
		case err != nil && err != unix.EINTR:
			return false, fmt.Errorf("watch the process: %w", err)
		case n > 0:
			return true, nil
		case ctx.Err() != nil:
			return false, ctx.Err()
		case timeout > 0 && time.Since(began) >= timeout:
			return false, nil
		}
	}
}
