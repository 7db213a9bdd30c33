package protocol

import (
	"fmt"
	"slices"
	"time"
)

// Wish is what a child wants done to a job, its own or another, beside its verdict. Which
// fields are set depends on Verb.
//
// A cancel or requeue about the job of the run ends that run, so it is a verdict as well.
type Wish struct {
	Verb     string        // tag, untag, track, untrack, priority, note, cancel or requeue
	JID      string        // the job; empty: that of the run
	Tags     []string      // tag, untag; at least one
	Priority float64       // priority; higher is popped first
	Message  string        // note; not empty
	Data     []byte        // note: a JSON object or list; nil if there is none
	Queue    string        // requeue: where it goes; empty: the queue that it is in
	Delay    time.Duration // requeue: how long it waits there; never negative
}

// WishVerbs are the verbs that a Wish can have.
var WishVerbs = []string{VerbTag, VerbUntag, VerbTrack, VerbUntrack, VerbPriority, VerbNote, VerbCancel, VerbRequeue}

// Limits of a single wish, in bytes but for the first.
const (
	MaxTags = 100 // tags that one line names
	MaxTag  = 200
	MaxNote = 8 << 10 // message and data together
)

// Ends reports whether the wish, where it is about the job of the run, ends that run.
func (w *Wish) Ends() bool { return w.Verb == VerbCancel || w.Verb == VerbRequeue }

// Verdict is what a wish that ends its run says of it.
func (w *Wish) Verdict() *Verdict {
	if w.Verb == VerbCancel {
		return &Verdict{Kind: Cancel}
	}
	return &Verdict{Kind: Requeue, Next: w.Queue, Delay: &w.Delay}
}

// Size is about how many bytes the wish keeps, and how many things it asks for.
func (w *Wish) Size() (bytes, things int) {
	bytes = len(w.JID) + len(w.Message) + len(w.Data) + len(w.Queue)
	for _, tag := range w.Tags {
		bytes += len(tag)
	}
	return bytes, max(1, len(w.Tags))
}

// historyWords are those of entries that are no notes.
var historyWords = []string{"put", "popped", "done", "failed", "failed-retries", "throttled", "timed-out", "replaced", "lock-lost", "parked"}

// wish decodes what is wished for.
func (f *fields) wish(verb string) *Wish {
	w := &Wish{Verb: verb, JID: f.text(f.jid)}
	switch verb {
	case VerbTag, VerbUntag:
		w.Tags = f.tags()
	case VerbPriority:
		if isNull(f.other("priority")) {
			f.bad("priority", "is missing")
		}
		w.Priority = f.number("priority", 0)
	case VerbNote:
		w.Message, w.Data = f.text(f.message), f.raw(f.data)
		switch {
		case w.Message == "":
			f.bad("message", "is missing")
		case slices.Contains(historyWords, w.Message):
			f.bad("message", "is a word by which histories say what became of a job")
		case w.Data != nil && w.Data[0] != '{' && w.Data[0] != '[':
			f.bad("data", "is neither an object nor a list")
		case len(w.Message)+len(w.Data) > MaxNote:
			f.bad("message", fmt.Sprintf("and data have more than %d bytes", MaxNote))
		}
	case VerbRequeue:
		w.Queue = f.string("queue")
		if delay := f.wait(f.delay); delay != nil {
			w.Delay = *delay
		}
	}
	return w
}

// tags are those that the line names: a list of texts that are not empty.
func (f *fields) tags() []string {
	tags := f.strings("tags")
	switch {
	case len(tags) == 0:
		f.bad("tags", "is missing")
	case len(tags) > MaxTags:
		f.bad("tags", fmt.Sprintf("has more than %d", MaxTags))
	}
	for _, tag := range tags {
		if tag == "" || len(tag) > MaxTag {
			f.bad("tags", fmt.Sprintf("has one that is empty or longer than %d bytes", MaxTag))
		}
	}
	return tags
}
