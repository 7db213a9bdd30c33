package trial

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"

	"oarlock/protocol"
	"oarlock/runner"
)

// rule is something that a worker program should do.
type rule struct {
	says  string
	must  bool
	modes map[runner.Mode]bool // that it concerns; nil: all
	try   func(context.Context, *Trial) error
}

// lasting are the modes whose processes can stand idle.
var lasting = map[runner.Mode]bool{runner.Reuse: true, runner.Preload: true}

// looping is the mode whose processes work one job after the other.
var looping = map[runner.Mode]bool{runner.Reuse: true}

var rules = []rule{
	{"it works a job", true, nil, worksOne},
	{"it answers whatever the data is", true, nil, strangeData},
	{"it answers a job of 300 KiB", true, nil, longLine},
	{"fed twice, it works again", true, looping, fedTwice},
	{"flooded with 200 jobs, it answers each once, in order", true, looping, flooded},
	{"given 20 jobs in one message, it answers each once", true, lasting, batched},
	{"killed at work, a fresh one works the same job", true, nil, killed},
	{"canceled, it answers or leaves within the grace period", true, nil, canceled},
	{"told to leave at work, it finishes or leaves within the grace period", true, nil, leavesAtWork},
	{"idle, it leaves at the end of its input", true, lasting, leavesIdle},
	{"no program that a job starts has the pipe of jobs as its stdin", true, lasting, keepsChannel},
	{"after a job, no process that it started is left", false, looping, leavesNothing},
	{"it says hello, so that a pool knows when it is ready", false, looping, saysHello},
	{"it reads cancel lines, so that a job can be stopped and the process stay", false, looping, readsCancel},
}

// flood is how many jobs are written ahead.
const flood = 200

// worksOne wants the job done, not only answered: a program that ends at once with whatever
// code answers, too.
func worksOne(ctx context.Context, t *Trial) error {
	first := t.likeIt("")
	s, err := t.fresh(ctx, first)
	if err != nil {
		return err
	}
	defer s.end()
	if _, err := s.give(first); err != nil {
		return err
	}
	return s.acknowledges(ctx)
}

// once has a fresh child work one job with data, and takes any answer.
func once(ctx context.Context, t *Trial, data string) error {
	first := t.likeIt(data)
	s, err := t.fresh(ctx, first)
	if err != nil {
		return err
	}
	defer s.end()
	if _, err := s.give(first); err != nil {
		return err
	}
	e, err := s.answer(ctx)
	if err != nil {
		return err
	}
	return answered(e)
}

// strange is data that programs stumble over.
var strange = []struct{ what, data string }{
	{"an empty object", `{}`},
	{"a list", `[]`},
	{"null", `null`},
	{"a number beyond 64 bits", `{"n":123456789012345678901234567890,"x":1e300}`},
	{"all kinds of characters", `{"text":"Zoë \u0000 \ud83d\ude00 \" \\ \n \u2028","ключ":"{\"@\":\"ack\"}"}`},
	{"objects 60 deep", strings.Repeat(`{"a":`, 60) + "1" + strings.Repeat("}", 60)},
}

func strangeData(ctx context.Context, t *Trial) error {
	for _, s := range strange {
		if err := once(ctx, t, s.data); err != nil {
			return fmt.Errorf("with %s as data: %w", s.what, err)
		}
	}
	return nil
}

func longLine(ctx context.Context, t *Trial) error {
	return once(ctx, t, `{"text":"`+strings.Repeat("long ", 60<<10)+`"}`)
}

func fedTwice(ctx context.Context, t *Trial) error {
	s, err := t.fresh(ctx, nil)
	if err != nil {
		return err
	}
	defer s.end()
	for _, count := range []string{"first", "second", "third"} {
		if err := s.work(ctx); err != nil {
			return fmt.Errorf("the %s job: %w", count, err)
		}
	}
	return nil
}

func flooded(ctx context.Context, t *Trial) error {
	s, err := t.fresh(ctx, nil)
	if err != nil {
		return err
	}
	defer s.end()
	var given []*runner.Run
	for range flood {
		run, err := s.give(t.likeIt(""))
		if err != nil {
			return err
		}
		given = append(given, run)
	}
	for i, want := range given {
		e, err := s.answer(ctx)
		if err == nil {
			err = answered(e)
		}
		if err != nil {
			return fmt.Errorf("job %d of %d: %w", i+1, flood, err)
		}
		if e.run != want {
			return fmt.Errorf("job %d of %d was not the next to be answered", i+1, flood)
		}
	}
	return nil
}

// together is how many jobs are given in one message.
const together = 20

// batched concerns programs whose hello says that they read messages of several jobs.
func batched(ctx context.Context, t *Trial) error {
	s, err := t.patient().fresh(ctx, nil)
	if err != nil {
		return errLeft // it says no hello
	}
	defer s.end()
	if !s.Batches() {
		return errLeft
	}
	jobs := make([]*protocol.Job, together)
	for i := range jobs {
		jobs[i] = t.likeIt("")
	}
	runs, err := s.RunBatch(jobs, make([]runner.RunLimits, together))
	if err != nil {
		return fmt.Errorf("it takes no jobs: %w", err)
	}
	for i := range runs {
		e, err := s.answer(ctx)
		if err == nil {
			err = answered(e)
		}
		if err != nil {
			return fmt.Errorf("after %d of %d answers: %w", i, together, err)
		}
	}
	return nil
}

func killed(ctx context.Context, t *Trial) error {
	job := t.likeIt("")
	s, err := t.fresh(ctx, job)
	if err != nil {
		return err
	}
	if _, err := s.give(job); err != nil {
		s.end()
		return err
	}
	s.end()
	again := *job
	again.Run, again.Attempt = t.likeIt("").Run, job.Attempt+1
	s, err = t.fresh(ctx, &again)
	if err != nil {
		return err
	}
	defer s.end()
	if _, err := s.give(&again); err != nil {
		return err
	}
	return s.acknowledges(ctx)
}

// slack is how much longer than the grace period a machine under load may take.
const slack = 2 * time.Second

func canceled(ctx context.Context, t *Trial) error {
	return stopped(ctx, t, func(s *subject, r *runner.Run) { r.Cancel(runner.CauseCanceled, t.Spec.KillGrace) })
}

func leavesAtWork(ctx context.Context, t *Trial) error {
	return stopped(ctx, t, func(s *subject, _ *runner.Run) { s.Shutdown(t.Spec.KillGrace) })
}

// stopped has stop end a child's work as soon as it has some.
func stopped(ctx context.Context, t *Trial, stop func(*subject, *runner.Run)) error {
	job := t.likeIt("")
	s, err := t.fresh(ctx, job)
	if err != nil {
		return err
	}
	defer s.end()
	run, err := s.give(job)
	if err != nil {
		return err
	}
	began := time.Now()
	stop(s, run)
	e, err := s.answer(ctx)
	switch {
	case err != nil:
		return err
	case e.ending.Signal == syscall.SIGKILL:
		return fmt.Errorf("it had to be killed after %v", t.Spec.KillGrace)
	case time.Since(began) > t.Spec.KillGrace+slack:
		return fmt.Errorf("it took %v", time.Since(began).Round(time.Millisecond))
	}
	return nil
}

func leavesIdle(ctx context.Context, t *Trial) error {
	s, err := t.fresh(ctx, nil)
	if err != nil {
		return err
	}
	defer s.end()
	// One that has answered is loaded, and reads; of one that does not answer we cannot know.
	if t.Spec.Mode == runner.Reuse && s.work(ctx) != nil {
		return errLeft
	}
	s.Shutdown(t.Spec.KillGrace)
	select {
	case exit := <-s.ears.gone:
		switch {
		case exit.Signal == syscall.SIGKILL:
			return fmt.Errorf("it had to be killed after %v", t.Spec.KillGrace)
		case exit.Signal != 0:
			return fmt.Errorf("it did not leave before it got %v", exit.Signal)
		case exit.Code != 0:
			return fmt.Errorf("it left with %s", exitText(exit))
		}
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// leavesNothing looks at the process group between two jobs. What has left the group,
// too, is not seen here; a supervisor ends it with the child.
func leavesNothing(ctx context.Context, t *Trial) error {
	s, err := t.fresh(ctx, nil)
	if err != nil {
		return err
	}
	defer s.end()
	if err := s.work(ctx); err != nil {
		return err
	}
	members, err := groupOf(s.PGID())
	if err != nil {
		return errLeft // no /proc
	}
	if others := slices.DeleteFunc(members, func(pid int) bool { return pid == s.PID() }); len(others) > 0 {
		return fmt.Errorf("after the job these processes of it are still there: %v", others)
	}
	return nil
}

// helloLimit is how long a program may take to say hello; a machine under load starts
// an interpreter in a second.
const helloLimit = 3 * time.Second

func saysHello(ctx context.Context, t *Trial) error {
	s, err := t.patient().fresh(ctx, nil)
	if err != nil {
		return fmt.Errorf("none came: %w", err)
	}
	defer s.end()
	t.hello = s.Hello()
	return nil
}

// patient is a trial whose children are ready with their hello, for which it does not wait for long.
func (t *Trial) patient() *Trial {
	patient := *t
	patient.Spec.Hello = runner.HelloRequired
	if patient.Limit = helloLimit; t.Limit > 0 {
		patient.Limit = min(t.Limit, helloLimit)
	}
	return &patient
}

func readsCancel(_ context.Context, t *Trial) error {
	switch {
	case t.hello == nil:
		return errLeft
	case !slices.Contains(t.hello.Caps, protocol.CapCancel):
		return errors.New(`"cancel" is not among its caps; a cancel ends the process`)
	}
	return nil
}
