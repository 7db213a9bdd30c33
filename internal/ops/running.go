package ops

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"oarlock/internal/screen"
	"oarlock/supervisor"
)

// What is done to a supervisor that runs. Each is told what it says of itself, and says what was done in a sentence; an
// error is that of the supervisor, *Wrong or *Missing.

// Running is a supervisor that runs, as it is spoken to over its control socket or in its own process. Its methods may be
// called by several goroutines at once.
type Running interface {
	Do(ctx context.Context, verb string) error // quiet, resume, drain or stop
	Scale(ctx context.Context, pool string, children int) error
	Recycle(ctx context.Context, pool string) error // "" means all pools
}

// Quiet lets a supervisor take no more jobs.
func Quiet(ctx context.Context, s Running, shot supervisor.Snapshot) (told string, err error) {
	if shot.Draining {
		return "", leaving(shot)
	}
	return "quiet: it takes no more jobs until `oarlock resume`; " + RunOn(shot), s.Do(ctx, "quiet")
}

// ResumeTaking lets a supervisor take jobs again after Quiet.
func ResumeTaking(ctx context.Context, s Running, shot supervisor.Snapshot) (told string, err error) {
	switch {
	case shot.Draining:
		return "", leaving(shot)
	case !shot.Quiet:
		return "it was not quiet, and takes jobs", nil
	}
	return "resumed: it takes jobs again", s.Do(ctx, "resume")
}

// RunOn says how many jobs are at work.
func RunOn(shot supervisor.Snapshot) string {
	n := 0
	for _, pool := range shot.Pools {
		for _, slot := range pool.Slots {
			n += slot.AtWork() // what is kept ready is given back
		}
	}
	if n == 1 {
		return "1 job runs on"
	}
	return screen.Count(n) + " jobs run on"
}

// leaving refuses what a supervisor that leaves cannot do any more.
func leaving(shot supervisor.Snapshot) error {
	return missing("the supervisor (pid %d) is draining: it takes no more jobs, starts no children for others, and leaves; %s", shot.PID, RunOn(shot))
}

// poolOf finds a pool of a supervisor that does not leave.
func poolOf(shot supervisor.Snapshot, name string) (supervisor.PoolSnapshot, error) {
	if shot.Draining {
		return supervisor.PoolSnapshot{}, leaving(shot)
	}
	var names []string
	for _, pool := range shot.Pools {
		if pool.Name == name && !pool.Draining {
			return pool, nil
		}
		names = append(names, pool.Name)
	}
	if slices.Contains(shot.Stuck, name) {
		return supervisor.PoolSnapshot{}, errors.New(supervisor.StuckWords(name))
	}
	return supervisor.PoolSnapshot{}, missing("there is no pool %s%s", name, Nearest(name, names))
}

// Scale sets how many children a pool of the supervisor s, which is as shot says, has until the next reload that
// changes the pool, and says so.
func Scale(ctx context.Context, s Running, shot supervisor.Snapshot, name string, n int) (told string, err error) {
	pool, err := poolOf(shot, name)
	if err != nil {
		return "", err
	}
	if pool.Least != pool.Most && (n < pool.Least || n > pool.Most) {
		return "", wrong("pool %s has from %d to %d children (min_children, max_children), and so not %d: change that and reload", pool.Name, pool.Least, pool.Most, n)
	}
	if pool.Least != pool.Most && pool.Mode == "once" {
		return "", wrong("pool %s starts a process for each job, %d at a time at most, and has none without one: there is nothing to scale; change max_children and reload", pool.Name, pool.Most)
	}
	if err := s.Scale(ctx, pool.Name, n); err != nil {
		return "", err
	}
	told = fmt.Sprintf("%s is to have %s, and had %d", pool.Name, children(n), pool.Children)
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

// Recycle begins to replace the children of a pool of s by new ones, and says so.
func Recycle(ctx context.Context, s Running, shot supervisor.Snapshot, name string) (told string, err error) {
	pool, err := poolOf(shot, name)
	if err != nil {
		return "", err
	}
	return recycling("the children of " + pool.Name), s.Recycle(ctx, pool.Name)
}

// RecycleAll is Recycle for all pools of s.
func RecycleAll(ctx context.Context, s Running, shot supervisor.Snapshot) (told string, err error) {
	if shot.Draining {
		return "", leaving(shot)
	}
	return recycling("the children of all pools"), s.Recycle(ctx, "")
}

func recycling(what string) string {
	return "recycling " + what + "; `oarlock status` tells how far that is"
}
