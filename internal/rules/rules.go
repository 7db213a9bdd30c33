// Package rules is what people say of limits, windows and order: the tables [throttles], [windows], [queues] and
// [klass], checked as a whole, agreed on by any number of files, and compiled to what Redis is told. It owns the meaning
// of these tables and the form of the one document that holds them. It must know neither Redis nor configuration files.
package rules

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Set is rules by name: what one file says, or what stands in Redis. Every value is whole, its defaults included.
type Set struct {
	Throttles map[string]Throttle
	Windows   map[string]Window
	Queues    map[string]Queue
	Klass     map[string]Klass // by name or glob; of those that stand for a class, the most literal counts
	Answers   *Answers         // nil: nothing is said
	Secret    *Secret          // likewise
}

// Throttle is a named limit: of jobs that run at a time, of starts in a time, or both.
type Throttle struct {
	Limit    int     `json:"limit,omitempty"`   // places; below 1 there is no limit
	Rate     string  `json:"rate,omitempty"`    // starts in a time, as "100/10s"; "" is any number
	Burst    int     `json:"burst,omitempty"`   // starts of Rate that may come at once; 0 is as many as it has
	Sliding  bool    `json:"sliding,omitempty"` // never more than Rate in any such time, and no burst
	Parked   string  `json:"parked,omitempty"`  // hold or free: what a parked job does with its places
	Patience float64 `json:"patience"`          // seconds after which what waits longest comes first

	By     string            `json:"by,omitempty"`     // a JSON pointer, $klass, $queue or $tag:PREFIX: each value is served in turn
	Shares map[string]string `json:"shares,omitempty"` // value → percent of Limit, as "40%"
	Others string            `json:"others,omitempty"` // one share for all values that Shares does not name
	Each   int               `json:"each,omitempty"`   // places of every value; 0: no such limit
	Borrow bool              `json:"borrow,omitempty"` // what others leave of their shares is lent
	Keep   int               `json:"keep,omitempty"`   // places that are never lent

	Asks      bool   `json:"asks,omitempty"`       // a command decides who may start; which, each host says for itself
	OnFailure string `json:"on_failure,omitempty"` // of Asks: closed or open, while nobody can be asked
}

// Window is when jobs may start; see package window.
type Window struct {
	Zone    string   `json:"zone,omitempty"` // "" is UTC
	Open    []string `json:"open"`
	Except  []string `json:"except,omitempty"`
	Margin  float64  `json:"margin,omitempty"`   // seconds before it shuts, in which nothing starts any more
	OnClose string   `json:"on_close,omitempty"` // finish or stop: what becomes of jobs that run when it shuts
}

// Queue is what holds in one queue.
type Queue struct {
	Limit     int      `json:"limit,omitempty"`     // jobs that run at a time; below 1 there is no limit
	Throttles []string `json:"throttles,omitempty"` // names of Throttles that each of its jobs needs
	Windows   []string `json:"windows,omitempty"`   // names of Windows; several are a union
	Priority  string   `json:"priority,omitempty"`  // high-first or low-first
	First     string   `json:"first,omitempty"`     // priority or time: what counts more
	Slice     float64  `json:"slice,omitempty"`     // seconds that count as one time, where that is first
	Ageing    float64  `json:"ageing,omitempty"`    // seconds of waiting that count as one point of priority; 0: none do

	FairBy      string         `json:"fair_by,omitempty"`      // values that take turns, as Throttle.By; "": those of the first of Throttles that has some
	FairWeights map[string]int `json:"fair_weights,omitempty"` // value → starts while a value of weight 1 has one; 1 where it says nothing
}

// Klass is what holds for the jobs of a class.
type Klass struct {
	Queues    []string `json:"queues,omitempty"`    // where Weight, Throttles, Bypass and Windows count
	Weight    int      `json:"weight,omitempty"`    // places that a job takes of each of its throttles, from 1 to 100
	Throttles []string `json:"throttles,omitempty"` // names of Throttles that each job needs, beside those of its queue
	Bypass    bool     `json:"bypass,omitempty"`    // no throttle counts
	Windows   []string `json:"windows,omitempty"`   // in place of the queue's

	// What those need who put jobs of the class, in whichever queue.
	Priority    float64 `json:"priority,omitempty"`            // of a new job whose put says none; 0: as without this
	Retries     int     `json:"retries"`                       // likewise
	Correlation string  `json:"correlation,omitempty"`         // a JSON pointer: where the data says what an answer will name
	OnLive      string  `json:"on_live_correlation,omitempty"` // refuse or existing: what becomes of a put whose correlation another job has
}

// What the keys with a choice may say; the first is the default.
var (
	Parkings   = []string{"hold", "free"}
	Closings   = []string{"finish", "stop"}
	Priorities = []string{"high-first", "low-first"}
	Firsts     = []string{"priority", "time"}
	OnLives    = []string{"refuse", "existing"}
	OnFailures = []string{"closed", "open"}
)

// DefaultThrottle, DefaultWindow, DefaultQueue and DefaultKlass are tables of which nothing is said.
func DefaultThrottle() Throttle { return Throttle{Parked: Parkings[0], Patience: 60} }

// DefaultWindow is never open.
func DefaultWindow() Window { return Window{OnClose: Closings[0]} }

// DefaultQueue is worked as any queue without rules.
func DefaultQueue() Queue { return Queue{Priority: Priorities[0], First: Firsts[0], Slice: 1} }

// DefaultKlass takes one place of what its queue says.
func DefaultKlass() Klass { return Klass{Weight: 1, Retries: 5, OnLive: OnLives[0]} }

// gated reports whether something of k is asked at the gate, which it is in k.Queues only.
func (k Klass) gated() bool {
	return k.Weight > 1 || len(k.Throttles) > 0 || k.Bypass || len(k.Windows) > 0
}

// ordered reports whether the jobs of the queue have another order than that of the protocol.
func (q Queue) ordered() bool { return q.First == Firsts[1] || q.Ageing > 0 }

// ruled reports whether something of q is asked at the gate.
func (q Queue) ruled() bool {
	return q.Limit > 0 || len(q.Throttles) > 0 || len(q.Windows) > 0 || q.ordered() || q.FairBy != ""
}

// FairBy is by what a queue is fair: its own fair_by, or that of the first of its throttles that has values. others are further throttles of it with
// values, whose values take no turns.
func (s Set) FairBy(queue string) (by string, others []string) {
	q := s.Queues[queue]
	by = q.FairBy
	for _, name := range q.Throttles {
		switch t := s.Throttles[name]; {
		case t.By == "":
		case by == "":
			by = t.By
		default:
			others = append(others, name)
		}
	}
	return by, others
}

// The kinds of entries, as the tables are called.
const (
	kindThrottle = "throttles."
	kindWindow   = "windows."
	kindQueue    = "queues."
	kindKlass    = "klass."
)

// entries are the rules as JSON, by their tables: "throttles.erp".
func (s Set) entries() map[string]json.RawMessage {
	all := make(map[string]json.RawMessage)
	encode(all, kindThrottle, s.Throttles)
	encode(all, kindWindow, s.Windows)
	encode(all, kindQueue, s.Queues)
	encode(all, kindKlass, s.Klass)
	if s.Answers != nil {
		encode(all, kindPark, map[string]Answers{nameAnswers: *s.Answers})
	}
	if s.Secret != nil {
		encode(all, kindPark, map[string]Secret{nameSecret: *s.Secret})
	}
	return all
}

func encode[T any](all map[string]json.RawMessage, kind string, table map[string]T) {
	for name, rule := range table {
		text, err := json.Marshal(rule)
		if err != nil {
			panic(err) // numbers are checked where they are read, and there is nothing else in it that has no JSON
		}
		all[kind+name] = text
	}
}

// setOf reads entries. What nobody here knows is passed over: it is of a newer version.
func setOf(entries map[string]json.RawMessage) (Set, error) {
	s := Set{Throttles: map[string]Throttle{}, Windows: map[string]Window{}, Queues: map[string]Queue{}, Klass: map[string]Klass{}}
	for _, key := range slices.Sorted(maps.Keys(entries)) {
		kind, name, _ := strings.Cut(key, ".")
		text := entries[key]
		var err error
		switch kind + "." {
		case kindThrottle:
			err = decode(s.Throttles, name, text, DefaultThrottle())
		case kindWindow:
			err = decode(s.Windows, name, text, DefaultWindow())
		case kindQueue:
			err = decode(s.Queues, name, text, DefaultQueue())
		case kindKlass:
			err = decode(s.Klass, name, text, DefaultKlass())
		case kindPark:
			err = s.decodePark(name, text)
		}
		if err != nil {
			return Set{}, fmt.Errorf("the rule %s in Redis cannot be read: %w; `oarlock rules rm %s` takes it away", key, err, key)
		}
	}
	return s, nil
}

func decode[T any](table map[string]T, name string, text json.RawMessage, rule T) error {
	err := json.Unmarshal(text, &rule)
	table[name] = rule
	return err
}

// decodePark reads an entry of the table park.
func (s *Set) decodePark(name string, text json.RawMessage) error {
	switch name {
	case nameAnswers:
		answers := DefaultAnswers()
		s.Answers = &answers
		return json.Unmarshal(text, s.Answers)
	case nameSecret:
		s.Secret = &Secret{}
		return json.Unmarshal(text, s.Secret)
	}
	return nil
}

// Empty tells whether s says nothing at all.
func (s Set) Empty() bool { return len(s.entries()) == 0 }

// Classes are the names and globs of classes, the most literal first: of those that stand for a class, the first counts.
func (s Set) Classes() []string { return slices.SortedFunc(maps.Keys(s.Klass), MostLiteral) }
