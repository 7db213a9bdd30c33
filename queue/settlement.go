package queue

import (
	"fmt"
	"time"

	"oarlock/queue/internal/wire"
)

// Action is what a Settlement makes of a job.
type Action string

const (
	Complete Action = "complete" // done; with Next, on to that queue
	Retry    Action = "retry"    // again, at the cost of one remaining retry; failed if none is left
	Fail     Action = "fail"     // failed under Group, until someone acts
	Release  Action = "release"  // given back, remaining untouched
	Cancel   Action = "cancel"   // removed for good, unless another waits for it
	Requeue  Action = "requeue"  // put again with all its retries and all that belongs to it, into Next or its own queue
	Park     Action = "park"     // waits for an answer to Correlation, for Delay at most
	// LeaveTurn says that the attempt of a job with a key or places is over which was taken from us while it ran (canceled,
	// put elsewhere, taken back): nobody else of that key begins before, nobody has its places, or before its lock would have
	// ended. It changes nothing else, and may be said twice, and of any job.
	LeaveTurn Action = "leave"
)

// Counter is the count of ours that a settlement raises, kept with the job for as
// long as it stays in its queue.
type Counter string

const (
	CountNothing      Counter = ""
	CountCrash        Counter = "crash"        // beyond MaxCrashes the job fails under Group
	CountInterruption Counter = "interruption" // never ends a job
	CountSpared       Counter = "spared"       // never ends a job
	CountDeath        Counter = "death"        // of the supervisor that had the job; never ends a job
	CountBatch        Counter = "batch"        // none: it came in one message with others, and one of them is to blame; see Settlement.Batch
)

// Settlement is what became of one taken job.
type Settlement struct {
	JID, Queue string
	// Popped is Taken.Popped. The settlement is refused with ErrLockLost if the job was
	// popped again since, by whatever worker, even under the same name. 0 checks the name only.
	Popped float64

	Action Action

	// Data replaces the job's data, as JSON text stored byte for byte; nil keeps what is stored.
	// Complete, Retry, Fail and Park.
	Data []byte
	// Key and Places are Taken.Key and Taken.Places. LeaveTurn.
	Key, Places string
	// Next is the queue to move on to, and Depends the jobs to wait for there. Complete; Next also Requeue.
	Next    string
	Depends []string
	// Delay keeps the job back for so long. Retry, Release, Requeue, and Complete with Next; Park, where
	// it is how long the job waits for its answer.
	Delay time.Duration
	// Correlation is what the answer will name; "" means the job's own. 1 to 1024 bytes, unique among the jobs of
	// its class that are neither complete nor failed: a job whose correlation another has fails instead, in the
	// group duplicate-correlation. Park.
	Correlation string
	// AnswerEnds makes the answer complete the job: no child sees it. Park.
	AnswerEnds bool
	// DropAnswer lets the next attempt begin without the answer that this one was given. Retry.
	DropAnswer bool
	// Group and Message say why. A Retry with none left fails the job under Group;
	// "" means the protocol's own words.
	Group, Message string

	// Counter and MaxCrashes apply to Release: with CountCrash the job fails under Group
	// once it has crashed more than MaxCrashes times.
	Counter    Counter
	MaxCrashes int
	// Standstill is kept with a job that is released with CountInterruption: how many of its
	// interruptions, this one included, brought no new checkpoint since the last that did.
	Standstill int
	// Cleared forgets the deaths that were counted: the attempt has ended otherwise.
	Cleared bool
	// Front puts a released job ahead of all others of its queue.
	Front bool

	// Checkpoint and Record are kept with the job if not nil: what a next attempt is
	// to be told, and the black box of this one (JSON). 64 KiB in all; more is refused.
	Checkpoint, Record []byte

	// Unstarted and Unknown replace what is kept with the job of the same names if not nil.
	// A settlement without one of them forgets what was kept under it.
	Unstarted, Unknown *Standing

	// Trace replaces the job's if it is not the zero value: that of an attempt which began one. Not of a job that is
	// completed for good, or cancelled: it is kept with what goes on.
	Trace Trace
	// Batch replaces Taken.Batch; 0 forgets it.
	Batch int

	// Puts are jobs to put if, and only if, the settlement is accepted.
	Puts []Put
}

// Fails reports whether a job that is as it was taken fails for good by it.
func (s *Settlement) Fails(job *Taken) bool {
	return s.Action == Fail || s.Action == Retry && job.Remaining < 1 || s.Counter == CountCrash && job.Crashes >= s.MaxCrashes
}

// SettleResult answers one Settlement.
type SettleResult struct {
	// State is where the job is now: complete, waiting, scheduled, depends, failed,
	// stalled, which is the state of a job released to the front, canceled, which is nowhere, or left, of LeaveTurn.
	State string
	// Remaining is the number of retries left, for Retry and Release; −1 means exhausted.
	Remaining int
	// Crashes is the count after the settlement.
	Crashes int
	// Part is the jid of the failed job that has the oldest payload of this one, whose retries were used up: this one has the others, and
	// begins anew with all its retries. "" if there is none.
	Part string
	// Puts answers Settlement.Puts, if the settlement is done.
	Puts []PutResult
	// Err is nil if the settlement is done; ErrLockLost if the job is not ours any more;
	// else what Exchange itself could return. No key was changed for a refused settlement.
	Err error
}

// checkSettlements leaves out settlements that must not be sent, which have an error in
// their result, and begins the results of the others' puts.
func checkSettlements(settlements []Settlement) (sent []*Settlement, puts [][]Put, results []SettleResult) {
	sent, puts, results = make([]*Settlement, 0, len(settlements)), make([][]Put, 0, len(settlements)), make([]SettleResult, len(settlements))
	for i := range settlements {
		s := &settlements[i]
		if s.Data != nil {
			if err := wire.CheckJSON(s.Data); err != nil {
				results[i].Err = &ScriptError{Command: string(s.Action), Message: err.Error()}
				continue
			}
		}
		var named []Put
		if len(s.Puts) > 0 {
			named, results[i].Puts = nameAndCheck(s.Puts, nil)
		}
		sent, puts = append(sent, s), append(puts, named)
	}
	return sent, puts, results
}

// appendSettlement writes jid, queue, popped, action, the number of options and so
// many names and values. What is not given is not sent: nearly all settlements are a
// bare complete. popped is the mark of s.Popped.
func appendSettlement(args []any, s *Settlement, popped any) []any {
	args = append(args, s.JID, s.Queue, popped, string(s.Action))
	at := len(args)
	args = append(args, 0)
	option := func(name string, value any) { args = append(args, name, value) }
	if s.Data != nil {
		option("data", s.Data)
	}
	if s.Action == LeaveTurn && s.Key != "" {
		option("key", s.Key)
	}
	if s.Action == LeaveTurn && s.Places != "" {
		option("places", s.Places)
	}
	if s.Next != "" {
		option("next", s.Next)
	}
	if s.Depends != nil {
		option("depends", wire.JSONList(s.Depends))
	}
	if s.Delay > 0 {
		option("delay", wire.Number(s.Delay.Seconds()))
	}
	if s.Group != "" || s.Action == Fail {
		option("group", s.Group)
		option("message", s.Message)
	}
	if s.Correlation != "" {
		option("correlation", s.Correlation)
	}
	if s.AnswerEnds {
		option("then", "complete")
	}
	if s.DropAnswer {
		option("response", "drop")
	}
	if s.Counter != CountNothing {
		option("counter", string(s.Counter))
		option("max-crashes", s.MaxCrashes)
		if s.Counter == CountInterruption {
			option("standstill", s.Standstill)
		}
	}
	if s.Front {
		option("front", "1")
	}
	if s.Cleared {
		option("cleared", "1")
	}
	if s.Checkpoint != nil {
		option("checkpoint", s.Checkpoint)
	}
	if s.Record != nil {
		option("record", s.Record)
	}
	if s.Unstarted != nil {
		option("unstarted", s.Unstarted.text())
	}
	if s.Unknown != nil {
		option("unknown", s.Unknown.text())
	}
	if text := s.Trace.text(); text != "" {
		option("trace", text)
	}
	if s.Batch > 0 {
		option("batch", s.Batch)
	}
	args[at] = (len(args) - at - 1) / 2
	return args
}

// readResult reads the state the job came to, if that is complete; else a list of the
// state, or "lost" or "refused", the reason for these, two counts, and what became of the puts.
func readResult(in *wire.Reader, r *SettleResult) {
	more := in.Nested()
	if more == nil {
		r.State = in.Text()
		return
	}
	state, reason := more.Text(), more.Text()
	if state == "lost" || state == "refused" {
		*r = SettleResult{Err: settleError("settle", state, reason)}
		return
	}
	r.State, r.Remaining, r.Crashes = state, more.Int(), more.Int()
	if len(r.Puts) > 0 {
		puts := &wire.Reader{Items: more.List()}
		readPuts(puts, r.Puts)
		if more.Err == nil {
			more.Err = puts.Err
		}
	} else if len(more.Items) > 1 {
		_, r.Part = more.Text(), more.Text()
	}
	if in.Err == nil {
		in.Err = more.Err
	}
}

// settleError is the error behind a word that a batch script answers instead of done.
func settleError(command, word, text string) error {
	if word == "lost" {
		return fmt.Errorf("%w: %s", ErrLockLost, text)
	}
	return refusal(command, text)
}
