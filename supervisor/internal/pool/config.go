package pool

import (
	"time"

	"oarlock/queue"
	"oarlock/runner"
	"oarlock/supervisor/outcome"
)

// Config is what a pool is told: a set of children that run one command for some queues.
type Config struct {
	Name   string      // unique in its supervisor
	Queues []string    // names, or globs with * and ?; served in this order
	List   *queue.List // worked in place of queues; nil: none
	Order  queue.Order // "" means Ordered
	Child  runner.Spec // how its children are started and treated

	// Children is how many to keep. With MaxChildren > 0 it is ignored, and the pool
	// grows from MinChildren to MaxChildren as long as jobs have to wait, and shrinks
	// again when children have been idle for IdleTimeout.
	Children, MinChildren, MaxChildren int
	// Exclusive means that what a slot has is for one child at a time: the old one is gone,
	// with all that it started, before the next one is started in its place. Else it is the
	// other way around, and no slot is ever without a child.
	Exclusive bool
	// Prefetch is how many jobs are kept ready for a child of mode reuse that has one. It
	// is told of one at a time, and others have what waits when they have nothing to do. Auto: as many as take 2 ms at
	// most, while jobs take less than a few calls to Redis; none in other modes or with Batch.
	Prefetch int
	// Batch is how many jobs of one class go to a child in one message at most, if it reads
	// such; 0 and 1: one. Not with Prefetch, or mode once. BatchWait is how long a message waits for more of them.
	Batch     int
	BatchWait time.Duration

	MaxJob  int64         // size of data in bytes above which a job fails unseen; 0 means no limit
	Timeout time.Duration // of one attempt; a job may name a shorter one. 0 means none

	// TracePath is where the data of a job that was put without a trace names one: members, one within the other; nil:
	// nowhere. For the share TraceBegin, 0 to 1, of the attempts that have none even so, one is begun.
	TracePath  []string
	TraceBegin float64

	outcome.Policy // what its endings mean

	// A child is replaced after so many jobs, so long a life, so much memory (bytes), so
	// long without a job; 0 means never. Jitter (0…1) spreads the limits among children.
	MaxJobs     int
	MaxAge      time.Duration
	MaxMemory   int64
	IdleTimeout time.Duration
	Jitter      float64
}

// bounds returns between how many children the pool keeps.
func (c *Config) bounds() (least, most int) {
	if c.MaxChildren > 0 {
		return max(c.MinChildren, 0), c.MaxChildren
	}
	return c.Children, c.Children
}

// Crowd is how many children a pool may have in the middle of a roll, which is when it needs
// the most memory.
func (c *Config) Crowd() int {
	_, most := c.bounds()
	if c.Child.Mode == runner.Once || most == 0 || c.Exclusive {
		return most
	}
	return most + 2*surplus(most)
}
