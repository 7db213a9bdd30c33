package ops

import (
	"context"
	"encoding/json"
	"slices"

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
	Since   float64         `json:"since,omitempty"`  // of what is in work or broken: since when, in seconds since the epoch
	Waits   bool            `json:"waits,omitempty"`  // it is not in work, but put off for a while
	Failed  float64         `json:"failed,omitempty"` // when
	Group   string          `json:"group,omitempty"`
	Message string          `json:"message,omitempty"` // why it failed, or is broken
	Attempt int             `json:"attempt,omitempty"`
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
		return nil, err
	}
	entries := make([]Entry, len(found))
	for i, f := range found {
		e := Entry{Entry: f.Entry, Since: f.Since, Waits: f.Waits, Message: f.Reason}
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
	return q.PushList(ctx, list, data)
}

// RetryList puts what failed or is broken of a list back into it, and says how many that were.
func RetryList(ctx context.Context, q *queue.Client, list string) (int, error) {
	if err := listName(list); err != nil {
		return 0, err
	}
	return q.RetryList(ctx, list)
}

// DestroyList deletes a list and all that is kept beside it, and returns what was in it.
func DestroyList(ctx context.Context, q *queue.Client, list string) (queue.ListCounts, error) {
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
	return counts[0], q.DestroyList(ctx, list)
}
