package ops

import (
	"cmp"
	"encoding/json"

	"oarlock/internal/doctor"
	"oarlock/internal/explain"
	"oarlock/queue"
)

// Job is a job as people and their programs are told of it. Times are seconds since the epoch.
type Job struct {
	JID          string          `json:"jid"`
	Klass        string          `json:"klass"`
	State        string          `json:"state"`
	Damage       string          `json:"damage,omitempty"`
	Queue        string          `json:"queue"`
	Worker       string          `json:"worker,omitempty"`
	Data         json.RawMessage `json:"data"`
	Priority     float64         `json:"priority"`
	Retries      int             `json:"retries"`
	Remaining    int             `json:"remaining"`
	Expires      float64         `json:"expires,omitempty"`
	Due          float64         `json:"due,omitempty"`  // of a scheduled one; of a parked one, when it has waited in vain
	Size         int             `json:"size,omitempty"` // in bytes, of data of which only the beginning is given, as a text
	Tracked      bool            `json:"tracked"`
	Tags         []string        `json:"tags"`
	Throttles    []string        `json:"throttles,omitempty"`
	Dependencies []string        `json:"dependencies,omitempty"`
	Dependents   []string        `json:"dependents,omitempty"`
	SpawnedFrom  string          `json:"spawned_from,omitempty"`
	Failure      *queue.Failure  `json:"failure,omitempty"`
	History      []explain.Entry `json:"history,omitempty"`

	Timeout       float64         `json:"timeout,omitempty"`
	Crashes       int             `json:"crashes"`
	Interruptions int             `json:"interruptions"`
	Spared        int             `json:"spared"`
	Deaths        int             `json:"deaths"`
	Correlation   string          `json:"correlation,omitempty"` // what an answer to it names
	Answered      string          `json:"answered,omitempty"`    // came: the next attempt is told; given: one was
	Checkpoint    json.RawMessage `json:"checkpoint,omitempty"`
	Record        json.RawMessage `json:"record,omitempty"`
	Redacted      bool            `json:"redacted,omitempty"` // something in it was blanked, because it is secret

	payload []byte // Data as it was put, were it no JSON
	tag     string
}

// Tag names the state in which the job was seen: it is another one once the job was taken, put or completed. See If.
func (j *Job) Tag() string { return j.tag }

// Payload is the data of the job as it was put, which may be no JSON.
func (j *Job) Payload() string { return string(j.payload) }

// Failed is the failure, or the zero value if there is none.
func (j *Job) Failed() queue.Failure {
	if j.Failure == nil {
		return queue.Failure{}
	}
	return *j.Failure
}

// View is what is told of a job.
func View(job queue.Job) Job {
	v := Job{
		JID: job.JID, Klass: job.Klass, State: cmp.Or(job.Row, job.State), Queue: job.Queue, Worker: job.Worker, Data: rawJSON(job.Data),
		Priority: job.Priority, Retries: job.Retries, Remaining: job.Remaining, Expires: job.Expires, Tracked: job.Tracked,
		Tags: list(job.Tags), Throttles: job.Throttles, Dependencies: job.Dependencies, Dependents: job.Dependents,
		SpawnedFrom: job.SpawnedFrom, Damage: job.Damage, payload: job.Data, tag: tagOf(job),
	}
	if job.Failure != (queue.Failure{}) {
		v.Failure = &job.Failure
	}
	switch v.State {
	case "scheduled", "parked":
		v.Due = job.Moment
	case "running", "stalled":
		v.Expires = cmp.Or(job.Moment, job.Expires) // as the queue has it; the job's own field may be older
	}
	// Of a job that does not run they are what its last attempt left.
	if job.State != "running" {
		v.Worker, v.Expires = "", 0
	}
	v.History = explain.History(job)
	v.Timeout = job.Kept.Timeout.Seconds()
	v.Correlation = job.Kept.Correlation
	if kept := job.Kept; kept.Queue == job.Queue { // what another queue counted says nothing here
		v.Crashes, v.Interruptions, v.Spared, v.Deaths = kept.Crashes, kept.Interruptions, kept.Spared, kept.Deaths
		v.Answered = job.Kept.Answered
		v.Checkpoint, v.Record = rawJSON(kept.Checkpoint), rawJSON(kept.Record)
	}
	return v
}

// Views is View of each.
func Views(jobs []queue.Job) []Job {
	views := make([]Job, len(jobs))
	for i, job := range jobs {
		views[i] = View(job)
	}
	return views
}

// rawJSON embeds text in a document; what is no JSON becomes a string.
func rawJSON(text []byte) json.RawMessage {
	switch {
	case len(text) == 0:
		return nil
	case json.Valid(text):
		return text
	}
	quoted, _ := json.Marshal(string(text)) // of a string: cannot fail
	return quoted
}

// Queue is how many jobs of a queue are in which state.
type Queue struct {
	Name      string `json:"name"`
	Waiting   int    `json:"waiting"`
	Running   int    `json:"running"`
	Stalled   int    `json:"stalled"`
	Scheduled int    `json:"scheduled"`
	Depends   int    `json:"depends"`
	Recurring int    `json:"recurring"`
	Throttled int    `json:"throttled"`
	Paused    bool   `json:"paused"`
	Damage    string `json:"damage,omitempty"`
	Limit     int    `json:"limit"` // how many may run at a time; 0 is any number

	// Lag is for how many seconds nothing but a free child has been missing to the job that is next in turn.
	Lag     float64 `json:"lag"`
	NextDue float64 `json:"next_due,omitempty"` // when the next delayed job is due
	// Unserved is Lag if that is a minute at least while none of the queue runs; else 0.
	Unserved float64  `json:"unserved,omitempty"`
	Today    Today    `json:"today"`
	Outlook  *Outlook `json:"outlook,omitempty"` // nil where nobody keeps looking at the queue
}

// Today are the counters of a queue that begin anew at midnight UTC.
type Today struct {
	Completed   int     `json:"completed"`
	Failures    int     `json:"failures"`
	LocksRunOut int     `json:"locks_run_out"`
	MeanRun     float64 `json:"mean_run"` // seconds
}

// ViewQueue is what is told of a queue that was counted at the time now.
func ViewQueue(n queue.QueueCensus, now float64) Queue {
	return Queue{
		Name: n.Name, Waiting: n.Waiting, Running: n.Running, Stalled: n.Stalled, Scheduled: n.Scheduled,
		Depends: n.Depends, Recurring: n.Recurring, Throttled: n.Throttled, Paused: n.Paused, Damage: n.Damage,
		Limit: n.Limit, Lag: n.Lag(now), NextDue: n.NextDue, Unserved: doctor.UnservedFor(n, now).Seconds(), Today: Today(n.Today),
	}
}

// Event is something that happened to a job, or to what jobs share.
type Event struct {
	At      float64 `json:"at"` // when it was received, in seconds since the epoch
	Channel string  `json:"channel"`
	Event   string  `json:"event"`
	JID     string  `json:"jid,omitempty"`
	Queue   string  `json:"queue,omitempty"`
	Worker  string  `json:"worker,omitempty"`
	To      string  `json:"to,omitempty"`
	Group   string  `json:"group,omitempty"`
	Message string  `json:"message,omitempty"`
	Option  string  `json:"option,omitempty"`
	Value   string  `json:"value,omitempty"`
}

// EventView is e, received at a moment in seconds since the epoch.
func EventView(e queue.Event, at float64) Event {
	return Event{at, e.Channel, e.Event, e.JID, e.Queue, e.Worker, e.To, e.Group, e.Message, e.Option, e.Value}
}
