// Package decider asks the commands of throttles who may start: it takes the turn of asking in Redis, runs the command, and tells Redis
// what that decided, or that it failed. It owns which commands there are here, and how often they were asked. It must know
// neither pools nor files, nor how a process is run.
package decider

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"math/rand/v2"
	"reflect"
	"sync"
	"time"

	"oarlock/queue"
)

// Store is what is asked of a queue.Client, whose comments are its contract.
type Store interface {
	AskDecider(ctx context.Context, throttle, asker string, lease time.Duration) (queue.Question, error)
	Decide(ctx context.Context, throttle string, number int, d queue.Decision) ([]bool, error)
	Now() float64
}

// Command is the command of a throttle.
type Command struct {
	Argv    []string
	Dir     string
	Timeout time.Duration
	Every   time.Duration // shortest time between two questions
}

// Run runs a command that is asked input, and returns what it printed; the error is a sentence.
type Run func(ctx context.Context, throttle string, c Command, input []byte) ([]byte, error)

// Count is how often the command of a throttle was asked here.
type Count struct {
	Asked    int
	Failed   map[string]int // by cause: of CauseRun, CauseAnswer
	Verdicts map[string]int // by verb
	Seconds  float64        // in all, that commands ran
}

// Causes of failures.
const (
	CauseRun    = "run"    // it could not be started, died, was too slow or printed too much
	CauseAnswer = "answer" // what it printed is no answer
)

const (
	// lookPause is how often is looked at most, so that Redis knows that somebody has the command.
	lookPause = 2 * time.Second
	// failurePause is how long a command that failed is not asked.
	failurePause = 5 * time.Second
	// leaseMargin is how long the lease of a question lasts beyond the command's time.
	leaseMargin = 2 * time.Second
)

// Keeper asks, for as long as Run lasts. Its methods are safe for concurrent use.
type Keeper struct {
	store Store
	run   Run
	await func(context.Context)
	name  string
	log   *slog.Logger
	news  chan struct{} // of size 1: there are other commands

	mu       sync.Mutex // for memory only
	commands map[string]Command
	counts   map[string]*Count
}

// New makes a keeper, which asks in the name of the supervisor. await returns when Redis is there, or its context ends.
func New(store Store, run Run, await func(context.Context), name string, log *slog.Logger) *Keeper {
	return &Keeper{store: store, run: run, await: await, name: name, log: log, news: make(chan struct{}, 1), counts: map[string]*Count{}}
}

// Set says which commands there are now, by throttle. The caller must not change them. One that is as before goes on as it was.
func (k *Keeper) Set(commands map[string]Command) {
	k.mu.Lock()
	k.commands = commands
	k.mu.Unlock()
	select {
	case k.news <- struct{}{}:
	default:
	}
}

// Counts are the counts of all throttles, by name.
func (k *Keeper) Counts() map[string]Count {
	k.mu.Lock()
	defer k.mu.Unlock()
	all := make(map[string]Count, len(k.counts))
	for name, c := range k.counts {
		copied := *c
		copied.Failed, copied.Verdicts = maps.Clone(c.Failed), maps.Clone(c.Verdicts)
		all[name] = copied
	}
	return all
}

// asker asks the command of one throttle.
type asker struct {
	command Command
	end     context.CancelFunc
	gone    chan struct{} // closed when it asks no more
}

// Run asks until ctx ends; it returns nil, when no command runs any more.
func (k *Keeper) Run(ctx context.Context) error {
	askers := map[string]*asker{} // by throttle
	var all sync.WaitGroup
	defer all.Wait()
	for {
		k.mu.Lock()
		commands := k.commands
		k.mu.Unlock()
		for throttle, a := range askers {
			if c, stays := commands[throttle]; !stays || !reflect.DeepEqual(c, a.command) {
				a.end()
				<-a.gone
				delete(askers, throttle)
			}
		}
		for throttle, command := range commands {
			if askers[throttle] != nil {
				continue // what it asks just now would be lost, and nobody asks before its lease is over
			}
			a := &asker{command: command, gone: make(chan struct{})}
			var asking context.Context
			asking, a.end = context.WithCancel(ctx)
			askers[throttle] = a
			all.Go(func() {
				defer close(a.gone)
				k.keep(asking, throttle, command)
			})
		}
		select {
		case <-ctx.Done():
			return nil
		case <-k.news:
		}
	}
}

// keep asks the command of one throttle.
func (k *Keeper) keep(ctx context.Context, throttle string, c Command) {
	said := "" // the trouble that was logged last
	for {
		k.await(ctx)
		if ctx.Err() != nil {
			return
		}
		wait, asked, trouble, err := k.ask(ctx, throttle, c)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil && !errors.Is(err, queue.ErrAway) && !errors.Is(err, queue.ErrDoubt):
			asked, trouble = true, err.Error()
		}
		switch {
		case !asked || trouble == said: // nobody knows more than before
		case trouble != "":
			k.log.Warn("the command of a throttle decides nothing", "throttle", throttle, "command", c.Argv[0], "why", trouble)
			said = trouble
		default:
			k.log.Info("the command of a throttle decides again", "throttle", throttle)
			said = ""
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
	}
}

// ask asks once, if there is something to ask and it is our turn. wait is when to look again; asked, whether the command was run; trouble, why
// it decided nothing.
func (k *Keeper) ask(ctx context.Context, throttle string, c Command) (wait time.Duration, asked bool, trouble string, err error) {
	look := min(c.Every, lookPause)
	q, err := k.store.AskDecider(ctx, throttle, k.name, c.Timeout+leaseMargin)
	if err != nil {
		return lookPause, false, "", err
	}
	if q.Number == 0 {
		if until := time.Duration((q.Again - k.store.Now()) * float64(time.Second)); q.Again > 0 && until < look {
			look = max(until, 10*time.Millisecond)
		}
		return jittered(look), false, "", nil
	}
	line, err := lineOf(throttle, q, k.store.Now())
	if err != nil {
		return lookPause, false, "", err
	}
	began := time.Now()
	printed, err := k.run(ctx, throttle, c, line)
	if ctx.Err() != nil {
		return 0, false, "", nil // the lease lets others ask
	}
	took := time.Since(began)
	var d queue.Decision
	cause, unknown := CauseRun, 0
	if err == nil {
		cause = CauseAnswer
		d, unknown, err = decisionOf(printed, q)
	}
	if err != nil {
		d = queue.Decision{Pause: failurePause, Open: failurePause, Trouble: err.Error()}
		k.count(throttle, took, d, cause)
	} else {
		if len(q.Candidates) < mostAsked || d.Pause > 0 {
			d.Pause = max(d.Pause, c.Every)
		}
		k.count(throttle, took, d, "")
	}
	done, err := k.store.Decide(ctx, throttle, q.Number, d)
	if err != nil {
		return look, true, d.Trouble, err
	}
	k.tell(throttle, d, done, unknown)
	return min(d.Pause, look), true, d.Trouble, nil
}

// mostAsked is how many candidates a question has at most. After one that has as many the next is asked at once.
const mostAsked = 100

// tell logs what was decided.
func (k *Keeper) tell(throttle string, d queue.Decision, done []bool, unknown int) {
	for i, v := range d.Verdicts {
		if i < len(done) && done[i] && (v.Verb != queue.VerdictHold || v.Why != "") {
			k.log.Debug("decided", "throttle", throttle, "jid", v.JID, "queue", v.Queue, "verdict", v.Verb, "for", v.For, "why", v.Why)
		}
	}
	if unknown > 0 {
		k.log.Debug("the command of a throttle named jobs that it was not asked about", "throttle", throttle, "jobs", unknown)
	}
}

func (k *Keeper) count(throttle string, took time.Duration, d queue.Decision, cause string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	c := k.counts[throttle]
	if c == nil {
		c = &Count{Failed: map[string]int{}, Verdicts: map[string]int{}}
		k.counts[throttle] = c
	}
	c.Asked++
	c.Seconds += took.Seconds()
	if cause != "" {
		c.Failed[cause]++
	}
	for _, v := range d.Verdicts {
		c.Verdicts[v.Verb]++
	}
}

// jittered is pause, a tenth more or less, so that many supervisors do not ask at once.
func jittered(pause time.Duration) time.Duration {
	return pause - pause/10 + rand.N(pause/5)
}
