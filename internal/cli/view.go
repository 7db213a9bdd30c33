package cli

import (
	"encoding/json"
	"math"

	"oarlock/internal/explain"
	"oarlock/queue"
)

// jobView is a job as --json prints it. Times are seconds since the epoch.
type jobView struct {
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
	Checkpoint    json.RawMessage `json:"checkpoint,omitempty"`
	Record        json.RawMessage `json:"record,omitempty"`
}

func viewJob(job queue.Job) jobView {
	v := jobView{
		JID: job.JID, Klass: job.Klass, State: job.State, Queue: job.Queue, Worker: job.Worker, Data: rawJSON(job.Data),
		Priority: job.Priority, Retries: job.Retries, Remaining: job.Remaining, Expires: job.Expires, Tracked: job.Tracked,
		Tags: list(job.Tags), Throttles: job.Throttles, Dependencies: job.Dependencies, Dependents: job.Dependents,
		SpawnedFrom: job.SpawnedFrom, Damage: job.Damage,
	}
	if job.Failure != (queue.Failure{}) {
		v.Failure = &job.Failure
	}
	// Of a job that does not run they are what its last attempt left.
	if job.State != "running" {
		v.Worker, v.Expires = "", 0
	}
	v.History = explain.History(job)
	v.Timeout = job.Kept.Timeout.Seconds()
	if kept := job.Kept; kept.Queue == job.Queue { // what another queue counted says nothing here
		v.Crashes, v.Interruptions, v.Spared, v.Deaths = kept.Crashes, kept.Interruptions, kept.Spared, kept.Deaths
		v.Checkpoint, v.Record = rawJSON(kept.Checkpoint), rawJSON(kept.Record)
	}
	return v
}

func viewJobs(jobs []queue.Job) []jobView {
	views := make([]jobView, len(jobs))
	for i, job := range jobs {
		views[i] = viewJob(job)
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

// list makes nil an empty list: [] in JSON.
func list[T any](items []T) []T {
	if items == nil {
		return []T{}
	}
	return items
}

// queueView is a queue as --json prints it.
type queueView struct {
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
	// Unserved is for how many seconds the next job has been waiting while none of the queue runs; 0 if
	// that is less than a minute, or not known.
	Unserved float64 `json:"unserved,omitempty"`
}

func viewQueue(n queue.QueueCounts) queueView {
	return queueView{
		Name: n.Name, Waiting: n.Waiting, Running: n.Running, Stalled: n.Stalled, Scheduled: n.Scheduled,
		Depends: n.Depends, Recurring: n.Recurring, Throttled: n.Throttled, Paused: n.Paused, Damage: n.Damage,
	}
}

// recurView is a recurring job as --json prints it.
type recurView struct {
	JID       string          `json:"jid"`
	Klass     string          `json:"klass"`
	Queue     string          `json:"queue"`
	Damage    string          `json:"damage,omitempty"`
	Data      json.RawMessage `json:"data"`
	Every     float64         `json:"every"` // seconds
	Next      *float64        `json:"next"`  // seconds since the epoch; null if never
	Count     int             `json:"count"`
	Priority  float64         `json:"priority"`
	Retries   int             `json:"retries"`
	Backlog   int             `json:"backlog"`
	Tags      []string        `json:"tags"`
	Throttles []string        `json:"throttles,omitempty"`
	Cron      *cronView       `json:"cron,omitempty"` // of one with a schedule; every and backlog say nothing then
}

// cronView is what only recurring jobs with a schedule have.
type cronView struct {
	Schedule string  `json:"schedule"`
	Zone     string  `json:"zone"` // "" is UTC
	Missed   string  `json:"missed"`
	Overlap  string  `json:"overlap"`
	Source   string  `json:"source"` // file or hand
	Paused   bool    `json:"paused"`
	Pending  float64 `json:"pending,omitempty"` // seconds since the epoch: a run that waits for the last
	Last     float64 `json:"last,omitempty"`    // when the last run was due
	LastJID  string  `json:"last_jid,omitempty"`
	GivenUp  int     `json:"missed_runs"`
	Skipped  int     `json:"skipped_runs"`
}

func viewRecur(r *queue.Recurring) recurView {
	next := &r.Next
	if math.IsInf(r.Next, 0) { // it was set aside, because it cannot be read
		next = nil
	}
	return recurView{
		JID: r.JID, Klass: r.Klass, Queue: r.Queue, Damage: r.Damage, Data: rawJSON(r.Data), Every: r.Interval.Seconds(), Next: next, Count: r.Count,
		Priority: r.Priority, Retries: r.Retries, Backlog: r.Backlog, Tags: list(r.Tags), Throttles: r.Throttles,
	}
}
