// Package trial has children work outside of a supervisor and without Redis: to show what both sides of one job say
// (Show), or to find out which rules a worker program keeps (Torture). It owns the children that it starts, on
// a host of its own or its caller's, and leaves none behind. It must not know the command line, a configuration, or how
// jobs are kept in Redis.
package trial

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"oarlock/protocol"
	"oarlock/queue"
	"oarlock/runner"
	"oarlock/supervisor"
)

// Trial is a program and what it is tried with. Its methods are for one goroutine at a time.
type Trial struct {
	Host    *runner.Host
	Spec    runner.Spec
	Job     queue.Taken   // what is worked; Torture gives each run one like it, with a jid of its own
	Batch   int           // Show gives so many like it in one message, to a child that reads such; 0: it is given by itself
	Timeout time.Duration // of the pool; 0: none
	Ask     Ask           // of Show: how a retry_command is run; nil: none is
	Limit   time.Duration // for an answer, or to be ready; longer counts as never. Show waits without one

	works bool            // it acknowledged a job
	hello *protocol.Hello // what it said of itself, when that was tried
}

// Ask runs a retry_command, as supervisor.Config.Ask does.
type Ask func(ctx context.Context, command []string, input []byte) ([]byte, error)

// New makes a trial of job on a program, on a host of its own. The caller closes it.
func New(spec runner.Spec, job queue.Taken, timeout time.Duration) (*Trial, error) {
	host, err := runner.NewHost(runner.HostOptions{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, err
	}
	return &Trial{Host: host, Spec: spec, Job: job, Timeout: timeout}, nil
}

// Close ends what is left on the host of the trial.
func (t *Trial) Close() { _ = t.Host.Close() }

// Retries is how often a job that is tried may be tried again, as one that is put.
const Retries = 5

// Attempted makes a job of class klass from queue that comes for the given time, which counts from 1; below it is the
// first. It may be tried again Retries times, more often only if it was not to blame: the rest are crashes.
func Attempted(klass, from string, data []byte, attempt int) queue.Taken {
	before := max(attempt-1, 0)
	used := min(before, Retries)
	return queue.Taken{
		JID: queue.NewJID(), Klass: klass, Queue: from, Data: data,
		Retries: Retries, Remaining: Retries - used, Crashes: before - used,
	}
}

// Stored is a job of Redis as a supervisor would take it; fresh leaves out its checkpoint.
func Stored(job queue.Job, fresh bool) queue.Taken {
	taken := queue.Taken{
		JID: job.JID, Klass: job.Klass, Queue: LastQueue(job), Data: job.Data, Tags: job.Tags, Priority: job.Priority,
		Retries: job.Retries, Remaining: max(job.Remaining, 0), Timeout: job.Kept.Timeout, Damage: job.Damage,
	}
	if kept := job.Kept; kept.Queue == job.Queue { // what another queue counted says nothing here
		taken.Crashes, taken.Interruptions, taken.Spared, taken.Standstill = kept.Crashes, kept.Interruptions, kept.Spared, kept.Standstill
		taken.Unstarted, taken.Unknown, taken.Checkpoint = kept.Unstarted, kept.Unknown, kept.Checkpoint
	}
	if fresh {
		taken.Checkpoint = nil
	}
	return taken
}

// LastQueue is the queue of a job, or, if it is complete, the last it was in.
func LastQueue(job queue.Job) string {
	name := job.Queue
	for _, entry := range job.History {
		if job.Queue == "" && entry.Queue != "" {
			name = entry.Queue
		}
	}
	return name
}

// AnyQueue is a queue that a pool with such names and globs works; there is one at least.
func AnyQueue(patterns []string) string {
	for _, pattern := range patterns {
		if !queue.IsGlob(pattern) {
			return pattern
		}
	}
	return strings.NewReplacer("*", "try", "?", "x").Replace(patterns[0])
}

// wire is what a child is told of job.
func (t *Trial) wire(job queue.Taken) *protocol.Job {
	told := supervisor.Wire(job, t.Timeout)
	told.Lease = time.Minute // as a lock lasts where nothing else is set
	return told
}

// likeIt makes a job like that of the trial, with its own names and with data, or the trial's if that is "".
func (t *Trial) likeIt(data string) *protocol.Job {
	job := t.Job
	job.JID = queue.NewJID()
	if data != "" {
		job.Data = []byte(data)
	}
	return t.wire(job)
}
