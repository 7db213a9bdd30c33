// Package report is what a supervisor says of itself: its state at one moment, what it counted, and what
// happens. It owns the words of that; state and counters are JSON for whoever asks over the control
// socket. It knows no running pool, and is all of a supervisor that its readers need to know.
package report

import (
	"fmt"
	"strings"

	"oarlock/protocol"
	"oarlock/queue"
	"oarlock/runner"
	"oarlock/supervisor/internal/gate"
	"oarlock/supervisor/outcome"
)

// Snapshot is the state of a supervisor at one moment, fit for JSON.
type Snapshot struct {
	Name         string         `json:"name"`
	PID          int            `json:"pid"`
	Up           float64        `json:"up"` // seconds since Run began
	Ready        bool           `json:"ready"`
	Quiet        bool           `json:"quiet"`
	Draining     bool           `json:"draining"`
	Abstains     string         `json:"abstains,omitempty"` // why nothing is taken from queues, though Redis is there and nobody wants quiet; see AbstainsWords
	KillStrength string         `json:"kill_strength"`      // how whole trees of processes are killed
	Redis        string         `json:"redis"`              // "ok", or why it is away, or what it lacks and why, see RedisTrouble
	Short        string         `json:"short,omitempty"`    // what the host has run out of, so that children are started one by one
	Seen         float64        `json:"redis_seen"`         // seconds since Redis last told what there is in the queues; 0 if it never did
	Pools        []PoolSnapshot `json:"pools"`
	Stuck        []string       `json:"stuck,omitempty"` // pools that Pools leaves out, for their loop does not answer: nothing is known of them now

	Intake []IntakeSnapshot `json:"intake,omitempty"` // lists whose entries become jobs
}

// RedisTrouble splits what s says of Redis: what is wrong with it, "" if nothing is, and why.
func (s *Snapshot) RedisTrouble() (what, why string) {
	if s.Redis == "ok" {
		return "", ""
	}
	for _, state := range []string{gate.NoWrites, gate.NoMemory} {
		if why, is := strings.CutPrefix(s.Redis, state+": "); is {
			return state, why
		}
	}
	return "is away", s.Redis
}

// RedisMeans says what cannot be done while Redis is as the first word of RedisTrouble has it.
func RedisMeans(what string) string { return gate.Means(what) }

// RedisReads reports whether Redis is there to be read, whatever else it lacks.
func (s *Snapshot) RedisReads() bool {
	what, why := s.RedisTrouble()
	return what == "" || why != s.Redis
}

// AbstainsWords says that nothing is taken, and why; Abstains must not be "".
func (s *Snapshot) AbstainsWords() string { return "takes no jobs: " + s.Abstains }

// ShortWords says what it means that the host has run out of something; Short must not be "".
func (s *Snapshot) ShortWords() string {
	return s.Short + ": children are started one by one, as there is room"
}

// StuckWords says what it means that the loop of a pool of Stuck does not answer.
func StuckWords(pool string) string {
	return "pool " + pool + " stands still: its loop does not answer, so it takes nothing and renews no locks. The watchdog of systemd ends that; where there is none, restart the supervisor"
}

// PoolSnapshot is the state of a pool.
type PoolSnapshot struct {
	Name       string         `json:"name"`
	Worker     string         `json:"worker"`
	Mode       string         `json:"mode"`
	Queues     []string       `json:"queues"`
	List       *ListSnapshot  `json:"list,omitempty"` // that it works in place of queues
	Children   int            `json:"children"`       // wanted now; MinChildren and MaxChildren bound it
	Least      int            `json:"min_children"`
	Most       int            `json:"max_children"`
	Exclusive  bool           `json:"exclusive,omitempty"` // a child is gone before the next has its slot
	Generation int            `json:"generation"`
	Rolling    bool           `json:"rolling"`
	Roll       *RollSnapshot  `json:"roll,omitempty"`       // while rolling
	LastRolls  []EndedRoll    `json:"last_rolls,omitempty"` // the last ten that ended, newest first
	GivenUp    *GivenUp       `json:"given_up,omitempty"`   // the generation that came last, if it was given up; until the next comes
	Quiet      bool           `json:"quiet"`
	QuietAlone bool           `json:"quiet_alone,omitempty"` // it was told so by itself, and a Resume of all leaves it so
	Draining   bool           `json:"draining"`
	Abstains   string         `json:"abstains,omitempty"`    // as of Snapshot; rules are nothing to a pool of a list
	Breaker    string         `json:"breaker,omitempty"`     // why it is open: the pool goes slowly
	BadJobs    int            `json:"bad_jobs,omitempty"`    // different jobs that ended badly since one last ended well, while it is open
	Delays     float64        `json:"delays,omitempty"`      // seconds by which these delay jobs behind them at most, unless they run for longer than 0.1 s
	BreakerFor float64        `json:"breaker_for,omitempty"` // seconds since it opened
	NextProbe  float64        `json:"next_probe,omitempty"`  // seconds until the pool may begin another job, while it is open
	Barren     string         `json:"barren,omitempty"`      // why no child starts: the pool takes nothing
	Damaged    []string       `json:"damaged,omitempty"`     // what is left out, and why: queues, each with the key that is not what it should be
	Ready      int            `json:"ready"`                 // jobs that could be taken, as last seen
	Oldest     float64        `json:"oldest"`                // seconds that the next of them has been waiting
	Waiting    int            `json:"waiting"`               // jobs taken that have no child yet
	Unsettled  int            `json:"unsettled"`             // attempts that ended and are not settled
	Slots      []SlotSnapshot `json:"slots"`
	Counters   Counters       `json:"counters"`

	LeaseMargin float64 `json:"lease_margin"` // the least that was left of a lease at a renewal, in seconds; 0 if none was renewed
	LastMargin  float64 `json:"last_margin"`  // likewise, of the last renewal
	Lock        float64 `json:"lock"`         // the shortest lock of those renewed last, in seconds: of so much; 0 likewise
	RoundTrip   float64 `json:"round_trip"`   // of the last take, in seconds; 0 if there was none
	LastTake    float64 `json:"last_take"`    // seconds since then
	InDoubt     bool    `json:"in_doubt"`     // a call has an unknown outcome
}

// Works names what the pool works: its list, or the queues, as the configuration has them.
func (p *PoolSnapshot) Works() string {
	if p.List != nil {
		return "list " + p.List.Name
	}
	return strings.Join(p.Queues, " ")
}

// ListSnapshot is a list that a pool works, as last seen.
type ListSnapshot struct {
	Name string `json:"name"`
	queue.ListCounts
	Unseen  bool `json:"unseen,omitempty"` // nobody has looked yet: how many entries there are is not known
	PutBack int  `json:"put_back"`         // entries that this supervisor found abandoned, and put back to the front
	Retried int  `json:"retried"`          // that this pool put to the back, to be tried again,
	Crashed int  `json:"crashed"`          // and to the front, because their child died
}

// IntakeSnapshot is a list whose entries this supervisor makes jobs of, since it began to.
type IntakeSnapshot struct {
	List   string `json:"list"`
	Queue  string `json:"queue"`
	Moved  int    `json:"moved"`  // entries that it took off the list, as far as it was answered
	Jobs   int    `json:"jobs"`   // of which so many were put,
	Merged int    `json:"merged"` // so many merged with a job that waits,
	Broken int    `json:"broken"` // and so many cannot be jobs
	Full   bool   `json:"full"`   // as many wait in the queue as may, so it pauses

	Waiting int `json:"waiting"` // entries in the list, as last seen
	Aside   int `json:"aside"`   // those that cannot be jobs, by whoever found that, and that nobody has put back, those that are alike once

	Trouble string `json:"trouble,omitempty"` // why nothing is taken in; "" where that is not so
}

// RollSnapshot is how far a change of generation is.
type RollSnapshot struct {
	From    int     `json:"from"` // the generations
	To      int     `json:"to"`
	Changed int     `json:"changed"` // slots with a ready child of the new one, of Of
	Of      int     `json:"of"`
	OnTrial bool    `json:"on_trial"`            // it has yet to prove itself, and has one slot until then
	Ended   int     `json:"ended"`               // attempts on trial,
	Bad     int     `json:"bad"`                 // of which so many badly
	Slot    int     `json:"slot"`                // that waits longest for the end of its job,
	JID     string  `json:"jid,omitempty"`       // which is this; "" if none waits
	Waits   float64 `json:"waits_for,omitempty"` // seconds since that was begun

	BackStarts bool `json:"back_starts,omitempty"` // no old child stays: going back would start what the command finds

	Back  bool    `json:"back,omitempty"` // From was given up, and what it changed goes back
	Since float64 `json:"since"`          // seconds since it began
}

// EndedRoll is a change of generation that is over.
type EndedRoll struct {
	From    int     `json:"from"` // the generations
	To      int     `json:"to"`
	Result  string  `json:"result"`            // one of the Roll…
	Message string  `json:"message,omitempty"` // the bad sign, or who or what ended it
	Took    float64 `json:"took"`              // seconds
	Ago     float64 `json:"ago"`               // seconds since it ended
}

// GivenUp tells of a generation that did not prove itself, and was taken back.
type GivenUp struct {
	Generation int     `json:"generation"`
	Message    string  `json:"message"` // the bad sign
	Ago        float64 `json:"ago"`     // seconds since then
}

// SlotSnapshot is the state of one place for a child.
type SlotSnapshot struct {
	Slot       int           `json:"slot"`
	State      string        `json:"state"` // empty, blocked: by a child that is not gone, backoff, starting, ready, busy, leaving; staying: idle, until a roll is over
	PID        int           `json:"pid,omitempty"`
	Generation int           `json:"generation"`
	Age        float64       `json:"age,omitempty"`  // of the child, in seconds
	Jobs       int           `json:"jobs,omitempty"` // that it worked
	Memory     int64         `json:"memory,omitempty"`
	LastOutput float64       `json:"last_output,omitempty"` // seconds since it wrote anything
	Next       float64       `json:"next,omitempty"`        // seconds until the next start, in state backoff
	Runs       []RunSnapshot `json:"runs,omitempty"`
	Batch      int           `json:"batch,omitempty"` // how many jobs came in the message that it is at work on; Runs are those without a verdict
}

// Together says in a few words how many jobs came in the message that the slot is at work on, and how many of them
// have no verdict yet; "" where it has one job, or none.
func (s *SlotSnapshot) Together() string {
	if s.Batch < 2 || len(s.Runs) == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d jobs of %s that came together", len(s.Runs), s.Batch, s.Runs[0].Klass)
}

// AtWork is how many jobs the child of the slot is at work on; what Runs has more is kept ready for it.
func (s *SlotSnapshot) AtWork() int {
	n := 0
	for i := range s.Runs {
		if !s.Runs[i].Kept {
			n++
		}
	}
	return n
}

// Kept is how many jobs are kept ready for the child of the slot.
func (s *SlotSnapshot) Kept() int { return len(s.Runs) - s.AtWork() }

// RunSnapshot is a job at work, or kept ready.
type RunSnapshot struct {
	JID         string   `json:"jid"`
	Klass       string   `json:"klass"`
	Queue       string   `json:"queue"`
	Run         string   `json:"run"` // names this attempt and no other; it is not the run of which its child knows, which is a secret
	Attempt     int      `json:"attempt"`
	Kept        bool     `json:"kept_ready,omitempty"`   // for the child, which is at work on the first of its slot and knows nothing of this
	Began       float64  `json:"began"`                  // when its turn came at the child, or, of one that is kept ready, when it was given to that; in seconds since the epoch on this host's clock
	Age         float64  `json:"age"`                    // seconds since then
	Lease       float64  `json:"lease"`                  // seconds left
	TimeoutLeft float64  `json:"timeout_left,omitempty"` // seconds until its time is up; 0 if it has no timeout
	Stopping    string   `json:"stopping,omitempty"`
	Percent     *float64 `json:"percent,omitempty"`
	Progress    string   `json:"progress,omitempty"`
}

// Counters count what happened since a pool began.
type Counters struct {
	Taken       int `json:"taken"`
	Acked       int `json:"acked"`
	Retried     int `json:"retried"`     // by the child's word, its exit code or a timeout
	Failed      int `json:"failed"`      // for good, also for want of retries, or after too many crashes
	Released    int `json:"released"`    // given back
	Crashed     int `json:"crashed"`     // attempts whose child died
	Interrupted int `json:"interrupted"` // attempts that we stopped for our own reasons
	TimedOut    int `json:"timed_out"`
	Unstarted   int `json:"unstarted"`   // attempts that ended because the command cannot be run
	Unknown     int `json:"unknown"`     // attempts of jobs whose class the child does not know
	Spared      int `json:"spared"`      // bad endings that cost their job nothing but a delay
	Halved      int `json:"halved"`      // jobs that come again in smaller messages, for one that came with them was to blame
	Lost        int `json:"lost"`        // locks lost or canceled while we had the job
	Late        int `json:"late"`        // verdicts dropped because the lock was gone
	Adopted     int `json:"adopted"`     // verdicts that were settled under a later lock
	RunAnew     int `json:"run_anew"`    // jobs that came back while in flight and ran again
	Recovered   int `json:"recovered"`   // jobs that a lost reply had hidden
	Resolved    int `json:"resolved"`    // settlements in doubt that had taken effect
	Refused     int `json:"refused"`     // wishes of children that were not granted
	Requeued    int `json:"requeued"`    // jobs that their children put again
	Parked      int `json:"parked"`      // attempts that ended to wait for an answer
	Canceled    int `json:"canceled"`    // jobs that their children canceled
	Wishes      int `json:"wishes"`      // of children, that were granted
	Put         int `json:"put"`         // jobs that children put
	NotPut      int `json:"not_put"`     // jobs that they wanted put, and that were refused or existed
	Asked       int `json:"asked"`       // times that a retry_command was asked what becomes of a job
	Unanswered  int `json:"unanswered"`  // of which so many it did not say
	Unheard     int `json:"unheard"`     // lines of children that look like verdicts and did not count
	LeftBehind  int `json:"left_behind"` // processes that jobs which ended well had left running, and that were killed
	Started     int `json:"started"`     // children
	Exchanges   int `json:"exchanges"`   // settle-and-take calls
	Renewals    int `json:"renewals"`    // renew calls
}

// Concluded counts an ending of which Decide made this; what becomes of the job by it is counted by Settled.
func (c *Counters) Concluded(e *runner.Ending, o *outcome.Outcome) {
	c.Refused += len(o.Refused)
	if o.Settlement.Counter == queue.CountBatch {
		c.Halved++
		return
	}
	switch e.Kind {
	case runner.Died:
		c.Crashed++
	case runner.BrokeProtocol:
		if !outcome.Unread(e) {
			c.Crashed++
		}
	case runner.Interrupted, runner.LockLost:
		c.Interrupted++
	case runner.TimedOut:
		c.TimedOut++
	case runner.Said:
		if e.Verdict.Kind == protocol.Unknown {
			c.Unknown++
		}
	case runner.Exited:
		if e.Action == protocol.ExitUnknown {
			c.Unknown++
		}
	}
	if outcome.Unstarted(e) {
		c.Unstarted++
	}
	if o.Settlement.Counter == queue.CountSpared {
		c.Spared++
	}
}

// Settled counts a job that Redis has settled so, perhaps without an attempt: its answer ended it, or did not come in time. fails says that
// the job fails for good: where it has no retry left or has crashed too often, Redis makes it fail, whatever the action is.
func (c *Counters) Settled(action queue.Action, fails bool) {
	if fails {
		c.Failed++
		return
	}
	switch action {
	case queue.Complete:
		c.Acked++
	case queue.Retry:
		c.Retried++
	case queue.Release:
		c.Released++
	case queue.Requeue:
		c.Requeued++
	case queue.Cancel:
		c.Canceled++
	case queue.Park:
		c.Parked++
	}
}
