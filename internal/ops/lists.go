package ops

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"oarlock/internal/screen"
	"oarlock/queue"
)

// ListCounts are the numbers of entries of a list, by its name.
type ListCounts struct {
	Name string `json:"name"`
	queue.ListCounts
}

// Lists counts the entries of lists, by names; without any, of those that others name and those that Redis knows.
func Lists(ctx context.Context, q *queue.Client, names, others []string) ([]ListCounts, error) {
	if len(names) == 0 {
		known, err := q.KnownLists(ctx)
		if err != nil {
			return nil, err
		}
		names = sorted(slices.Concat(known, others))
	}
	for _, name := range names {
		if err := listName(name); err != nil {
			return nil, err
		}
	}
	if len(names) == 0 {
		return []ListCounts{}, nil
	}
	counts, err := q.CountLists(ctx, names)
	if err != nil {
		return nil, err
	}
	out := make([]ListCounts, len(names))
	for i, name := range names {
		out[i] = ListCounts{name, counts[i]}
	}
	return out, nil
}

// ListsIn is Lists without names, a part at a time: those that others name first. A part may be empty though another comes behind it, and a list may
// be in two. Its Total is -1 where there is more than one part, for nobody counts them.
func ListsIn(ctx context.Context, q *queue.Client, cursor string, others []string) (Part[ListCounts], error) {
	found, next, err := q.KnownListsFrom(ctx, cursor)
	if err != nil {
		return Part[ListCounts]{}, cursorError(err)
	}
	own := sorted(others)
	names := slices.DeleteFunc(found, func(name string) bool { return slices.Contains(own, name) })
	if cursor == "" {
		names = slices.Concat(own, names)
	}
	part := Part[ListCounts]{[]ListCounts{}, next, -1, q.Now()}
	if len(names) > 0 {
		if part.Items, err = Lists(ctx, q, names, nil); err != nil {
			return part, err
		}
	}
	if cursor == "" && next == "" {
		part.Total = len(part.Items)
	}
	return part, nil
}

// listName refuses what cannot be a list.
func listName(name string) error {
	if name == "" || queue.ListKlass(name) == "hworker:" {
		return wrong("name a list: hworker:NAME, or the key of one")
	}
	return nil
}

// Entry is an entry of a list.
type Entry struct {
	Entry   string          `json:"entry"` // what of it is UTF-8
	JID     string          `json:"jid,omitempty"`
	Data    json.RawMessage `json:"data,omitempty"`
	Since   float64         `json:"since,omitempty"`  // of what is in work when it was taken or its holder last gave a sign of life, of what is broken when that was found; seconds since the epoch
	Waits   bool            `json:"waits,omitempty"`  // it is not in work, but put off for a while
	Failed  float64         `json:"failed,omitempty"` // when
	Group   string          `json:"group,omitempty"`
	Message string          `json:"message,omitempty"` // why it failed, or is broken
	Attempt int             `json:"attempt,omitempty"`
	Times   int             `json:"times,omitempty"` // so many broken ones that are alike, where they are more than one
}

// Why is why it failed or is broken, and of how many that are alike, where they are more than one; "" of others.
func (e Entry) Why() string {
	if e.Times > 1 {
		return fmt.Sprintf("%s (%s that are alike)", e.Message, screen.Count(e.Times))
	}
	return e.Message
}

// ListPart is what is shown of a list.
type ListPart string

// The parts.
const (
	PartWaiting ListPart = "waiting"
	PartInWork  ListPart = "in-work"
	PartFailed  ListPart = "failed"
	PartBroken  ListPart = "broken"
)

// ListParts are all parts.
var ListParts = []ListPart{PartWaiting, PartInWork, PartFailed, PartBroken}

// Empty says that the part has no entry.
func (p ListPart) Empty() string {
	return map[ListPart]string{
		PartWaiting: "Nothing waits there.", PartInWork: "Nothing of it is in work.", PartFailed: "Nothing of it failed.", PartBroken: "Nothing of it is broken.",
	}[p]
}

// Of is how many entries a part has.
func (c ListCounts) Of(part ListPart) int {
	return map[ListPart]int{PartWaiting: c.Waiting, PartInWork: c.Progress, PartFailed: c.Failed, PartBroken: c.Broken}[part]
}

// Entries is a page of a part of a list.
func Entries(ctx context.Context, q *queue.Client, list string, part ListPart, page Page) ([]Entry, error) {
	if err := listName(list); err != nil {
		return nil, err
	}
	read := map[ListPart]func(context.Context, string, int, int) ([]queue.ListEntry, error){
		PartWaiting: q.ListWaiting, PartInWork: q.ListInWork, PartFailed: q.ListFailed, PartBroken: q.ListBroken,
	}[part]
	found, err := read(ctx, list, max(page.Offset, 0), max(page.Limit, 1))
	if err != nil {
		return nil, noList(ctx, q, list, err)
	}
	entries := make([]Entry, len(found))
	for i, f := range found {
		e := Entry{Entry: f.Entry, Since: f.Since, Waits: f.Waits, Message: f.Reason}
		if f.Times > 1 {
			e.Times = f.Times
		}
		if part != PartBroken {
			if jid, data, err := queue.ReadListEntry(list, f.Entry); err == nil {
				e.JID, e.Data = jid, data
			}
		}
		if why := f.Failure; why != nil {
			e.Failed, e.Group, e.Message, e.Attempt = why.At, why.Group, why.Message, why.Attempt
		}
		entries[i] = e
	}
	return entries, nil
}

// PushList pushes a job to a list, under a new id where the list is an hworker's, and returns the entry.
func PushList(ctx context.Context, q *queue.Client, list string, data []byte, sure Sure) (string, error) {
	if err := listName(list); err != nil {
		return "", err
	}
	if err := NewName("list", list, sure); err != nil {
		return "", err
	}
	if err := CheckJSON(data); err != nil && queue.ListKey(list) != list {
		return "", wrong("the payload of an hworker's job is JSON: %v\nA string needs its quotes: '\"text\"'", err)
	}
	entry, err := q.PushList(ctx, list, data)
	return entry, noList(ctx, q, list, err)
}

// Lost says which of the entries of a list that nobody works any more are meant: neither says all.
type Lost struct{ Failed, Broken bool }

// RetryList puts what failed or is broken of a list back into it, and says how many that were.
func RetryList(ctx context.Context, q *queue.Client, list string, which Lost) (int, error) {
	return eachLost(ctx, q, list, which, q.RetryListFailed, q.RetryListBroken)
}

// DropList deletes what failed or is broken of a list, and says how many that were; dry, how many it would be.
func DropList(ctx context.Context, q *queue.Client, list string, which Lost, dry bool) (int, error) {
	if !dry {
		return eachLost(ctx, q, list, which, q.DropListFailed, q.DropListBroken)
	}
	return eachLost(ctx, q, list, which, counted(q, func(c queue.ListCounts) int { return c.Failed }), counted(q, func(c queue.ListCounts) int { return c.Broken }))
}

// counted is how many entries of a list are in a part of it.
func counted(q *queue.Client, part func(queue.ListCounts) int) func(context.Context, string) (int, error) {
	return func(ctx context.Context, list string) (int, error) {
		counts, err := q.CountLists(ctx, []string{list})
		if err == nil && counts[0].Damage != "" {
			err = errors.New(counts[0].Damage) // noList says the rest
		}
		if err != nil {
			return 0, err
		}
		return part(counts[0]), nil
	}
}

// eachLost does something about what failed, and about what is broken.
func eachLost(ctx context.Context, q *queue.Client, list string, which Lost, failed, broken func(context.Context, string) (int, error)) (n int, err error) {
	if err := listName(list); err != nil {
		return 0, err
	}
	if which.Failed || !which.Broken {
		n, err = failed(ctx, list)
	}
	if err == nil && (which.Broken || !which.Failed) {
		var more int
		more, err = broken(ctx, list)
		n += more
	}
	return n, noList(ctx, q, list, err)
}

// noList makes a sentence of an error about a list some of whose keys are something else.
func noList(ctx context.Context, q *queue.Client, list string, err error) error {
	if err == nil {
		return nil
	}
	if counts, doubt := q.CountLists(ctx, []string{list}); doubt != nil || counts[0].Damage == "" {
		return err
	}
	return otherwise("%s is not worked as a list: Redis keeps something else under that key, or under one of those beside it", list)
}

// MeantList is the hworker's list that may be meant by a name without hworker: before it, for nothing is there of a list of that name; "" if there is none.
func MeantList(ctx context.Context, q *queue.Client, list string) (string, error) {
	meant := "hworker:" + list
	if queue.ListKey(list) != list {
		return "", nil
	}
	counts, err := q.CountLists(ctx, []string{list, meant})
	if err != nil || counts[0] != (queue.ListCounts{}) || counts[1] == (queue.ListCounts{}) {
		return "", err
	}
	return meant, nil
}

// DestroyList deletes a list and all that is kept beside it, unless it is dry, and returns what was in it.
func DestroyList(ctx context.Context, q *queue.Client, list string, dry bool) (queue.ListCounts, error) {
	if err := listName(list); err != nil {
		return queue.ListCounts{}, err
	}
	counts, err := q.CountLists(ctx, []string{list})
	if err != nil {
		return queue.ListCounts{}, err
	}
	if counts[0] == (queue.ListCounts{}) {
		return counts[0], missing("there is no list %s, and nothing is kept beside it", list)
	}
	if dry {
		return counts[0], nil
	}
	return counts[0], q.DestroyList(ctx, list)
}
