package outcome

import (
	"cmp"
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
	// Ask is the retry_command, which decides about endings that are left to the above; none: nobody does.
	Ask []string

	// Classes are what holds for classes of jobs in place of the above: the first that stands for a job's class counts.
	Classes []Class

	// UnknownFor is how long a job waits for a program that knows its class, from the first
	// child on that did not. Then it fails; 0 means at once. While a program that works the queue was not asked, it waits up to four times as long.
	UnknownFor time.Duration
}

// Class is what holds for the jobs of a class, in place of what their pool says.
type Class struct {
	Name        string        // of the class, or a glob
	Timeout     time.Duration // of one attempt; a job may name a shorter one. 0: the pool's
	ParkTimeout time.Duration // how long a job waits for its answer where its child does not say; 0 means ParkTimeout
	Retry       *Retry        // the wait before the next attempt; nil: the pool's
	Ask         []string      // its retry_command; none: the pool's
}

// of returns what holds for a class; of one that is not named, nothing.
func (p *Policy) of(klass string) Class {
	for _, c := range p.Classes {
		if queue.Match(c.Name, klass) {
			return c
		}
	}
	return Class{}
}

// TimeoutOf is how long an attempt of a job of a class may take in a pool whose limit is pools; 0 means for ever.
func (p *Policy) TimeoutOf(klass string, pools time.Duration) time.Duration {
	return cmp.Or(p.of(klass).Timeout, pools)
}

// RetryOf is how long jobs of a class wait before their next attempts.
func (p *Policy) RetryOf(klass string) Retry {
	if own := p.of(klass).Retry; own != nil {
		return *own
	}
	return p.Retry
}

// AskOf is the retry_command for jobs of a class; none: the rules decide.
func (p *Policy) AskOf(klass string) []string {
	if own := p.of(klass).Ask; len(own) > 0 {
		return own
	}
	return p.Ask
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
