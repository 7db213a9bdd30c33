// Package rollcall asks all supervisors of a namespace how they are, without a registry: a question is published, each
// answers once, and the number of those who heard it says how many did not. It owns the form of question and
// answer, and how long one waits. It must not know who asks, nor how anything is shown; and it only reads: another
// supervisor is changed by its own socket or page.
package rollcall

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"

	"oarlock/supervisor"
)

// version is that of questions and answers. Within it fields are only added.
const version = 1

const (
	maxAnswer   = 64 << 10 // of an answer as it is sent; a longer one is cut to sums
	maxUnpacked = 4 << 20  // of one that is received, unpacked
	maxQuestion = 4 << 10
	maxTail     = 1000 // lines
)

// question is what is asked of all, or of one.
type question struct {
	V     int    `json:"v"`
	ID    string `json:"id"`
	Ask   string `json:"ask"` // askStatus or askTail
	To    *Who   `json:"to,omitempty"`
	Pool  string `json:"pool,omitempty"`
	Slot  int    `json:"slot,omitempty"`
	Lines int    `json:"lines,omitempty"`
	DB    *int   `json:"db,omitempty"` // the database of who asks; nil of a version that does not say it
}

// databaseOf is the database of a client; nil if it does not tell.
func databaseOf(client any) *int {
	if c, is := client.(interface{ Database() int }); is {
		db := c.Database()
		return &db
	}
	return nil
}

const (
	askStatus = "status"
	askTail   = "tail"
)

// Who is a supervisor: its name, and its process on the host of that name.
type Who struct {
	Name string `json:"name"`
	PID  int    `json:"pid"`
}

// Answer is what one supervisor says of itself. Whoever may publish in the namespace can have made it up: its texts are
// those of others, and only its size is bounded.
type Answer struct {
	V       int    `json:"v"`
	Host    string `json:"host"`
	Version string `json:"version"`
	URL     string `json:"url,omitempty"` // of its own page; "" if it has none
	Cut     bool   `json:"cut,omitempty"` // its children, or its pools too, were too many to be told: Sums has all

	// Elsewhere says no more than that this supervisor works another database of the server, whose channels are the same.
	Elsewhere bool `json:"elsewhere,omitempty"`

	// Disagrees are sentences on which rules of its file do not count, and what to do; of many the first.
	Disagrees []string `json:"disagrees,omitempty"`

	Sums   Sums                `json:"sums"`
	Status supervisor.Snapshot `json:"status"`
}

// Who is the supervisor that answered.
func (a *Answer) Who() Who { return Who{a.Status.Name, a.Status.PID} }

// Room is how many children its pools are to have, of which fewer have a process where they come with their jobs; of an answer that
// was cut, how many have one.
func (a *Answer) Room() (children int) {
	if a.Cut {
		return a.Sums.Children
	}
	for _, pool := range a.Status.Pools {
		children += pool.Children
	}
	return children
}

// Sums are over all pools of a supervisor.
type Sums struct {
	Pools    int `json:"pools"`
	Children int `json:"children"` // that have a process
	Busy     int `json:"busy"`
	Waiting  int `json:"waiting"` // jobs taken that have no child yet
	Breakers int `json:"breakers"`
	Rolling  int `json:"rolling"`
}

// Sum sums up a snapshot.
func Sum(s *supervisor.Snapshot) Sums {
	sums := Sums{Pools: len(s.Pools)}
	for _, pool := range s.Pools {
		sums.Waiting += pool.Waiting
		for _, is := range []struct {
			so bool
			n  *int
		}{{pool.Breaker != "", &sums.Breakers}, {pool.Rolling, &sums.Rolling}} {
			if is.so {
				*is.n++
			}
		}
		for _, slot := range pool.Slots {
			if slot.PID != 0 {
				sums.Children++
			}
			if len(slot.Runs) > 0 {
				sums.Busy++
			}
		}
	}
	return sums
}

// Tail is the last that a child printed, on whatever host, oldest first, as its supervisor shows it: what is
// secret there is blanked.
type Tail struct {
	Lines   []Line `json:"lines"`
	Refused string `json:"refused,omitempty"` // why there are none
}

// Line is one line of a child's log.
type Line struct {
	At     float64 `json:"at"`               // seconds since the epoch
	Stream string  `json:"stream,omitempty"` // "" from a supervisor that does not tell it
	Level  string  `json:"level,omitempty"`
	JID    string  `json:"jid,omitempty"` // of the job at work
	Text   string  `json:"text"`
}

// pack writes an answer as it is sent.
func pack(value any) ([]byte, error) {
	var packed bytes.Buffer
	to := gzip.NewWriter(&packed)
	if err := errors.Join(json.NewEncoder(to).Encode(value), to.Close()); err != nil {
		return nil, err
	}
	return packed.Bytes(), nil
}

// errLong says that an answer is too long.
var errLong = errors.New("the answer is too long")

// unpack reads an answer of others into value, and gives how long it is, unpacked: most at most.
func unpack(packed []byte, most int, value any) (size int, err error) {
	from, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return 0, err
	}
	text, err := io.ReadAll(io.LimitReader(from, int64(most)+1))
	if err == nil && len(text) > most {
		err = errLong
	}
	if err != nil {
		return len(text), err
	}
	return len(text), json.Unmarshal(text, value)
}
