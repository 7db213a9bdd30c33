package cli

import (
	"context"
	"strconv"

	"github.com/urfave/cli/v2"

	"oarlock/internal/config"
	"oarlock/internal/control"
	"oarlock/internal/ops"
	"oarlock/internal/screen"
	"oarlock/supervisor"
)

// pidFlag chooses among supervisors that share a state directory.
func pidFlag() cli.Flag {
	return &cli.StringFlag{Name: "pid", Usage: "the supervisor with process id `PID`, where several share a state directory"}
}

// reach finds the running supervisor that the options of c mean.
func reach(c *cli.Context) (*control.Client, error) {
	cfg, err := load(c, config.Options{NoPools: true})
	if err != nil {
		return nil, err
	}
	s, err := control.Find(c.Context, cfg.Supervisor.StatePath(), c.String("pid"))
	if err == nil {
		s.Waits = func(sentence string) { screen.PrintLine(c.App.ErrWriter, sentence) }
	}
	return s, err
}

// controlCommands are the verbs that a running supervisor is told over its socket.
func controlCommands() []*cli.Command {
	return []*cli.Command{
		controlCommand("quiet", "take no more jobs; what runs goes on", "", 0, 0,
			func(ctx context.Context, s *control.Client, shot supervisor.Snapshot, _ []string) (string, error) {
				return ops.Quiet(ctx, s, shot)
			}),
		controlCommand("resume", "take jobs again after quiet", "", 0, 0,
			func(ctx context.Context, s *control.Client, shot supervisor.Snapshot, _ []string) (string, error) {
				return ops.ResumeTaking(ctx, s, shot)
			}),
		leaveCommand("drain", "take no more jobs and leave when what runs has finished", "draining: it leaves when what runs has finished"),
		leaveCommand("stop", "take no more jobs and leave when what runs has finished, at the latest after drain_timeout", "stopping: it leaves when what runs has finished, at the latest after drain_timeout"),
		reloadCommand(),
		controlCommand("scale", "set how many children a pool has, until the next reload that changes the pool", "POOL CHILDREN", 2, 2,
			func(ctx context.Context, s *control.Client, shot supervisor.Snapshot, args []string) (string, error) {
				n, err := strconv.Atoi(args[1])
				if err != nil || n < 0 {
					return "", misused("%q is no number of children", args[1])
				}
				return ops.Scale(ctx, s, shot, args[0], n)
			}),
		controlCommand("recycle", "replace the children of a pool, or of all, by new ones", "[POOL]", 0, 1,
			func(ctx context.Context, s *control.Client, shot supervisor.Snapshot, args []string) (string, error) {
				if len(args) == 0 {
					return ops.RecycleAll(ctx, s, shot)
				}
				return ops.Recycle(ctx, s, shot, args[0])
			}),
	}
}

func controlCommand(name, does, args string, least, most int, do func(context.Context, *control.Client, supervisor.Snapshot, []string) (string, error)) *cli.Command {
	return &cli.Command{
		Name:      name,
		Usage:     does,
		ArgsUsage: args,
		Category:  "a running supervisor",
		Flags:     []cli.Flag{pidFlag()},
		Action: func(c *cli.Context) error {
			if err := wantArgs(c, least, most, args); err != nil {
				return err
			}
			s, err := reach(c)
			if err != nil {
				return err
			}
			var shot supervisor.Snapshot
			if err := s.Status(c.Context, &shot); err != nil {
				return err
			}
			done, err := do(c.Context, s, shot, c.Args().Slice())
			if err != nil {
				return asked(err)
			}
			screen.PrintLine(c.App.Writer, done)
			return nil
		},
	}
}
