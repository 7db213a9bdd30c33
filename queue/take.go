package queue

import (
	"encoding/json"
	"time"
)

// Order is the policy by which a Take serves several queues.
type Order string

const (
	Ordered    Order = "ordered"     // the first queue as long as it has jobs, then the next
	RoundRobin Order = "round-robin" // one job each in turn, going on where the last take stopped
	Oldest     Order = "oldest"      // whichever queue's head was put first
)

// Take asks for jobs.
type Take struct {
	Queues []string // each named once
	Order  Order    // "" means Ordered
	// Cursor is Reply.Cursor of the last take, for RoundRobin: the index of the queue whose turn it is.
	Cursor int
	Count  int // how many at most; 0 takes none
	// MaxJob, if positive, is the size of data in bytes above which a job is taken without
	// its data (Taken.Data nil, Taken.Size set), for the caller to fail.
	MaxJob int64
	// Spare leaves locks alone that have run out. While Redis was away nobody could renew
	// theirs; right after its return they are to be given the time for it.
	Spare bool
}

// Taken is a job that Redis locked for us.
type Taken struct {
	JID, Klass, Queue string
	Data              []byte // JSON text as stored; nil if above Take.MaxJob
	Size              int64  // of the stored data, in bytes
	Tags              []string
	Priority          float64
	Retries           int     // allowed
	Remaining         int     // of those, left
	Expires           float64 // when the lock ends, on the server's clock
	Popped            float64 // when the job was popped: the mark of this attempt, see Settlement.Popped
	Put               float64 // when it entered its queue by put, or was last popped before; 0 from Held

	// Counts of ours, valid in this queue; see Counter.
	Crashes, Interruptions, Releases int
	Checkpoint                       []byte        // as the last attempt left it; nil if none
	Timeout                          time.Duration // the job's own; 0 if none
}

// Broken is an entry of a queue that had no usable job behind it. It was removed from
// the queue, so that it does not block the others.
type Broken struct {
	Queue, JID, Reason string
}

// takenWidth is how many values a taken job has in a reply.
const takenWidth = 12

// readTaken reads one job, in the order in which the scripts write its fields.
func readTaken(in *replyReader) Taken {
	t := Taken{
		JID:       in.text(),
		Queue:     in.text(),
		Klass:     in.text(),
		Data:      in.bytes(),
		Size:      int64(in.int()),
		Tags:      parseTags(in.text()),
		Priority:  in.float(),
		Retries:   in.int(),
		Remaining: in.int(),
		Expires:   in.float(),
		Put:       in.float(),
	}
	if ours := (replyReader{items: in.list()}); len(ours.items) > 0 {
		t.Crashes, t.Interruptions, t.Releases = ours.int(), ours.int(), ours.int()
		t.Checkpoint = ours.bytes()
		t.Timeout = time.Duration(ours.float() * float64(time.Second))
		if ours.err != nil {
			in.err = ours.err
		}
	}
	return t
}

// parseTags reads a job's tags: {} is how the scripts write none, and a number is kept
// as a number. What cannot be read is none.
func parseTags(text string) []string {
	if text == "" || text == "{}" || text == "[]" {
		return nil
	}
	var tags []any
	if json.Unmarshal([]byte(text), &tags) != nil {
		return nil
	}
	list := make([]string, 0, len(tags))
	for _, tag := range tags {
		switch tag := tag.(type) {
		case string:
			list = append(list, tag)
		case float64:
			list = append(list, number(tag))
		}
	}
	return list
}
