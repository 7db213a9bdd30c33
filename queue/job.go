package queue

import (
	"context"
	"encoding/json"
	"time"

	"oarlock/queue/internal/wire"
)

// Job is a job as Redis knows it.
type Job struct {
	JID, Klass string
	State      string // waiting, scheduled, depends, throttled, running, stalled, failed or complete; as the protocol keeps it
	// Row is where the job stands, in one word: waiting, scheduled, depends, throttled, running, stalled, complete or
	// failed. Unlike State, a delayed job that is due waits, so does one that was given back, and a running one whose lock
	// ran out is stalled. "" of a job that Pop handed out; See also RowGone and RowDamaged.
	Row string
	// Moment is when a scheduled job is due, or a lock ends, in seconds since the epoch; else 0.
	Moment float64

	Queue  string // "" when complete
	Worker string // who holds the lock, or held it last; often ""
	Data   []byte // JSON text as stored

	Priority  float64
	Retries   int     // allowed
	Remaining int     // of those, left; −1 when exhausted
	Expires   float64 // when the lock ends, in seconds since the epoch; 0 when not running
	Tracked   bool

	Tags         []string
	Throttles    []string // ids of throttles it must hold to run
	Dependencies []string // jids it waits for; 10,000 at most, as below
	Dependents   []string // jids that wait for it
	DependsOn    int      // how many it waits for
	DependedOn   int      // how many wait for it
	SpawnedFrom  string   // jid of the recurring job that made it; "" for others
	Key          string   // of those of its queue that have the same one runs at a time; "" if it has none. See Client.InLane

	// Damage says why the job cannot be read as a whole, because somebody wrote something else into
	// its keys than they hold; "" for nearly all. What cannot be read is zero then.
	Damage string

	Failure Failure // the last one; zero if there was none
	History []Entry // oldest first

	// Mark is the job's field time, byte for byte: when it was last put, popped or
	// completed. See Amendment.
	Mark string

	Kept Kept
}

// Failure says why a job failed or was retried.
type Failure struct {
	Group   string  `json:"group"`
	Message string  `json:"message"`
	When    float64 `json:"when"` // seconds since the epoch
	Worker  string  `json:"worker"`
}

// Entry is one line of a job's history.
type Entry struct {
	When float64 // seconds since the epoch, rounded down
	What string  // put, popped, done, failed, timed-out, throttled, …, or what Log wrote

	Queue  string // of put
	Worker string // of popped and failed
	Group  string // of failed

	// More is whatever else the entry has, as JSON by name; nil if nothing.
	More map[string]json.RawMessage
}

// Kept is what Oarlock keeps with a job beside the protocol. All but the timeout counts only
// while the job is in Queue.
type Kept struct {
	Queue                          string
	Timeout                        time.Duration // of one attempt; 0 if none was set
	Crashes, Interruptions, Spared int
	Standstill                     int       // interruptions since the last that brought a new checkpoint
	Deaths                         int       // of supervisors that had the job, since it last ended otherwise; see SuspectDeaths
	Checkpoint                     []byte    // nil if none
	Record                         []byte    // JSON about the last attempt that did not end well; nil if none
	Unstarted                      Standing  // that its command cannot be run
	Unknown                        Standing  // that no program knows its class
	Merge                          Merge     // how what is put with its key merges into it; "" if it does not
	Scores                         []float64 // those of its payloads, in the order of Data; Glances only
	Correlation                    string    // what an answer to it names, in whichever queue; "" if it has none
	Wanted                         Wanted    // what it says itself of what it needs to run, in whichever queue
	Trace                          Trace     // in which it was put, in whichever queue
	Answered                       string    // came: an answer waits for the next attempt; given: an attempt was told it; "" if there is none
}

// Get reads one job. The error is ErrNoJob if there is none; a recurring job is not
// one, see Recurring.
func (c *Client) Get(ctx context.Context, jid string) (*Job, error) {
	jobs, err := c.GetMany(ctx, jid)
	if err != nil {
		return nil, err
	}
	if len(jobs) == 0 {
		return nil, &ScriptError{Command: "get", Message: "Job " + jid + " does not exist"}
	}
	return &jobs[0], nil
}

// GetMany reads jobs in the order asked for, leaving out those that do not exist. It changes nothing.
func (c *Client) GetMany(ctx context.Context, jids ...string) ([]Job, error) {
	found, err := c.Glances(ctx, All, jids...)
	if err != nil {
		return nil, err
	}
	var jobs []Job
	for _, g := range found {
		if g.Row != RowGone {
			jobs = append(jobs, g.Job)
		}
	}
	return jobs, nil
}

// UnmarshalJSON reads the view that the scripts make of a job, of either dialect.
func (j *Job) UnmarshalJSON(text []byte) error {
	var view struct {
		JID, Klass, State, Queue, Worker, Data string
		Priority, Retries, Remaining, Expires  float64
		Tracked                                bool
		Tags                                   wire.List[wire.Label]
		Throttles, Dependencies, Dependents    wire.List[string]
		Failure                                Failure
		History                                wire.List[Entry]
		SpawnedFrom                            json.RawMessage `json:"spawned_from_jid"`
	}
	if err := json.Unmarshal(text, &view); err != nil {
		return err
	}
	*j = Job{
		JID: view.JID, Klass: view.Klass, State: view.State, Queue: view.Queue, Worker: view.Worker,
		Data: []byte(view.Data), Priority: view.Priority, Retries: int(view.Retries), Remaining: int(view.Remaining),
		Expires: view.Expires, Tracked: view.Tracked, Tags: wire.Labels(view.Tags), Throttles: view.Throttles,
		Dependencies: view.Dependencies, Dependents: view.Dependents, Failure: view.Failure, History: view.History,
	}
	// It is false for a job that nothing spawned.
	if len(view.SpawnedFrom) > 0 && view.SpawnedFrom[0] == '"' {
		return json.Unmarshal(view.SpawnedFrom, &j.SpawnedFrom)
	}
	return nil
}

// UnmarshalJSON reads an entry, whose extra members stand beside when and what.
func (e *Entry) UnmarshalJSON(text []byte) error {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(text, &members); err != nil {
		return err
	}
	*e = Entry{}
	known := map[string]any{
		"when": &e.When, "what": &e.What, "q": &e.Queue, "queue": &e.Queue, "worker": &e.Worker, "group": &e.Group,
	}
	for name, value := range members {
		if into, ok := known[name]; ok && json.Unmarshal(value, into) == nil {
			continue
		}
		if e.More == nil {
			e.More = make(map[string]json.RawMessage)
		}
		e.More[name] = value
	}
	return nil
}
