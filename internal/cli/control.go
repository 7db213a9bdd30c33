package cli

import (
	"context"
	"fmt"
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
	return control.Find(c.Context, cfg.Supervisor.StatePath(), c.String("pid"))
}

// controlCommands are the verbs that a running supervisor is told over its socket.
func controlCommands() []*cli.Command {
	return []*cli.Command{
		controlCommand("quiet", "take no more jobs; what runs goes on", "", 0, 0,
			func(ctx context.Context, s *control.Client, shot supervisor.Snapshot, _ []string) (string, error) {
				if shot.Draining {
					return "", leavingError(shot)
				}
				return "quiet: it takes no more jobs until `oarlock resume`; " + runOn(shot), s.Do(ctx, "quiet")
			}),
		controlCommand("resume", "take jobs again after quiet", "", 0, 0,
			func(ctx context.Context, s *control.Client, shot supervisor.Snapshot, _ []string) (string, error) {
				switch {
				case shot.Draining:
					return "", leavingError(shot)
				case !shot.Quiet:
					return "it was not quiet, and takes jobs", nil
				}
				return "resumed: it takes jobs again", s.Do(ctx, "resume")
			}),
		leaveCommand("drain", "take no more jobs and leave when what runs has finished", "draining: it leaves when what runs has finished"),
		leaveCommand("stop", "take no more jobs and leave when what runs has finished, at the latest after drain_timeout", "stopping: it leaves when what runs has finished, at the latest after drain_timeout"),
		reloadCommand(),
		controlCommand("scale", "set how many children a pool has, until the next reload that changes the pool", "POOL CHILDREN", 2, 2, scale),
		controlCommand("recycle", "replace the children of a pool, or of all, by new ones", "[POOL]", 0, 1, recycle),
	}
}

// runOn says how many jobs are at work.
func runOn(shot supervisor.Snapshot) string {
	n := 0
	for _, pool := range shot.Pools {
		for _, slot := range pool.Slots {
			n += len(slot.Runs)
		}
	}
	if n == 1 {
		return "1 job runs on"
	}
	return screen.Count(n) + " jobs run on"
}

// leavingError refuses what a supervisor that leaves cannot do any more.
func leavingError(shot supervisor.Snapshot) error {
	return notThere("the supervisor (pid %d) is draining: it takes no more jobs, starts no children for others, and leaves; %s", shot.PID, runOn(shot))
}

// poolOfShot finds a pool of a supervisor that does not leave.
func poolOfShot(shot supervisor.Snapshot, name string) (supervisor.PoolSnapshot, error) {
	if shot.Draining {
		return supervisor.PoolSnapshot{}, leavingError(shot)
	}
	var names []string
	for _, pool := range shot.Pools {
		if pool.Name == name && !pool.Draining {
			return pool, nil
		}
		names = append(names, pool.Name)
	}
	return supervisor.PoolSnapshot{}, notThere("there is no pool %s%s", name, ops.Nearest(name, names))
}

func scale(ctx context.Context, s *control.Client, shot supervisor.Snapshot, args []string) (string, error) {
	n, err := strconv.Atoi(args[1])
	if err != nil || n < 0 {
		return "", misused("%q is no number of children", args[1])
	}
	pool, err := poolOfShot(shot, args[0])
	if err != nil {
		return "", err
	}
	if pool.Least != pool.Most && (n < pool.Least || n > pool.Most) {
		return "", misused("pool %s has from %d to %d children (min_children, max_children), and so not %d: change that and reload", pool.Name, pool.Least, pool.Most, n)
	}
	if pool.Least != pool.Most && pool.Mode == "once" {
		return "", misused("pool %s starts a process for each job, %d at a time at most, and has none without one: there is nothing to scale; change max_children and reload", pool.Name, pool.Most)
	}
	if err := s.Scale(ctx, pool.Name, n); err != nil {
		return "", err
	}
	told := fmt.Sprintf("%s is to have %s, and had %d", pool.Name, children(n), pool.Children)
	if pool.Least != pool.Most {
		told += "; it grows and shrinks by itself from there"
	}
	return told, nil
}

// children is a number of them.
func children(n int) string {
	if n == 1 {
		return "1 child"
	}
	return screen.Count(n) + " children"
}

func recycle(ctx context.Context, s *control.Client, shot supervisor.Snapshot, args []string) (string, error) {
	name, what := "", "the children of all pools"
	if shot.Draining {
		return "", leavingError(shot)
	}
	if len(args) > 0 {
		pool, err := poolOfShot(shot, args[0])
		if err != nil {
			return "", err
		}
		name, what = pool.Name, "the children of "+pool.Name
	}
	return "recycling " + what + "; `oarlock status` tells how far that is", s.Recycle(ctx, name)
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
				return err
			}
			screen.PrintLine(c.App.Writer, done)
			return nil
		},
	}
}
