package ops

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

	"oarlock/internal/accord"
	"oarlock/internal/rules"
	"oarlock/internal/screen"
	"oarlock/queue"
)

// Need is one word for what the key space has that whoever works it must know of.
type Need struct {
	Word  string   `json:"word"`
	Known bool     `json:"known"` // to this version
	Left  []string `json:"left"`  // what must be drained before a version that does not know it may work here, and how; empty if nothing
}

// Downgrade is what a key space needs, and whether a version that knows none of it may work there.
type Downgrade struct {
	Needs []Need   `json:"needs"`
	Ready bool     `json:"ready"`           // it may: nothing is left, and no word is written
	Taken []string `json:"taken,omitempty"` // words that were taken away, for nothing needs them any more
}

// CheckDowngrade names what must be drained before a version that does not know it may work the key space. With write the words that
// nothing needs are taken away, so that such a version takes jobs.
func CheckDowngrade(ctx context.Context, q *queue.Client, write bool) (Downgrade, error) {
	d := Downgrade{Needs: []Need{}}
	words, err := q.Needs(ctx)
	if err != nil {
		return d, err
	}
	for _, word := range words {
		n := Need{Word: word, Known: slices.Contains(queue.Needs, word), Left: []string{}}
		switch left := map[string]func(context.Context, *queue.Client) ([]string, error){
			queue.NeedKeys: keysLeft, queue.NeedRules: rulesLeft, queue.NeedPark: parkLeft, queue.NeedFair: fairLeft,
		}[word]; {
		case left == nil:
			n.Left = []string{"this version does not know what that is: ask the one that wrote it"}
		default:
			if n.Left, err = left(ctx, q); err != nil {
				return d, err
			}
		}
		d.Needs = append(d.Needs, n)
		if len(n.Left) == 0 {
			d.Taken = append(d.Taken, word)
		}
	}
	d.Ready = len(words) == 0
	if !write || len(d.Taken) == 0 {
		d.Taken = nil
		return d, nil
	}
	d.Ready = len(d.Taken) == len(words)
	return d, q.Unneed(ctx, d.Taken...)
}

func keysLeft(ctx context.Context, q *queue.Client) ([]string, error) {
	names, err := q.QueuesWithKeys(ctx)
	left := []string{}
	for _, name := range names {
		left = append(left, fmt.Sprintf("queue %s has keys: oarlock key free %s", name, screen.InShell(name)))
	}
	return left, err
}

func rulesLeft(ctx context.Context, q *queue.Client) ([]string, error) {
	_, doc, err := accord.Read(ctx, q)
	if err != nil {
		return nil, err
	}
	if n := len(doc.Entries); n > 0 {
		return []string{fmt.Sprintf("there are rules (%d): take them out of the files, then oarlock rules rm", n)}, nil
	}
	names, err := q.RuledQueues(ctx)
	left := []string{}
	for _, name := range names {
		left = append(left, standsByRules(name))
	}
	return left, err
}

func fairLeft(ctx context.Context, q *queue.Client) ([]string, error) {
	set, _, err := accord.ReadSet(ctx, q)
	if err != nil {
		return nil, err
	}
	left := []string{}
	for _, name := range slices.Sorted(maps.Keys(set.Queues)) {
		if set.Queues[name].FairBy != "" {
			left = append(left, fmt.Sprintf("queue %s has fair_by: take it out of the files, then oarlock rules rm queues.%s", name, screen.InShell(name)))
		}
	}
	names, err := q.RuledQueues(ctx)
	ruled := rules.Compile(set).Queues
	for _, name := range names {
		if _, is := ruled[name]; !is {
			left = append(left, standsByRules(name))
		}
	}
	return left, err
}

// standsByRules says of a queue that is ruled no more that its jobs are not back yet.
func standsByRules(queue string) string {
	return fmt.Sprintf("jobs of queue %s stand where only rules let them; its supervisors bring them back by and by", queue)
}

func parkLeft(ctx context.Context, q *queue.Client) ([]string, error) {
	names, err := q.QueueNames(ctx)
	if err != nil {
		return nil, err
	}
	left := []string{}
	jobs, _, err := Parked(ctx, q, names, math.MaxInt) // none may be overlooked
	for _, job := range jobs {
		left = append(left, fmt.Sprintf("job %s waits for an answer: oarlock park fail %s", job.JID, screen.InShell(job.JID)))
	}
	return left, err
}
