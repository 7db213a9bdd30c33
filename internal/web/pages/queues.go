package pages

import "oarlock/internal/web/chart"

// Queue is a row of queues.
type Queue struct {
	Name      string
	Waiting   int // throttled ones too
	Running   int
	Scheduled int
	Depends   int
	Stalled   int
	Recurring int
	Throttled int
	Paused    bool
	Limit     int // 0 is any number
	Lag       float64
	Rate      float64 // jobs a second that ended; NaN if not known yet
	Outlook   string
	Damage    string
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
	MayPut    bool
	Limited   string // what is in the form for the limit
	Line      chart.Line
	StatsHref string
}

// Listener is a pool that takes jobs of a queue.
type Listener struct {
	Host, Pool string
	Href       string // of the pool, if it is of this supervisor
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
	Choose  bool // rows have boxes
	Failed  bool // what they failed of is shown
}

// JobRow is a job in a list.
type JobRow struct {
	JID      string
	Klass    string
	Queue    string
	State    string
	When     string // what there is to say of the time
	Attempt  string // "2 of 6"
	Crashes  int
	Priority float64
	Message  string
	Worker   string
	Data     string // its beginning
	Tags     []string
	Deeds    []Deed
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
