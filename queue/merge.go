package queue

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Merge says what becomes of the data of a put, its payload, while a job of the same key, queue and class waits that merges alike: with
// or without the turn of its key, delayed or to be tried again, but neither running nor failed.
type Merge string

// The ways to merge. What merges makes no job. Without a job to merge with, the put makes one, and its data has the form that
// is told here from the beginning.
const (
	MergeNone  Merge = "none"  // it is a job of its own, behind
	MergeAll   Merge = "all"   // the job has it too: its data is a list of payloads
	MergeSet   Merge = "set"   // likewise, unless the job has one that is equal, byte for byte
	MergeLast  Merge = "last"  // it replaces the job's data, unless its score is less
	MergeFirst Merge = "first" // it is ignored
)

// Lists reports whether the data of jobs that merge so is a list of payloads.
func (m Merge) Lists() bool { return m == MergeAll || m == MergeSet }

// MergeWords are the ways to merge that a put or a queue may name.
var MergeWords = []string{string(MergeNone), string(MergeAll), string(MergeLast), string(MergeFirst), string(MergeSet)}

// Merged is what became of a payload that merged; see PutResult.
type Merged string

// What may become of it.
const (
	MergedIn       Merged = "merged"   // the job has it, too
	MergedEqual    Merged = "equal"    // the job had an equal one
	MergedReplaced Merged = "replaced" // it replaced the one that the job had
	MergedKept     Merged = "kept"     // the job has what it had
)

// Payload is one of those that a job has which merges.
type Payload struct {
	Score float64 // orders it among the others: the time of its put, unless that named another
	Data  []byte  // JSON text, as it was put
}

// checkMerge refuses what the scripts would refuse.
func (p *Put) checkMerge() error {
	switch {
	case p.Merge != "" && !slices.Contains(MergeWords, string(p.Merge)):
		return fmt.Errorf("merge must be none, all, last, first or set: %+q", string(p.Merge))
	case p.Score != nil && (math.IsNaN(*p.Score) || math.IsInf(*p.Score, 0)):
		return fmt.Errorf("score must be a finite number: %v", *p.Score)
	case p.Merge != "" && p.Key == "" && p.KeyFrom == "":
		return errors.New("merge needs a key")
	case p.Score != nil && p.Key == "" && p.KeyFrom == "":
		return errors.New("score needs a key")
	}
	return nil
}

// run is what is kept of the payloads of a job.
type run struct {
	merge  Merge
	data   []byte // the field data
	first  string // score and name of the payload in it
	others []any  // score, number and text of each other
}

// payloads are those of a run, the oldest first, and what is wrong with it, or "".
func (r run) payloads() (list []Payload, damage string) {
	type one struct {
		Payload
		at int
	}
	score, _, _ := strings.Cut(r.first, " ")
	data := bytes.TrimSpace(r.data)
	if r.merge.Lists() && len(data) > 2 && data[0] == '[' && data[len(data)-1] == ']' {
		data = data[1 : len(data)-1]
	}
	by, err := strconv.ParseFloat(score, 64)
	if err != nil {
		damage = fmt.Sprintf("its field oarlock-first is %.40q, no score", r.first)
	}
	all := []one{{Payload{by, data}, 0}}
	for _, other := range r.others {
		text, _ := other.(string)
		score, rest, _ := strings.Cut(text, " ")
		number, data, whole := strings.Cut(rest, " ")
		by, err := strconv.ParseFloat(score, 64)
		at, bad := strconv.Atoi(number)
		if err != nil || bad != nil || !whole {
			damage = fmt.Sprintf("one of its payloads is %.40q, which is none", text)
			continue
		}
		all = append(all, one{Payload{by, []byte(data)}, at})
	}
	slices.SortStableFunc(all, func(a, b one) int { return cmp.Or(cmp.Compare(a.Score, b.Score), cmp.Compare(a.at, b.at)) })
	for _, p := range all {
		list = append(list, p.Payload)
	}
	return list, damage
}

// join is the data of a job with these payloads.
func (m Merge) join(payloads []Payload) []byte {
	if !m.Lists() {
		return payloads[0].Data
	}
	n := 1
	for _, p := range payloads {
		n += len(p.Data) + 1
	}
	data := append(make([]byte, 0, n), '[')
	for i, p := range payloads {
		if i > 0 {
			data = append(data, ',')
		}
		data = append(data, p.Data...)
	}
	return append(data, ']')
}
