package outcome

import (
	"fmt"
	"slices"
	"time"

	"oarlock/protocol"
	"oarlock/queue"
)

// Policy is what a pool makes of endings about which its children do not decide alone.
type Policy struct {
	NextQueues []string // names or globs: where a child may advance and put jobs; none: nowhere
	Allow      []string // verbs of wishes that its children may have about other jobs than their own

	OnError    Remedy // after an error that is no verdict; "" means RetryJob
	OnCrash    Remedy // after a crash; "" means RetryJob
	MaxCrashes int    // a job that crashed more often fails; 0 means at the first
	Retry      Retry  // the wait before the next attempt

	// UnknownFor is how long a job waits for somebody who knows its class, from the first
	// child on that said it did not. Then it fails; 0 means at once.
	UnknownFor time.Duration
}

// Remedy is what becomes of a job that ended badly without saying so.
type Remedy string

const (
	RetryJob Remedy = "retry" // again, as long as its counts allow
	FailJob  Remedy = "fail"  // failed at once
)

// Refuses tells why a child may not have what it wishes, in a sentence; "" if it may. own is
// the job of the run. About its own job a child may ask for anything but a queue that
// NextQueues does not name.
func (p *Policy) Refuses(w protocol.Wish, own queue.Taken) string {
	switch {
	case w.JID != "" && w.JID != own.JID && !slices.Contains(p.Allow, w.Verb):
		return fmt.Sprintf("the child asked for a %s of another job, %s, and allow does not name that", w.Verb, w.JID)
	case w.Queue != "" && w.Queue != own.Queue && !allowed(p.NextQueues, w.Queue):
		return fmt.Sprintf("the child asked for queue %q, which is not in next_queues", w.Queue)
	}
	return ""
}
