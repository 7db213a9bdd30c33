package supervisor

import (
	"log/slog"
	"sync"
	"time"

	"oarlock/queue"
)

// complaints tells what calls had to leave out, because a key of Redis is not what it
// should be: each thing once, and again only after a pause in which nobody met it. Safe
// for concurrent use.
type complaints struct {
	log   *slog.Logger
	clock func() time.Duration

	mu   sync.Mutex
	said map[queue.Broken]time.Duration // when it was last met
}

// complaintPause is for how long something must not have been met to be told again.
const complaintPause = time.Minute

func newComplaints(log *slog.Logger, clock func() time.Duration) *complaints {
	return &complaints{log: log, clock: clock, said: map[queue.Broken]time.Duration{}}
}

// hear tells what is new among what a call of a pool left out; pool is "" for calls
// that are made for all.
func (c *complaints) hear(pool string, broken []queue.Broken) {
	if len(broken) == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.clock()
	for b, met := range c.said {
		if now-met > complaintPause {
			delete(c.said, b)
		}
	}
	for _, b := range broken {
		if _, known := c.said[b]; !known {
			c.log.Error("left out: "+leftOut(b), "pool", pool, "queue", b.Queue, "jid", b.JID, "reason", b.Reason)
		}
		c.said[b] = now
	}
}

// leftOut says what it is that was left out.
func leftOut(b queue.Broken) string {
	switch {
	case b.JID != "":
		return "an entry of a queue cannot be worked"
	case b.Queue != "":
		return "a queue has a key of the wrong type; oarlock doctor names it"
	}
	return "a key that all queues share cannot be used; oarlock doctor names it"
}
