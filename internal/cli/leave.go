package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"

	"oarlock/internal/ops"
	"oarlock/internal/screen"
	"oarlock/internal/service"
	"oarlock/supervisor"
)

// tellingTakes is how long a supervisor has to hear a verb, however short the time to wait for its end is.
const tellingTakes = 3 * time.Second

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
			end, err := s.End(c.Context) // before it is told: later the number may be another's
			if err != nil {
				return err
			}
			defer end.Close()
			asking, cancel := c.Context, func() {}
			if limit := c.Duration("timeout"); limit > 0 {
				limit = max(limit, tellingTakes)
				asking, cancel = context.WithTimeoutCause(c.Context, limit, fmt.Errorf("it did not answer within %s", screen.Span(limit)))
			}
			defer cancel()
			var shot supervisor.Snapshot
			if err := errors.Join(s.Status(asking, &shot), s.Do(asking, verb)); err != nil {
				if c.Context.Err() == nil && asking.Err() != nil {
					screen.Printf(c.App.ErrWriter, "oarlock: supervisor %s may not have heard that it is to %s: %v. Is the process stopped?\n", s.PID, verb, context.Cause(asking))
					return silent{exitTempFail}
				}
				if !hungUp(err) {
					return err
				}
				gone, waited := end.Await(c.Context, tellingTakes)
				if !gone {
					return errors.Join(err, waited)
				}
				screen.Printf(c.App.Writer, "gone before it was told: it was leaving already\n")
				return nil
			}
			screen.Printf(c.App.Writer, "%s; %s\n", done, ops.RunOn(shot))
			if !c.Bool("wait") {
				return nil
			}
			began := time.Now()
			gone, err := end.Await(c.Context, c.Duration("timeout"))
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

// hungUp reports whether nobody listens any more where somebody just did, who may be about to be gone.
func hungUp(err error) bool {
	for _, sign := range []error{syscall.ECONNREFUSED, syscall.ECONNRESET, syscall.ENOENT, io.EOF} {
		if errors.Is(err, sign) {
			return true
		}
	}
	return false
}
