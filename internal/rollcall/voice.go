package rollcall

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"oarlock/supervisor"
)

const (
	// freshFor is how long one answer does for all who ask: it is made five times a second at most.
	freshFor = 200 * time.Millisecond
	// mostReplies is how many questions are answered in a second; others hear nothing.
	mostReplies = 100
	// mostDisagrees is how many sentences on its rules are told of a supervisor.
	mostDisagrees = 10
	// replyWithin is how long it may take Redis to take an answer.
	replyWithin = time.Second
)

// Answerer is what a Voice needs of a queue.Client.
type Answerer interface {
	Questions(ctx context.Context) <-chan []byte
	Answer(ctx context.Context, id string, answer []byte) error
}

// Voice answers for a supervisor. Its fields are set before Run, and not changed after.
type Voice struct {
	Client   Answerer
	Who      Who                        // the supervisor, as its snapshots say
	Snapshot func() supervisor.Snapshot // how the supervisor is now; called by one goroutine
	// Tail gives the last lines of the child in a slot, without secrets, oldest first, or an error for who asked; nil: none are kept.
	Tail func(pool string, slot, lines int) ([]Line, error)
	// Disagrees tells which rules of the supervisor's file do not count, in sentences; called by one goroutine. Nil: nothing is known of that.
	Disagrees func() []string
	Host      string
	Version   string
	URL       string // of its page; "" if it has none
	Log       *slog.Logger

	packed  []byte // the last answer; only Run's goroutine touches this and what follows
	made    time.Time
	second  time.Time // in which replies are counted
	replies int
}

// Run answers until ctx ends. It goes on whatever it is asked.
func (v *Voice) Run(ctx context.Context) error {
	for text := range v.Client.Questions(ctx) {
		if !v.mayReply(time.Now()) {
			continue
		}
		var q question
		if len(text) > maxQuestion || json.Unmarshal(text, &q) != nil {
			continue // nobody's question
		}
		answer, err := v.answer(q)
		if err == nil && answer != nil {
			sending, cancel := context.WithTimeout(ctx, replyWithin)
			err = v.Client.Answer(sending, q.ID, answer)
			cancel()
		}
		if err != nil {
			v.Log.Debug("a question to all supervisors was not answered", "err", err)
		}
	}
	return nil
}

// mayReply counts replies.
func (v *Voice) mayReply(now time.Time) bool {
	if now.Sub(v.second) >= time.Second {
		v.second, v.replies = now, 0
	}
	v.replies++
	return v.replies <= mostReplies
}

// answer is what is answered to q; nil is nothing, for it is asked of another or is not known here.
func (v *Voice) answer(q question) ([]byte, error) {
	if db := databaseOf(v.Client); q.DB != nil && db != nil && *q.DB != *db {
		if q.Ask != askStatus {
			return nil, nil
		}
		return pack(Answer{V: version, Elsewhere: true})
	}
	switch q.Ask {
	case askStatus:
		if v.packed == nil || time.Since(v.made) >= freshFor {
			packed, err := v.pack()
			if err != nil {
				return nil, err
			}
			v.packed, v.made = packed, time.Now()
		}
		return v.packed, nil
	case askTail:
		if q.To == nil || *q.To != v.Who {
			return nil, nil
		}
		return pack(v.tail(q))
	}
	return nil, nil
}

// pack makes the answer about the supervisor, cut until it is short enough.
func (v *Voice) pack() ([]byte, error) {
	shot := v.Snapshot()
	hideRuns(&shot)
	a := Answer{V: version, Host: v.Host, Version: v.Version, URL: v.URL, Sums: Sum(&shot), Status: shot}
	if v.Disagrees != nil {
		a.Disagrees = v.Disagrees()
		a.Disagrees = a.Disagrees[:min(len(a.Disagrees), mostDisagrees)]
	}
	packed, err := pack(a)
	for _, cut := range []func(){
		func() {
			for i := range a.Status.Pools {
				a.Status.Pools[i].Slots = nil
			}
		},
		func() { a.Status.Pools = nil },
	} {
		if err != nil || len(packed) <= maxAnswer {
			break
		}
		a.Cut = true
		cut()
		packed, err = pack(a)
	}
	return packed, err
}

// hideRuns leaves out the ids of runs, which are secrets between supervisor and child: others of the namespace read along.
func hideRuns(s *supervisor.Snapshot) {
	for i := range s.Pools {
		for j := range s.Pools[i].Slots {
			runs := s.Pools[i].Slots[j].Runs
			for k := range runs {
				runs[k].Run = ""
			}
		}
	}
}

// tail is the last that a child printed, or why that cannot be told.
func (v *Voice) tail(q question) Tail {
	if v.Tail == nil {
		return Tail{Refused: "no lines of children are kept here"}
	}
	lines, err := v.Tail(q.Pool, q.Slot, min(max(q.Lines, 1), maxTail))
	if err != nil {
		return Tail{Refused: err.Error()}
	}
	size := 0
	for i := len(lines) - 1; i >= 0; i-- { // the newest first
		if size += len(lines[i].Text) + len(lines[i].JID); size > maxAnswer {
			lines = lines[i+1:]
			break
		}
	}
	return Tail{Lines: lines}
}
