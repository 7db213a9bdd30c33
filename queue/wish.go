package queue

import (
	"context"
	"fmt"

	"oarlock/queue/internal/wire"
)

// Wish is what a taken job wants done, to itself or to another.
type Wish struct {
	JID    string  // the job that wishes; the session's worker holds it, or nothing is done
	Popped float64 // as in Settlement
	Target string  // the job that it is about; "" means itself
	Verb   string  // tag, untag, track, untrack, priority, note, cancel or requeue

	Tags     []string // of tag and untag
	Priority float64  // of priority; higher is popped first
	Message  string   // of note, an entry of the history …
	Data     []byte   // … which may have data beside: a JSON object or list, or nil
	Queue    string   // of requeue: where it goes; "" means its own
	Delay    float64  // of requeue: seconds from now
}

// A call grants so many wishes, and tags among them, and takes so many bytes.
const (
	wishChunk = 100
	wishBytes = 256 << 10
)

// Wish does what jobs at work want done, in order, in as many calls as that takes, and answers
// for each: nil, ErrLockLost where the wishing job is not held any more, or a *ScriptError with
// the reason. Cancel and requeue are for other jobs than the one that wishes, as AmendCancel,
// AmendRetry and AmendMove.
//
// On an error the answers tell how far it came. After ErrDoubt some of the others may have
// been done; to repeat them is harmless but for a note, of which there are two then.
func (s *Session) Wish(ctx context.Context, wishes []Wish) ([]error, error) {
	answers := make([]error, 0, len(wishes))
	for len(wishes) > 0 {
		args, some := wishArgs(s.worker, wishes)
		raw, err := s.client.call(ctx, Batch, "wish", args...)
		if err != nil {
			return answers, err
		}
		in := wire.Read(raw)
		done := len(in.Items)
		if done == 0 || done > some {
			return answers, fmt.Errorf("%w: wish answers for %d of %d", ErrDoubt, done, some)
		}
		for range done {
			var answer error
			if no := in.Nested(); no != nil {
				answer = settleError("wish", no.Text(), no.Text())
			} else {
				_ = in.Text()
			}
			answers = append(answers, answer)
		}
		if in.Err != nil {
			return answers, in.Err
		}
		wishes = wishes[done:]
	}
	return answers, nil
}

// wishArgs writes as many of the wishes as a call grants, at least one, and tells how many.
func wishArgs(worker string, wishes []Wish) (args []any, some int) {
	args = []any{worker}
	things, bytes := 0, 0
	for _, w := range wishes {
		words := w.words()
		if some > 0 && (things >= wishChunk || bytes >= wishBytes) {
			break
		}
		target := w.Target
		if target == "" {
			target = w.JID
		}
		args = append(args, w.JID, wire.Mark(w.Popped), target, w.Verb, len(words))
		args = append(args, words...)
		some++
		things += max(1, len(w.Tags))
		bytes += len(w.Message) + len(w.Data)
	}
	return args, some
}

// words are those of the verb.
func (w *Wish) words() []any {
	switch w.Verb {
	case "tag", "untag":
		return wire.Args(w.Tags)
	case "priority":
		return []any{wire.Number(w.Priority)}
	case "note":
		if w.Data != nil {
			return []any{w.Message, w.Data}
		}
		return []any{w.Message}
	case "requeue":
		return []any{w.Queue, wire.Number(w.Delay)}
	}
	return nil
}
