package pages

import "oarlock/internal/web/chart"

// Queue is a row of queues.
type Queue struct {
	Name      string
	Waiting   int // throttled ones too
	Running   int
	Scheduled int
	Stalled   int
	Paused    bool
	Limit     int // 0 is any number
	Lag       float64
	Rate      float64 // jobs a second that ended; NaN if not known yet
	Outlook   string
	Damage    string
	Keys      string   // how it stands with its keys, in words; "" if it has none
	Windows   []string // how each window stands in which its jobs start, in words
}

// Queues is the list of them.
type Queues struct {
	Rows  []Queue
	Match string // a glob
	Sort  string // lag, waiting or name
	Shown string // "1 to 50 of 412"
	First string
	Next  string
	Print string // of which rows there are
}

// State is how many jobs of a queue are in a state.
type State struct {
	Name string
	Jobs int
	Href string
	Here bool
}

// QueuePage is one queue.
type QueuePage struct {
	Queue
	States    []State
	State     string // whose jobs are listed
	Jobs      Jobs
	Deeds     []Deed
	Bulk      []Deed // on the jobs of the state
	Listeners []Listener
	Lock      string  // for how long a job is locked
	NextDue   float64 // seconds from now; 0 if nothing is scheduled
	Fair      string  // how the turns of its values go on; "" if it is not fair
	MayPut    bool
	Limited   string // what is in the form for the limit
	Line      chart.Line
	StatsHref string
}

// Listener is a pool that takes jobs of a queue.
type Listener struct {
	Host, Pool string
	Href       string // of the pool, or of its supervisor, if that is another
	Busy       int
	Children   int
	Trouble    string
}

// Jobs is a part of a list of jobs.
type Jobs struct {
	Caption string
	Rows    []JobRow
	Empty   string // what would be here
	Command string // that makes one
	Says    string // "50 of 4,120"
	First   string
	Next    string
	Print   string
	Choose  bool     // rows have boxes and buttons, all of one form
	Action  string   // of that form
	Chosen  []Button // for those that are chosen
	Failed  bool     // what they failed of is shown
}

// Button is one of a form that has several.
type Button struct {
	Label, Value string
	Tone         Tone
}

// JobRow is a job in a list.
type JobRow struct {
	Ref     string // by which a form says which job is meant, and how it was seen; "" if it cannot be chosen
	Buttons []Button
	JID     string
	Klass   string
	Queue   string
	Key     string
	State   string
	When    string // what there is to say of the time
	Attempt string // "2 of 6"
	Crashes int
	Message string
	Data    string // its beginning
	Tags    []string
	Deeds   []Deed
}

// Key is a key of a queue: of its jobs one runs at a time, in order.
type Key struct {
	Queue, Name string
	Holder      string // the jid of the job that has the turn
	Nobody      string // why none has it; "" if one has
	Behind      int
	Waits       string // for how long somebody waits for the one that has the turn; "" if nobody does
}

// Keys is the list of them.
type Keys struct {
	Queue string
	By    string // blocked or name
	Rows  []Key
	Empty string
	Print string
	Says  string
	First string
	Next  string
	Deeds []Deed
}

// KeyPage is one.
type KeyPage struct {
	Key
	State string   // of the job that has the turn
	Why   []string // what that waits for
	Next  Jobs     // those behind, next first
	Deeds []Deed
}

// Spread is a distribution of durations.
type Spread struct {
	Name      string
	Count     int
	Mean      float64
	Std       float64
	Histogram chart.Bars
}

// Day is a day of a queue.
type Day struct {
	Day      string
	Href     string
	Done     int
	Mean     float64
	Failures int
	Retries  int
}

// QueueStats is how a queue went on a day, and on the days before.
type QueueStats struct {
	Queue     string
	Day       string
	Earlier   string
	Later     string
	Spreads   []Spread // how long jobs waited, and ran
	Failures  int
	Failed    int
	Retries   int
	Days      []Day
	DaysChart chart.Bars
}
