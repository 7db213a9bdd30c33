package protocol

import "time"

// Status is one status line, decoded.
//
// Which fields are set depends on Verb; fields that the verb does not have are
// zero. Verbs this package does not know are kept in Verb with Run and JID, and
// are to be ignored.
type Status struct {
	Verb string
	Run  string // the run it is about; empty if the child left it out
	JID  string // of a wish: the job that it is about, empty for that of the run; else the job within a batch

	Verdict  *Verdict   // ack, retry, fail, release, unknown, park
	Wish     *Wish      // tag, untag, track, untrack, priority, note, cancel, requeue
	Hello    *Hello     // hello
	Progress *Progress  // progress
	Put      *Put       // put
	Log      *LogRecord // log
	Data     []byte     // checkpoint: its JSON
	Reason   string     // bye: why

	// Err tells which field of a known verb cannot be used ("delay is not a
	// number"). The line is a status line nevertheless; a verdict with an Err must
	// not be settled.
	Err error
}

// Kind is what a child said about its job.
type Kind uint8

// The verdicts a child can give.
const (
	Ack     Kind = iota + 1 // done
	Retry                   // not done: try again, counted
	Fail                    // failed for good
	Release                 // given back, uncounted
	Unknown                 // this program has nothing for jobs of this class; another may
	Cancel                  // the job is to be no more
	Requeue                 // put again, with all its retries: into Verdict.Next, or its own queue
	Park                    // it waits for an answer, without a process
)

// String returns the verb of k.
func (k Kind) String() string {
	switch k {
	case Ack:
		return VerbAck
	case Retry:
		return VerbRetry
	case Fail:
		return VerbFail
	case Release:
		return VerbRelease
	case Unknown:
		return VerbUnknown
	case Cancel:
		return VerbCancel
	case Requeue:
		return VerbRequeue
	case Park:
		return VerbPark
	}
	return "none"
}

// Verdict is a child's word on its run.
type Verdict struct {
	Kind    Kind
	Data    []byte         // replaces the payload; nil keeps the stored bytes
	Next    string         // ack: the queue to advance to; empty completes. requeue: where it goes; empty: its own queue
	Delay   *time.Duration // ack with next, retry, release, requeue: wait; nil if not named; never negative
	Depends []string       // ack with next: jids to wait for
	Group   string         // retry, fail: kind of failure
	Message string         // retry, fail, unknown: what happened
	Klass   string         // unknown: the class that is not known; empty: that of the job
	Raised  bool           // retry, fail: nobody said it; a helper made it of an exception

	DropResponse bool // retry: the next attempt is not told of the answer that this one was

	Correlation string         // park: what the answer will name; empty: the job's own
	Timeout     *time.Duration // park: how long it waits at most, above 0; nil: the default
	Checkpoint  []byte         // park: kept for the next attempt, as the verb checkpoint does; nil: none
	Completes   bool           // park: the answer completes the job, and no child sees it
}

// Hello is a child's offer to speak the protocol.
type Hello struct {
	Versions []int
	Lib      string   // name and version of the helper, "python/1.0"
	Caps     []string // see the Cap constants; others are ignored
	Threads  int      // preload: threads alive before the first fork; 0 if not named
}

// Speaks tells whether the child offered version v.
func (h *Hello) Speaks(v int) bool {
	for _, have := range h.Versions {
		if have == v {
			return true
		}
	}
	return false
}

// Can tells whether the child named the capability.
func (h *Hello) Can(capability string) bool {
	for _, have := range h.Caps {
		if have == capability {
			return true
		}
	}
	return false
}

// Progress is how far a run got.
type Progress struct {
	Percent *float64 // 0 to 100; nil if not named
	Message string
}

// Put is a job that a run wants to be put when it is acknowledged.
type Put struct {
	Queue     string
	Klass     string // empty: the class of the job that puts it
	Data      []byte // JSON; null if not named
	JID       string // empty: a random one
	IfExists  string // what becomes of a job that has the JID: replace, final or never; empty: DefaultIfExists
	Delay     time.Duration
	Priority  float64
	Retries   *int // nil: the default
	Tags      []string
	Depends   []string
	Timeout   time.Duration // time a run may take; 0: the pool's
	Throttles []string
	Weight    int      // places that it takes of each throttle; 0: what is said of its class
	Bypass    bool     // it needs none
	Windows   []string // when it may start: names of windows of the rules, or spans; nil: what is said of its class or queue
	Zone      string   // of the spans; empty: UTC
	Key       string   // orders it among the jobs of that key in its queue; empty: none
	Merge     string   // none, all, last, first or set, while a job of its key waits; empty: what the queue says
	Score     *float64 // orders what merges; nil: the time of the put
}

// LogRecord is a structured line for the job's log.
type LogRecord struct {
	Level   string // as the child named it: debug, info, warn, error, or another word; info if not named
	Message string
	Fields  []Field // every other field, in the order of the line
}

// Field is one named value of a LogRecord.
type Field struct {
	Name  string
	Value []byte // JSON
}
