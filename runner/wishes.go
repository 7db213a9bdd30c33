package runner

import (
	"fmt"
	"slices"
	"time"

	"oarlock/protocol"
)

// What may wait of one run: so many things that are wished for, and so many bytes.
const (
	maxWishes     = 1000
	maxWishBytes  = 256 << 10
	wishesTooMany = "so much is wished for already that Redis has not been told of: %d things, %d bytes"
)

// wishes are what a run wants done to jobs and nobody has taken over yet. What a later one
// makes void is forgotten, so that a child which says the same 10,000 times costs as much
// as one that says it once; the others keep their order.
type wishes struct {
	list          []protocol.Wish
	bytes, things int
}

// add takes in one more, or tells why there is no room.
func (ws *wishes) add(w protocol.Wish) (why string) {
	ws.supersede(&w)
	bytes, things := w.Size()
	if ws.things+things > maxWishes || ws.bytes+bytes > maxWishBytes {
		return fmt.Sprintf(wishesTooMany, ws.things, ws.bytes)
	}
	ws.bytes += bytes
	ws.things += things
	if n := len(ws.list); n > 0 && len(w.Tags) > 0 {
		last := &ws.list[n-1]
		if last.Verb == w.Verb && last.JID == w.JID && len(last.Tags)+len(w.Tags) <= protocol.MaxTags {
			last.Tags = append(last.Tags, w.Tags...)
			return ""
		}
	}
	ws.list = append(ws.list, w)
	return ""
}

// supersede forgets what is void if w is done.
func (ws *wishes) supersede(w *protocol.Wish) {
	left := ws.list[:0]
	ws.bytes, ws.things = 0, 0
	for _, have := range ws.list {
		if have.JID == w.JID {
			switch {
			case len(w.Tags) > 0 && len(have.Tags) > 0:
				have.Tags = slices.DeleteFunc(have.Tags, func(tag string) bool { return slices.Contains(w.Tags, tag) })
				if len(have.Tags) == 0 {
					continue
				}
			case decides(w.Verb) != "" && decides(w.Verb) == decides(have.Verb):
				continue
			}
		}
		bytes, things := have.Size()
		ws.bytes, ws.things = ws.bytes+bytes, ws.things+things
		left = append(left, have)
	}
	clear(ws.list[len(left):])
	ws.list = left
}

// decides names what a verb decides once and for all until the next that does; empty for
// those that add to what is there.
func decides(verb string) string {
	switch verb {
	case protocol.VerbTrack, protocol.VerbUntrack:
		return protocol.VerbTrack
	case protocol.VerbPriority, protocol.VerbCancel, protocol.VerbRequeue:
		return verb
	}
	return ""
}

// take hands over what there is.
func (ws *wishes) take() []protocol.Wish {
	list := ws.list
	*ws = wishes{}
	return list
}

// wish keeps what r wants done, or ends r if that is what it says of its own job.
func (c *Child) wish(s *stream, r *Run, line *protocol.Line, now time.Time) {
	st := &line.Status
	if st.Wish.JID == r.Job.JID {
		st.Wish.JID = ""
	}
	if st.Wish.JID == "" && st.Wish.Ends() {
		st.Verdict = st.Wish.Verdict()
		c.verdict(s, r, st, now)
		return
	}
	why := ""
	if st.Err != nil {
		why = st.Err.Error()
	}
	c.mu.Lock()
	first := len(r.wishes.list) == 0
	if why == "" {
		why = r.wishes.add(*st.Wish)
	}
	c.mu.Unlock()
	switch {
	case why != "":
		s.record(r, LogLine{Stream: s.kind, Text: line.Text, Refused: why}, now)
	case first:
		c.events.Wished(c, r)
	}
}

// Wishes hands over what the run wants done and was not handed over before, oldest first.
// What is left when the run ends is in Ending.Wishes.
func (r *Run) Wishes() []protocol.Wish {
	r.child.mu.Lock()
	defer r.child.mu.Unlock()
	return r.wishes.take()
}
