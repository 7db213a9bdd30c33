package lookout

import (
	"log/slog"
	"sync"
	"time"

	"oarlock/queue"
)

// Complaints tells what is not as it should be in Redis, where one job, queue or setting must
// not keep us from the others: each thing once, and again only after a pause in which nobody
// met it. Safe for concurrent use.
type Complaints struct {
	log   *slog.Logger
	clock func() time.Duration

	mu   sync.Mutex
	said map[any]time.Duration // when it was last met
}

// complaintPause is for how long something must not have been met to be told again.
const complaintPause = time.Minute

// NewComplaints tells log, on that clock.
func NewComplaints(log *slog.Logger, clock func() time.Duration) *Complaints {
	return &Complaints{log: log, clock: clock, said: map[any]time.Duration{}}
}

// LeftOut tells what a call of a pool had to leave out; pool is "" for calls that are
// made for all.
func (c *Complaints) LeftOut(pool string, broken []queue.Broken) {
	for _, b := range broken {
		if !c.isNew(b) {
			continue
		}
		what := "a key that all queues share cannot be used; oarlock doctor names it"
		switch {
		case b.Lacks() != "":
			what = "nothing is taken, for this version does not know all that the key space needs; upgrade it"
		case b.Refused():
			what = "Redis refused it"
		case b.JID != "":
			what = "an entry of a queue cannot be worked"
		case b.Queue != "":
			what = "a queue cannot be worked; oarlock doctor names what is wrong"
		}
		c.log.Error("left out: "+what, "pool", pool, "queue", b.Queue, "jid", b.JID, "reason", b.Reason)
	}
}

// odd tells which settings cannot be used as they are.
func (c *Complaints) odd(settings []error) {
	for _, err := range settings {
		if c.isNew(err.Error()) {
			c.log.Warn("setting out of bounds; see oarlock config set", "setting", err.Error())
		}
	}
}

// isNew notes that something was met, and reports whether it is to be told.
func (c *Complaints) isNew(what any) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.clock()
	for old, met := range c.said {
		if now-met > complaintPause {
			delete(c.said, old)
		}
	}
	_, known := c.said[what]
	c.said[what] = now
	return !known
}
