package queue

import (
	"encoding/json"
)

// listKept is what is kept with an entry of a list, beside it: what attempts that did not end well
// left. It goes when the entry does.
type listKept struct {
	Retries       int             `json:"retries,omitempty"`
	Crashes       int             `json:"crashes,omitempty"`
	Deaths        int             `json:"deaths,omitempty"`
	Spared        int             `json:"spared,omitempty"`
	Interruptions int             `json:"interruptions,omitempty"`
	Standstill    int             `json:"standstill,omitempty"`
	Unstarted     *Standing       `json:"unstarted,omitempty"`
	Unknown       *Standing       `json:"unknown,omitempty"`
	Checkpoint    json.RawMessage `json:"checkpoint,omitempty"`
	At            float64         `json:"at"` // when it was written, in seconds since the epoch
}

// maxKept bounds a checkpoint.
const maxKept = 64 << 10

// readListKept reads what is kept; what cannot be read is nothing.
func readListKept(text string) listKept {
	var k listKept
	if json.Unmarshal([]byte(text), &k) != nil || k.Retries < 0 || k.Crashes < 0 || k.Deaths < 0 || k.Spared < 0 {
		return listKept{}
	}
	return k
}

// text is k as it is kept from now on; "" if that is nothing.
func (k listKept) text(now float64) string {
	k.At = 0
	empty, _ := json.Marshal(listKept{})
	if text, err := json.Marshal(k); err != nil || string(text) == string(empty) {
		return ""
	}
	k.At = now
	text, _ := json.Marshal(k) // as just now
	return string(text)
}

// ListFailure is why an entry of a list failed, newest first in a list beside that of the entries. An hworker
// that fails one tells of none.
type ListFailure struct {
	Entry   string  `json:"entry"` // the SHA-1 of its bytes, in hexadecimal digits
	JID     string  `json:"jid"`
	At      float64 `json:"at"` // seconds since the epoch
	Group   string  `json:"group"`
	Message string  `json:"message"`
	Attempt int     `json:"attempt"` // the last
}

// listFate is what becomes of an entry in work: an action of list.exchange, with its words.
type listFate struct {
	action, kept, word string
	state              string // the job's, as in SettleResult
	crashes            int
	later              float64 // for when it is put back; 0 if it is not to wait
}

// fateOf says what a settlement makes of an entry of l. The error says what an entry cannot do.
func (l *List) fateOf(s *Settlement, h *heldEntry, now float64) (listFate, error) {
	if len(s.Puts) > 0 || s.Data != nil || s.Next != "" && s.Next != l.Name || len(s.Depends) > 0 {
		return listFate{}, &ScriptError{Command: "settle", Message: "a job of a list keeps its data, goes to no queue and puts no jobs"}
	}
	if len(s.Checkpoint) > maxKept {
		return listFate{}, &ScriptError{Command: "settle", Message: "the checkpoint is longer than 64 KiB"}
	}
	k := h.kept
	attempt := 1 + k.Retries + k.Crashes
	fail := func() (listFate, error) {
		why, _ := json.Marshal(ListFailure{entrySHA(h.entry), h.jid, now, s.Group, s.Message, attempt}) // texts and numbers
		return listFate{action: "fail", word: string(why), state: "failed", crashes: k.Crashes}, nil
	}
	if s.Checkpoint != nil {
		k.Checkpoint = s.Checkpoint
	}
	if s.Cleared {
		k.Deaths = 0
	}
	k.Unstarted, k.Unknown = s.Unstarted, s.Unknown
	switch s.Action {
	case Complete:
		return listFate{action: "ack", state: "complete"}, nil
	case Cancel:
		return listFate{action: "ack", state: "canceled"}, nil
	case Fail:
		return fail()
	case Requeue:
		return l.putBack("back", listKept{}, s, now), nil
	case Retry:
		if k.Retries++; l.Retries > 0 && k.Retries > l.Retries {
			return fail()
		}
		return l.putBack("back", k, s, now), nil
	}
	switch s.Counter {
	case CountCrash:
		if k.Crashes++; k.Crashes > s.MaxCrashes {
			return fail()
		}
	case CountDeath:
		k.Deaths++
	case CountSpared:
		k.Spared++
	case CountInterruption:
		k.Interruptions++
		k.Standstill = s.Standstill
	}
	return l.putBack("front", k, s, now), nil
}

// putBack is the fate of an entry that comes back: at once, to one end of the list, or after a delay. What is
// delayed stays in work with a start time by which it counts as abandoned when its time has come; so whoever
// looks after the list then, an hworker too, puts it back, and nobody is needed meanwhile.
func (l *List) putBack(to string, k listKept, s *Settlement, now float64) listFate {
	f := listFate{action: to, kept: k.text(now), state: "waiting", crashes: k.Crashes}
	if to == "front" {
		f.state = "stalled"
	}
	if s.Delay > 0 {
		f.action, f.state, f.later = "later", "scheduled", now+s.Delay.Seconds()
		f.word = stampOf(f.later-l.Timeout.Seconds(), laterTag)
	}
	return f
}
