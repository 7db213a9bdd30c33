package cli

import (
	"context"
	"fmt"
	"strconv"

	"github.com/urfave/cli/v2"

	"oarlock/internal/config"
	"oarlock/internal/control"
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
	return control.Find(c.Context, cfg.Supervisor.StatePath(), c.String("pid"))
}

// controlCommands are the verbs that a running supervisor is told over its socket.
func controlCommands() []*cli.Command {
	simple := func(name, does, done string) *cli.Command {
		return controlCommand(name, does, "", 0, 0, func(ctx context.Context, s *control.Client, _ []string) (string, error) {
			return done, s.Do(ctx, name)
		})
	}
	return []*cli.Command{
		simple("quiet", "take no more jobs; what runs goes on", "quiet"),
		simple("resume", "take jobs again after quiet", "resumed"),
		simple("drain", "take no more jobs and leave when what runs has finished", "draining"),
		simple("stop", "the same, at the latest after drain_timeout", "stopping"),
		reloadCommand(),
		controlCommand("scale", "set how many children a pool has, until the next reload", "POOL CHILDREN", 2, 2,
			func(ctx context.Context, s *control.Client, args []string) (string, error) {
				n, err := strconv.Atoi(args[1])
				if err != nil || n < 0 {
					return "", misused("%q is no number of children", args[1])
				}
				return fmt.Sprintf("%s has %d children now", args[0], n), s.Scale(ctx, args[0], n)
			}),
		controlCommand("recycle", "replace the children of a pool, or of all, one by one", "[POOL]", 0, 1,
			func(ctx context.Context, s *control.Client, args []string) (string, error) {
				pool := ""
				if len(args) > 0 {
					pool = args[0]
				}
				return "recycling", s.Recycle(ctx, pool)
			}),
	}
}

func controlCommand(name, does, args string, least, most int, do func(context.Context, *control.Client, []string) (string, error)) *cli.Command {
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
			done, err := do(c.Context, s, c.Args().Slice())
			if err != nil {
				return err
			}
			printLine(c.App.Writer, done)
			return nil
		},
	}
}
