package queue

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"oarlock/queue/internal/wire"
)

// Order is the policy by which a Take serves several queues.
type Order string

const (
	Ordered    Order = "ordered"     // the first queue as long as it has jobs, then the next
	RoundRobin Order = "round-robin" // one job each in turn, going on where the last take stopped
	Oldest     Order = "oldest"      // whichever queue's head was put first
	Shuffled   Order = "shuffled"    // one job each in turn, in an order that each take draws anew
)

// Take asks for jobs.
type Take struct {
	Queues []string // each named once
	// Heads, if given, tells for each of the queues when its next job was put as far as the
	// caller knows, by QueueOutlook or Reply.Left; 0 for one of which nothing is known. With
	// Oldest a queue is looked at only when its turn comes by that.
	Heads []float64
	Order Order // "" means Ordered
	// Cursor is Reply.Cursor of the last take, for RoundRobin: the index of the queue whose turn it is.
	Cursor int
	Count  int // how many at most; 0 takes none
	// MaxJob, if positive, is the size of data in bytes above which a job is taken without
	// its data (Taken.Data nil, Taken.Size set), for the caller to fail.
	MaxJob int64
	// Bytes, if positive, is how many bytes of data the jobs may have together where that is less than a call brings at most, 4 MiB. A
	// single job may have more.
	Bytes int64
	// Passes names, per queue, classes of which nothing is wanted now. Their jobs stay where they are, for other workers, and the take
	// looks behind them: behind 100 of a queue at most. Those that somebody lost are handed out all the same. With Oldest, queues are
	// served in the order of Heads.
	Passes map[string][]string
	// Spare leaves locks alone that have run out. While Redis was away nobody could renew
	// theirs; right after its return they are to be given the time for it.
	Spare bool

	hurries bool   // leaves undone what a call of moments ago has done; see Session.mayHurry
	plain   string // and asks whether nothing special is with any job: its time as a job's hash keeps it; see lua/plain/exchange.lua
}

// drawn is the take with its queues in the order in which they are asked: of Shuffled, a new one
// each time. That is round-robin by other names, so that many workers of one list of queues do not
// all begin with the same.
func (t Take) drawn() Take {
	if t.Order == Oldest && len(t.Passes) > 0 {
		return t.byHead()
	}
	if t.Order != Shuffled {
		return t
	}
	t.Queues, t.Heads = slices.Clone(t.Queues), nil
	rand.Shuffle(len(t.Queues), func(i, j int) { t.Queues[i], t.Queues[j] = t.Queues[j], t.Queues[i] })
	t.Order, t.Cursor = RoundRobin, 0
	return t
}

// byHead is the take with its queues in the order in which their next jobs were put, as far as that is known, to be served one after the other.
func (t Take) byHead() Take {
	heads := map[string]float64{}
	for i, head := range t.Heads {
		heads[t.Queues[i]] = head
	}
	t.Queues, t.Heads, t.Order = slices.Clone(t.Queues), nil, Ordered
	slices.SortStableFunc(t.Queues, func(a, b string) int { return cmp.Compare(heads[a], heads[b]) })
	return t
}

// maxJob is MaxJob as the scripts read it: behind a blank, the classes of which nothing is wanted.
func (t Take) maxJob() any {
	if len(t.Passes) == 0 {
		return t.MaxJob
	}
	text, _ := json.Marshal(t.Passes) // of strings
	return fmt.Sprintf("%d %s", t.MaxJob, text)
}

// callBytes is how many bytes of data a call brings at most, as in the scripts.
const callBytes = 4 << 20

// count is how many jobs are asked for as the scripts read it: behind a slash, how many bytes at most, where these are fewer than usual.
func (t Take) count() any {
	if t.Bytes > 0 && t.Bytes < callBytes {
		return fmt.Sprintf("%d/%d", t.Count, t.Bytes)
	}
	return t.Count
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
	Crashes, Interruptions, Spared int
	Standstill                     int           // interruptions since the last that brought a new checkpoint
	Deaths                         int           // of supervisors that had the job; see Suspect
	Batch                          int           // how many jobs at most are to be in the message that brings it to a child; 0: as many as its pool says
	Checkpoint                     []byte        // as the last attempt left it; nil if none
	Timeout                        time.Duration // the job's own; 0 if none
	Trace                          Trace         // in which it was put
	Correlation                    string        // what its answer names; "" if it has none
	Answer                         *Answer       // what it parked for, or was sent before; nil if there is none
	Expired                        bool          // it parked, and no answer came in time: it is to be settled so
	Merge                          Merge         // how what is put into it merges; "" if it does not
	Scores                         []float64     // those of its payloads, in the order of Data; nil if it does not merge, or is above Take.MaxJob
	Key                            string        // of which it has the turn; "" if it has none. To be told when it is over, see LeaveTurn
	Places                         string        // of throttles that it has by rules, as the scripts write them; "" if it has none. Likewise
	Closes                         float64       // when the window shuts in which it began, if it is to end then; 0: it need not, or its take was in doubt
	Unstarted                      Standing      // that its command cannot be run
	Unknown                        Standing      // that no program knows its class

	// Damage says which of the job's fields or keys cannot be read; "" if all can. Such a job
	// is ours like any other, to be failed: what could not be read is 0 or nil.
	Damage string
}

// Broken is something that a call had to leave out: an entry of a queue that has no job
// behind it, and was removed; a job that could not be moved and is where it was; with JID ""
// a whole queue, one of whose keys is of another type; with Queue "" too, a key of all.
type Broken struct {
	Queue, JID, Reason string
}

// readBroken reads what a call had to leave out.
func readBroken(items []any) ([]Broken, error) {
	in := wire.Reader{Items: items}
	var broken []Broken
	for len(in.Items) > 0 && in.Err == nil {
		broken = append(broken, Broken{in.Text(), in.Text(), wire.Words(in.Text())})
	}
	return broken, in.Err
}

// takenWidth is how many values a taken job has in a reply.
const takenWidth = 13

// readAllTaken reads a flat list of jobs, each by itself: what one of them keeps in its
// fields is no matter of the others'. The error is about the list as such.
func readAllTaken(items []any) ([]Taken, error) {
	if len(items)%takenWidth != 0 {
		return nil, fmt.Errorf("%w: a script's reply holds %d values, no multiple of %d", ErrDoubt, len(items), takenWidth)
	}
	jobs := make([]Taken, 0, len(items)/takenWidth)
	for job := range slices.Chunk(items, takenWidth) {
		jobs = append(jobs, readTaken(job))
	}
	return jobs, nil
}

// readAllPlain reads what a call answers where nothing special is with any job: when the locks of all end, and each job.
func readAllPlain(items []any, queue string) ([]Taken, error) {
	in := wire.Reader{Items: items}
	expires := in.Float()
	jobs := make([]Taken, 0, len(in.Items))
	for len(in.Items) > 0 && in.Err == nil {
		of := &wire.Fields{Reader: wire.Reader{Items: in.List()}}
		t := Taken{
			Queue:     queue,
			Klass:     of.Text(),
			Data:      of.Bytes(),
			Tags:      wire.Tags(of.Text()),
			Priority:  of.Number("priority"),
			Retries:   of.Count("retries"),
			Remaining: of.Count("remaining"),
			Put:       of.Number("time"),
			JID:       of.Text(),
			Expires:   expires,
		}
		t.Size = int64(len(t.Data))
		if len(of.Items) > 0 {
			of.Damage = append(of.Damage, wire.DamageWords(of.Text()))
		}
		t.Damage = strings.Join(of.Damage, "; ")
		in.Err = cmp.Or(in.Err, of.Err)
		jobs = append(jobs, t)
	}
	return jobs, in.Err
}

// readTaken reads one job, in the order in which the scripts write its fields.
func readTaken(items []any) Taken {
	in := &wire.Fields{Reader: wire.Reader{Items: items}}
	t := Taken{
		JID:       in.Text(),
		Queue:     in.Text(),
		Klass:     in.Text(),
		Data:      in.Bytes(),
		Size:      int64(in.Int()),
		Tags:      wire.Tags(in.Text()),
		Priority:  in.Number("priority"),
		Retries:   in.Count("retries"),
		Remaining: in.Count("remaining"),
		Expires:   in.Number("expires"),
		Put:       in.Number("time"),
	}
	var r run
	for ours := (wire.Reader{Items: in.List()}); len(ours.Items) > 1; {
		t.readOurs(ours.Text(), &in.Damage, ours.Items[:1], &r)
		ours.Items = ours.Items[1:]
	}
	if r.merge != "" && t.Data != nil {
		t.readRun(r, &in.Damage)
	}
	if told := in.Text(); told != "" {
		in.Damage = append(in.Damage, wire.DamageWords(told))
	}
	t.Damage = strings.Join(in.Damage, "; ")
	return t
}

// readRun reads the payloads of a job that merges.
func (t *Taken) readRun(r run, damage *[]string) {
	r.data = t.Data
	payloads, wrong := r.payloads()
	if wrong != "" {
		*damage = append(*damage, wrong)
	}
	for _, p := range payloads {
		t.Scores = append(t.Scores, p.Score)
	}
	t.Merge, t.Data = r.merge, r.merge.join(payloads)
}

// readOurs reads what we keep with a job under a name, and adds what is wrong with it to damage.
func (t *Taken) readOurs(name string, damage *[]string, value []any, r *run) {
	of := &wire.Fields{Reader: wire.Reader{Items: value}}
	field := "oarlock-" + name
	switch name {
	case "crashes":
		t.Crashes = of.Count(field)
	case "interruptions":
		t.Interruptions = of.Count(field)
	case "spared":
		t.Spared = of.Count(field)
	case "standstill":
		t.Standstill = of.Count(field)
	case "deaths":
		t.Deaths = of.Count(field)
	case "batch":
		t.Batch = of.Count(field)
	case "checkpoint":
		t.Checkpoint = of.JSON(field)
	case "timeout":
		t.Timeout = Duration(max(0, of.Number(field)))
	case "unstarted":
		t.Unstarted = readStanding(of.Bytes())
	case "unknown":
		t.Unknown = readStanding(of.Bytes())
	case "trace":
		t.Trace = readTrace(of.Text())
	case "key":
		t.Key = of.Text()
	case "closes":
		t.Closes = max(0, of.Number(field))
	case "places":
		t.Places = of.Text()
	case "merge":
		r.merge = Merge(of.Text())
	case "first":
		r.first = of.Text()
	case "payloads":
		r.others = of.List()
	case "correlation":
		t.Correlation = of.Text()
	case "park":
		t.Expired = of.Text() == "over"
	case "response":
		var err error
		if t.Answer, err = readAnswer(of.Bytes()); err != nil {
			*damage = append(*damage, "its field "+field+" is no answer")
		}
	case "then":
		if word := of.Text(); t.Answer != nil && t.Answer.End == "" {
			t.Answer.End = AnswerEnd(word)
		}
	}
	*damage = append(*damage, of.Damage...)
}

// SuspectDeaths is after how many deaths of supervisors that had it a job is suspected of
// having caused them.
const SuspectDeaths = 2

// Suspect reports whether the job may be one that kills its supervisor.
func (t *Taken) Suspect() bool { return t.Deaths >= SuspectDeaths }
