package queue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"oarlock/queue/internal/wire"
)

// ErrChanged says that a job is no longer as it was seen, so that nothing was done to it.
var ErrChanged = errors.New("changed since it was looked at")

// errNeeded marks the refusal to cancel a job that another waits for. It adds no word.
var errNeeded = errors.New("")

// Change is what an Amendment does to a job.
type Change string

// The changes. A job that is put again, by AmendRetry and AmendMove, keeps all that
// belongs to it: data, priority, tags, retries, throttles, dependencies and the timeout of its
// attempts; AmendRetry also its checkpoint. Its counts begin anew.
const (
	// AmendRetry puts a job into its queue again, with all its retries; not a running one. Where a job of the same key waits that merges as
	// this one does, a failed job's payloads go into that, which is due and has all its retries then, and the job is no more.
	AmendRetry    Change = "retry"
	AmendMove     Change = "move"     // puts it into another queue, likewise
	AmendCancel   Change = "cancel"   // removes it for good; a worker that runs it is told
	AmendTimeout  Change = "timeout"  // takes it from the worker that runs it, and puts it in front of its queue
	AmendPriority Change = "priority" // changes its priority
	AmendNow      Change = "now"      // of a scheduled one: lets it wait no longer for its delay
	AmendKill     Change = "kill"     // of a scheduled one that was tried before: fails it, in the group killed
	AmendExtend   Change = "extend"   // of a parked one: it waits for Delay from now
	AmendTag      Change = "tag"      // gives it tags; those it has already change nothing
	AmendUntag    Change = "untag"    // takes tags away from it
)

// Amendment is one change to a job that was looked at before.
type Amendment struct {
	JID    string
	State  string // Job.State as it was seen …
	Mark   string // … and Job.Mark: both must be so still
	Change Change

	Queue    string        // of AmendMove: where it goes
	Delay    time.Duration // of AmendRetry and AmendMove: from now; ≤ 0 means none. Of AmendExtend; > 0
	Priority float64       // of AmendPriority; higher is popped first
	Tags     []string      // of AmendTag and AmendUntag
}

// Amend is the change to the job as it is seen here.
func (j Job) Amend(change Change) Amendment {
	return Amendment{JID: j.JID, State: j.State, Mark: j.Mark, Change: change}
}

// AmendResult answers one Amendment.
type AmendResult struct {
	JID string
	// Err is nil if it was done. ErrChanged and ErrNoJob say that the job is not as it was
	// seen, a *ScriptError that it cannot be done, ErrAway that Redis would not write.
	Err error
	// Into is the jid of the job that waits and has the payloads of this one now, which is no more; "" for nearly all. See AmendRetry.
	Into string
}

// amendChunk is how many jobs go in one call.
const amendChunk = 200

// Amend changes jobs, each only if it is still in the state that it was seen in and was not
// popped, put or completed since; and answers for each. A job that others wait for is
// cancelled only if all of these are named, too.
//
// On an error the results tell how far it came: of the jobs beyond them one chunk may
// have been changed if the error is ErrDoubt. To repeat the call is harmless: what was
// changed is no longer as it was seen.
func (c *Client) Amend(ctx context.Context, amendments []Amendment) ([]AmendResult, error) {
	results, err := c.amendAll(ctx, amendments)
	// Who waits for a job may have been cancelled in a later call than the one that kept it.
	for before := len(amendments); err == nil && len(amendments) > amendChunk; {
		var again []Amendment
		var at []int
		for i, r := range results {
			if errors.Is(r.Err, errNeeded) {
				again, at = append(again, amendments[i]), append(at, i)
			}
		}
		if len(again) == 0 || len(again) == before {
			break
		}
		before = len(again)
		var more []AmendResult
		more, err = c.amendAll(ctx, again)
		for i, r := range more {
			results[at[i]] = r
		}
	}
	return results, err
}

// amendAll is Amend, each job once.
func (c *Client) amendAll(ctx context.Context, amendments []Amendment) ([]AmendResult, error) {
	results := make([]AmendResult, 0, len(amendments))
	for len(amendments) > 0 {
		some := amendments[:min(len(amendments), amendChunk)]
		var args []any
		for _, a := range some {
			args = a.append(args)
		}
		raw, err := c.call(ctx, Batch, "amend", args...)
		if err != nil {
			return results, err
		}
		in := wire.Read(raw)
		done := len(in.Items)
		if done == 0 || done > len(some) {
			return results, fmt.Errorf("%w: amend answers for %d jobs of %d", ErrDoubt, done, len(some))
		}
		for _, a := range some[:done] {
			into, err := readAmended(&in, a.JID)
			results = append(results, AmendResult{a.JID, err, into})
		}
		if in.Err != nil {
			return results, in.Err
		}
		amendments = amendments[done:]
	}
	return results, nil
}

// append adds the words of an amendment to those of the call.
func (a Amendment) append(args []any) []any {
	var options []any
	if a.Change == AmendMove {
		options = append(options, "queue", a.Queue)
	}
	if a.Delay > 0 {
		options = append(options, "delay", wire.Number(a.Delay.Seconds()))
	}
	if a.Change == AmendPriority {
		options = append(options, "priority", wire.Number(a.Priority))
	}
	if a.Change == AmendTag || a.Change == AmendUntag {
		options = append(options, "tags", wire.JSONList(a.Tags))
	}
	args = append(args, a.JID, a.State, a.Mark, string(a.Change), len(options)/2)
	return slices.Concat(args, options)
}

// readAmended reads what became of one amendment, and of its job the one that has its payloads now.
func readAmended(in *wire.Reader, jid string) (into string, err error) {
	reason := in.Nested()
	if reason == nil {
		_ = in.Text()
		return "", nil
	}
	word, text := reason.Text(), reason.Text()
	switch word {
	case "merged":
		return text, nil
	case "changed":
		return "", fmt.Errorf("%s %w: it is %s now", jid, ErrChanged, text)
	case "gone":
		return "", fmt.Errorf("%w: %s", ErrNoJob, jid)
	}
	err = refusal("amend", text)
	if Class(err) != Refused {
		return "", err
	}
	err = &ScriptError{Command: "amend", Message: jid + ": " + text}
	if word == "needed" {
		return "", fmt.Errorf("%w%w", err, errNeeded)
	}
	return "", err
}
