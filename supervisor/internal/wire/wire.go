// Package wire turns what the queue says into what a child is told, and what a child wishes into what
// the queue is asked. It is the one place where a job of the one becomes a job of the other; it owns
// nothing, and knows neither a child nor a call to Redis.
package wire

import (
	"time"

	"oarlock/protocol"
	"oarlock/queue"
	"oarlock/supervisor/internal/trace"
)

// Job turns the queue's job into the protocol's, under a new run id; limit is the timeout of
// its pool, 0 for none. The lease is left to the caller.
func Job(t queue.Taken, limit time.Duration) *protocol.Job {
	job := &protocol.Job{
		Run:        protocol.NewRun(),
		JID:        t.JID,
		Klass:      t.Klass,
		Queue:      t.Queue,
		Key:        t.Key,
		Merge:      string(t.Merge),
		Scores:     t.Scores,
		Data:       t.Data,
		Tags:       t.Tags,
		Priority:   t.Priority,
		Attempt:    1 + t.Retries - t.Remaining + t.Crashes,
		Retries:    t.Retries,
		Remaining:  t.Remaining,
		Timeout:    shorter(limit, t.Timeout),
		Checkpoint: t.Checkpoint,

		Correlation: t.Correlation,
	}
	if a := t.Answer; a != nil {
		job.Response = &protocol.Response{Correlation: a.Correlation, Data: a.Data, Failed: a.Failed, Error: a.Error,
			Age: queue.Duration(max(0, t.Popped-a.At))}
	}
	job.Trace = trace.Within(t.Trace)
	return job
}

// shorter returns the shorter of two limits of which 0 means none.
func shorter(a, b time.Duration) time.Duration {
	if a == 0 || b > 0 && b < a {
		return b
	}
	return a
}

// Wish turns what the child wishes that has the job into what the queue does.
func Wish(of queue.Taken, w protocol.Wish) queue.Wish {
	return queue.Wish{
		JID:      of.JID,
		Popped:   of.Popped,
		Target:   w.JID,
		Verb:     w.Verb,
		Tags:     w.Tags,
		Priority: w.Priority,
		Message:  w.Message,
		Data:     w.Data,
		Queue:    w.Queue,
		Delay:    w.Delay.Seconds(),
	}
}
