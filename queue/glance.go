package queue

import (
	"context"
	"encoding/json"
	"strings"

	"oarlock/queue/internal/wire"
)

// Glance is a job as it is shown: no more of it than a page has room for.
type Glance struct {
	// Job is what was read. Of its Data it has the beginning only if Cut says so. In lists it has neither
	// History, Dependencies nor Dependents, no checkpoint and no record, and a failure's message may be cut.
	Job

	Size int  // of the data, in bytes, with all payloads
	Cut  bool // Data is not all of it, and may be nothing

	first string // score and name of the payload in the field data
}

// readRun makes the data of a job that merges whole, of which so many bytes are given, and reads the scores of its payloads.
func (g *Glance) readRun(others []any, cut int) {
	kept := &g.Kept
	if kept.Merge == "" || kept.Queue != g.Queue && g.State != "complete" || len(g.Data) == 0 || len(g.Data) >= cut {
		return
	}
	payloads, damage := run{kept.Merge, g.Data, g.first, others}.payloads()
	g.note(damage)
	for _, p := range payloads {
		kept.Scores = append(kept.Scores, p.Score)
	}
	data := kept.Merge.join(payloads)
	g.Size = len(data)
	g.Data = data[:min(len(data), cut)]
	g.Cut = len(g.Data) < g.Size
}

// The rows of what is no job: of a jid that a list names though there is no such job, and of one behind whose jid is something
// else, which Damage tells.
const (
	RowGone    = "gone"
	RowDamaged = "damaged"
)

// Detail is how much of jobs is read.
type Detail struct {
	Cut     int // so many bytes of the data and of a failure's message
	Most    int // data, failures, checkpoints and records larger than that are not read at all
	Entries int // of the history, beside the first; Glances only
}

// The details of rows of lists, of the page of a job, and of all that is known.
var (
	Brief = Detail{Cut: 160, Most: 64 << 10}
	Whole = Detail{Cut: 64 << 10, Most: 1 << 20, Entries: 200}
	All   = Detail{Cut: 1 << 30, Most: 1 << 30, Entries: 1 << 30}
)

// glanceChunk is how many jobs are read in one call, of which each costs some ten commands.
const glanceChunk = 25

// Glances reads jobs in the order asked for; of those that do not exist the Row is RowGone. It
// changes nothing.
func (c *Client) Glances(ctx context.Context, d Detail, jids ...string) ([]Glance, error) {
	all := make([]Glance, 0, len(jids))
	for len(all) < len(jids) {
		some := jids[len(all):min(len(jids), len(all)+glanceChunk)]
		raw, err := c.read(ctx, "glance", wire.Args(some, d.Cut, d.Most, d.Entries)...)
		if err != nil {
			return nil, err
		}
		in := wire.Read(raw)
		for first := true; first || in.Err == nil && len(in.Items) > 0; first = false { // large data ends a reply
			g := readGlance(&in)
			g.Kept.Checkpoint, g.Kept.Record = in.Bytes(), in.Bytes()
			legacy := in.Text()
			g.Dependencies, g.Dependents = texts(in.List()), texts(in.List())
			g.History = readHistory(legacy, texts(in.List()), g.Job.note)
			g.readRun(in.List(), d.Cut)
			g.DependsOn, g.DependedOn = in.Int(), in.Int()
			all = append(all, g)
		}
		if in.Err != nil {
			return nil, in.Err
		}
	}
	return all, nil
}

// readGlance reads the values of append_glance.
func readGlance(in *wire.Reader) Glance {
	g := Glance{Job: Job{JID: in.Text(), Row: in.Text(), Moment: in.Float()}}
	job := &g.Job
	job.State, job.Klass, job.Queue, job.Worker = in.Text(), in.Text(), in.Text(), in.Text()
	f := wire.Fields{Reader: *in}
	job.Priority, job.Retries, job.Remaining, job.Expires = f.Number("priority"), f.Count("retries"), f.Count("remaining"), f.Number("expires")
	g.Size, job.Data = f.Int(), f.Bytes()
	g.Cut = len(job.Data) < g.Size
	job.Tags, job.Throttles = wire.Tags(f.Text()), wire.Tags(f.Text())
	if failure := f.Text(); failure != "" && json.Unmarshal([]byte(strings.ToValidUTF8(failure, "\uFFFD")), &job.Failure) != nil {
		job.Failure = Failure{}
	}
	job.SpawnedFrom, job.Mark, job.Tracked = f.Text(), f.Text(), f.Int() == 1
	job.Kept = Kept{
		Queue: f.Text(), Timeout: Duration(f.Number("oarlock-timeout")), Crashes: f.Count("oarlock-crashes"),
		Interruptions: f.Count("oarlock-interruptions"), Spared: f.Count("oarlock-spared"), Standstill: f.Count("oarlock-standstill"),
		Deaths: f.Count("oarlock-deaths"), Unstarted: readStanding(f.Bytes()), Unknown: readStanding(f.Bytes()),
		Correlation: f.Text(), Answered: f.Text(), Trace: readTrace(f.Text()),
	}
	_, job.Key = readMark(f.Text(), job.Queue)
	job.note(f.Text())
	job.Kept.Merge, g.first = Merge(f.Text()), f.Text()
	wanted, damage := readWanted(f.Bytes())
	job.Kept.Wanted = wanted
	job.note(damage)
	for _, damage := range f.Damage {
		job.note(damage)
	}
	*in = f.Reader
	if err := withheld("glance", g.Damage); err != nil {
		in.Err = err
	}
	return g
}

// note adds to what is damaged of a job; "" adds nothing.
func (j *Job) note(damage string) {
	if damage != "" && j.Damage != "" {
		damage = j.Damage + "; " + damage
	}
	if damage != "" {
		j.Damage = damage
	}
}

// texts are the strings of a list.
func texts(list []any) []string {
	in := wire.Reader{Items: list}
	var all []string
	for range list {
		all = append(all, in.Text())
	}
	return all
}

// readHistory reads the entries of a job's history as they are stored: [when,"what"] or
// [when,"what",{…}]. legacy is how older programs kept it, or "".
func readHistory(legacy string, stored []string, damaged func(string)) []Entry {
	var history []Entry
	if legacy != "" {
		old, err := readLegacy(legacy)
		if err != nil {
			damaged("its field history is no list of what older programs kept")
		}
		history = old
	}
	for _, text := range stored {
		var parts []json.RawMessage
		var e Entry
		err := json.Unmarshal([]byte(text), &parts)
		if err == nil && len(parts) > 2 {
			_ = json.Unmarshal(parts[2], &e) // what is no object adds nothing
		}
		if err == nil && len(parts) > 1 {
			err = json.Unmarshal(parts[0], &e.When)
			_ = json.Unmarshal(parts[1], &e.What)
		}
		if err != nil || len(parts) < 2 {
			damaged("an entry of its history is " + excerpt(text) + ", which is none")
			continue
		}
		history = append(history, e)
	}
	return history
}

// excerpt is as much of what somebody wrote as is to be quoted.
func excerpt(text string) string {
	return strings.ToValidUTF8(text[:min(len(text), 40)], "\uFFFD")
}

// readLegacy reads a history as programs before the list kept it: a stay in a queue after the other.
func readLegacy(text string) ([]Entry, error) {
	var stays wire.List[struct {
		Put, Popped, Failed, Done *float64
		Q, Queue, Worker          string
	}]
	if err := json.Unmarshal([]byte(text), &stays); err != nil {
		return nil, err
	}
	var history []Entry
	add := func(when *float64, e Entry) {
		if when != nil {
			e.When = float64(int64(*when))
			history = append(history, e)
		}
	}
	for _, stay := range stays {
		add(stay.Put, Entry{What: "put", Queue: stay.Q + stay.Queue})
		add(stay.Popped, Entry{What: "popped", Worker: stay.Worker})
		add(stay.Failed, Entry{What: "failed"})
		add(stay.Done, Entry{What: "done"})
	}
	return history, nil
}
