package ops

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"oarlock/internal/doctor"
	"oarlock/internal/explain"
	"oarlock/internal/screen"
	"oarlock/queue"
	"oarlock/supervisor"
)

// Job is a job as people and their programs are told of it. Times are seconds since the epoch.
type Job struct {
	JID          string          `json:"jid"`
	Klass        string          `json:"klass"`
	State        string          `json:"state"`
	Damage       string          `json:"damage,omitempty"`
	Queue        string          `json:"queue"`
	Worker       string          `json:"worker,omitempty"`
	Merge        queue.Merge     `json:"merge,omitempty"`  // how what is put with its key merges into it
	Scores       []float64       `json:"scores,omitempty"` // of the payloads in its data, in their order
	Data         json.RawMessage `json:"data"`
	Priority     float64         `json:"priority"`
	Retries      int             `json:"retries"`
	Remaining    int             `json:"remaining"`
	Attempt      int             `json:"attempt,omitempty"` // the one at work, or that comes next, and of a failed job the last, from 1; left out of one that is complete, which does not tell
	Expires      float64         `json:"expires,omitempty"`
	Due          float64         `json:"due,omitempty"`  // of a scheduled one; of a parked one, when it has waited in vain
	Size         int             `json:"size,omitempty"` // in bytes, of data of which only the beginning is given, as a text
	Tracked      bool            `json:"tracked"`
	Tags         []string        `json:"tags"`
	Key          string          `json:"key,omitempty"`  // of those of its queue that have the same one runs at a time
	Turn         *Turn           `json:"turn,omitempty"` // how it stands to these; of one that is shown by itself
	Throttles    []string        `json:"throttles,omitempty"`
	Dependencies []string        `json:"dependencies,omitempty"`
	Dependents   []string        `json:"dependents,omitempty"`
	DependsOn    int             `json:"depends_on,omitempty"`  // how many Dependencies there are, where that has 10,000 of them only; else 0
	DependedOn   int             `json:"depended_on,omitempty"` // likewise
	SpawnedFrom  string          `json:"spawned_from,omitempty"`
	Failure      *queue.Failure  `json:"failure,omitempty"`
	History      []explain.Entry `json:"history,omitempty"`

	Timeout       float64         `json:"timeout,omitempty"`
	TraceParent   string          `json:"traceparent,omitempty"` // the trace in which it was put
	Crashes       int             `json:"crashes"`
	Interruptions int             `json:"interruptions"`
	Spared        int             `json:"spared"`
	Deaths        int             `json:"deaths"`
	Weight        int             `json:"weight,omitempty"`      // what it says itself of what it needs to run; 0: nothing
	Bypass        bool            `json:"bypass,omitempty"`      // likewise
	Windows       []string        `json:"windows,omitempty"`     // likewise: names, and zone|span|span
	Correlation   string          `json:"correlation,omitempty"` // what an answer to it names
	Answered      string          `json:"answered,omitempty"`    // came: the next attempt is told; given: one was
	Checkpoint    json.RawMessage `json:"checkpoint,omitempty"`
	Record        json.RawMessage `json:"record,omitempty"`
	Redacted      bool            `json:"redacted,omitempty"` // something in it was blanked, because it is secret

	payload []byte // Data as it was put, were it no JSON
	tag     string
}

// Turn is how a job with a key stands to the others of it.
type Turn struct {
	Holder string  `json:"holder"`          // the jid of the job that has the turn, which may be this one; "" if none has
	Until  float64 `json:"until,omitempty"` // how long the turn waits at most for the end of a run that was taken from its worker; seconds since the epoch
	Behind int     `json:"behind"`          // jobs that stand behind that, canceled ones that nobody came upon yet included
	Place  int     `json:"place"`           // among these: 1 is the next, 1001 any behind a thousand others; 0 if it does not stand behind
}

// TurnWords is how the job stands to the others of its key, in a few words; "" if it has none, or that was not asked.
func (j *Job) TurnWords() string {
	t := j.Turn
	if t == nil {
		return ""
	}
	behind := screen.Some(t.Behind, "job") + " behind it"
	switch {
	case t.Place == queue.FarPlace:
		return fmt.Sprintf("behind more than a thousand others, of %s", screen.Count(t.Behind))
	case t.Place > 0:
		return fmt.Sprintf("number %s of %s that stand behind", screen.Count(t.Place), screen.Count(t.Behind))
	case t.Holder == j.JID && t.Behind > 0:
		return "has the turn, " + behind
	case t.Holder == j.JID:
		return "has the turn"
	}
	return "no part in the turns now"
}

// Tag names the state in which the job was seen: it is another one once the job was taken, put or completed. See If.
func (j *Job) Tag() string { return j.tag }

// Payload is the data of the job as it was put, which may be no JSON.
func (j *Job) Payload() string { return string(j.payload) }

// Payloads are those of a job that merges, with the scores of each; nil if it does not, or only the beginning of them is given.
func (j *Job) Payloads() []json.RawMessage {
	var payloads []json.RawMessage
	switch {
	case len(j.Scores) == 0:
		return nil
	case !j.Merge.Lists():
		payloads = []json.RawMessage{j.Data}
	case json.Unmarshal(j.Data, &payloads) != nil:
		return nil
	}
	if len(payloads) != len(j.Scores) {
		return nil
	}
	return payloads
}

// WantsWords says what the job says itself of what it needs to run; "" if it says nothing.
func (j *Job) WantsWords() string {
	var words []string
	if j.Weight > 0 {
		words = append(words, screen.Some(j.Weight, "place")+" of each throttle")
	}
	if j.Bypass {
		words = append(words, "no places (bypass)")
	}
	if len(j.Windows) > 0 {
		var windows []string
		for _, text := range j.Windows {
			zone, spans, own := strings.Cut(text, "|")
			if own {
				text = strings.ReplaceAll(spans, "|", ", ") + " " + zone
			}
			windows = append(windows, text)
		}
		words = append(words, "starts in "+strings.Join(windows, ", "))
	}
	return strings.Join(words, "; ")
}

// NotRetried says why a job that has failed does not use the retries that it has left; "" if it has none, or has not failed.
func (j *Job) NotRetried() string {
	if j.State != "failed" || j.Remaining <= 0 {
		return ""
	}
	var r supervisor.Record
	_ = json.Unmarshal(j.Record, &r) // of one that cannot be read only the group is known
	switch {
	case r.Verdict == "fail":
		return "the program said fail"
	case r.Verdict == "" && r.ExitCode != nil && r.SentBy == "":
		return fmt.Sprintf("exit code %d fails a job of that pool", *r.ExitCode)
	}
	return "it failed for good (" + screen.Visible(j.Failed().Group) + ")"
}

// TraceID is the id of the trace in which it was put; "" if there is none.
func (j *Job) TraceID() string { return queue.Trace{Parent: j.TraceParent}.ID() }

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
		SpawnedFrom: job.SpawnedFrom, Key: job.Key, Damage: job.Damage, payload: job.Data, tag: tagOf(job),
	}
	if job.Failure != (queue.Failure{}) {
		v.Failure = &job.Failure
	}
	if job.DependsOn > len(job.Dependencies) {
		v.DependsOn = job.DependsOn
	}
	if job.DependedOn > len(job.Dependents) {
		v.DependedOn = job.DependedOn
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
	v.Merge, v.Scores = job.Kept.Merge, job.Kept.Scores
	v.Weight, v.Bypass, v.Windows = job.Kept.Wanted.Weight, job.Kept.Wanted.Bypass, job.Kept.Wanted.Windows
	v.Correlation, v.TraceParent = job.Kept.Correlation, job.Kept.Trace.Parent
	if kept := job.Kept; kept.Queue == job.Queue { // what another queue counted says nothing here
		v.Crashes, v.Interruptions, v.Spared, v.Deaths = kept.Crashes, kept.Interruptions, kept.Spared, kept.Deaths
		v.Answered = job.Kept.Answered
		v.Checkpoint, v.Record = rawJSON(kept.Checkpoint), rawJSON(kept.Record)
	}
	if v.State != "complete" {
		v.Attempt = max(1, 1+job.Retries-max(job.Remaining, 0)+v.Crashes)
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
	Behind    int    `json:"behind"`    // of those waiting, how many stand behind others of their key
	Keys      int    `json:"keys"`      // of which a job has the turn
	BusyKeys  int    `json:"busy_keys"` // of those, for which other jobs stand behind
	Paused    bool   `json:"paused"`
	Damage    string `json:"damage,omitempty"`
	Limit     int    `json:"limit"` // how many may run at a time; 0 is any number

	// Lag is for how many seconds nothing but a free child has been missing to the job that is next in turn.
	Lag float64 `json:"lag"`
	// Blocked is for how many seconds a job has been waiting for one and the same holder of the turn of its key, of the key for which that is
	// longest; not for one that waits for an answer.
	Blocked float64 `json:"blocked"`
	NextDue float64 `json:"next_due,omitempty"` // when the next delayed job is due
	// Unserved is Lag if that is a minute at least while none of the queue runs; else 0.
	Unserved float64  `json:"unserved,omitempty"`
	Today    Today    `json:"today"`
	Outlook  *Outlook `json:"outlook,omitempty"` // nil where nobody keeps looking at the queue
}

// Backlog is how many jobs wait: for their turn or a child, behind others of their key, or for a place in a throttle.
func (q *Queue) Backlog() int { return q.Waiting + q.Throttled }

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
		Behind: n.Behind, Keys: n.Keys.All, BusyKeys: n.Keys.Blocked, Blocked: n.Keys.BlockedFor(now),
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
