package pages

// Recurring is a row of recurring jobs.
type Recurring struct {
	JID      string
	Klass    string
	Queue    string
	Schedule string
	Next     string
	Count    int
	Last     string // what became of the last copy
	LastHref string
	State    string // "", paused, ended
	Deeds    []Deed
}

// RecurringList is the list of them.
type RecurringList struct {
	Rows              []Recurring
	Write             bool
	Says, First, Next string
}

// RecurringPage is one.
type RecurringPage struct {
	Recurring
	Facts []Fact
	Data  string
	Runs  []float64 // the next ones, in seconds since the epoch
}

// Worker is a name under which jobs are held, taken apart.
type Worker struct {
	Name    string
	Host    string
	PID     string
	Pool    string
	Seen    string
	Jobs    int
	Stalled int
	Odd     string
	Deeds   []Deed
}

// Workers is the list of them.
type Workers struct {
	Rows              []Worker
	Says, First, Next string
	Print             string
}

// WorkerPage is one, with what it holds.
type WorkerPage struct {
	Worker
	List Jobs
}

// Tags is the list of those that are used most.
type Tags struct {
	Rows        []string
	First, Next string
}

// JobsPage is a page that is a list of jobs and little else: tracked, completed, of a tag.
type JobsPage struct {
	Heading string
	Says    string
	List    Jobs
	Gone    []string // tracked, and not there any more
}

// Parked is a job that waits for an answer.
type Parked struct {
	JID, Klass, Queue string
	Correlation       string
	Deadline          float64 // seconds since the epoch
	Left              string  // until then
	Late              bool    // it is over
	Deeds             []Deed
}

// ParkedPage is the list of them.
type ParkedPage struct {
	Rows   []Parked
	Queue  string // of this one only
	Print  string
	Looked string
	First  string
	Next   string // there is more to be looked at
}

// Finding is something that a doctor looked at.
type Finding struct {
	Subject, Text, Word string
	Tone                Tone
	Advice, Command     string // what to do, in words and to be typed
}

// Doctor is what one found.
type Doctor struct {
	Rows      []Finding // the worst first
	At        float64   // seconds since the epoch; 0 if nobody has looked
	Ago       string
	Says      string
	Over      string // why it was not looked to the end; "" if it was
	Elsewhere string // what is not looked at here
	Deeds     []Deed
}

// Search is what was looked for, and what was found.
type Search struct {
	Term   string
	Exact  []Hit
	List   Jobs
	Looked string // "looked at 10,000 of 640,000; 12 found"
	Onward string
	Help   bool
	Wrong  string
}

// Hit is something of exactly that name.
type Hit struct{ Kind, Name, Href, Says string }

// Settings are those of the protocol.
type Settings struct {
	Rows  []Setting
	Write bool
}

// Setting is one.
type Setting struct {
	Name, Value string
	Default     bool
	Action      string
}

// Events are what happened lately, and happens.
type Events struct {
	Lines []LogLine
	Says  string
}

// Deeds are what was done over the web, the newest first.
type Deeds struct{ Rows []Done }

// Done is one deed.
type Done struct {
	At                             float64
	Who, From, Action, What, Count string
	Result                         string
	Good                           bool
}

// Trouble is a page of its own, where there is nothing else to show.
type Trouble struct {
	What  string
	Why   string
	Does  string // what to do
	Links []Link
	Form  []Deed
}

// Login asks for a token.
type Login struct {
	Wrong string
	Back  string
}

// Form is a page that asks for what a deed wants to know, or for a word before it is done.
type Form struct {
	Heading string
	Says    []string
	Action  string
	Hidden  []Field
	Asks    []Ask
	Label   string
	Danger  bool
	Back    string
	Wrong   string
}

// Ask is a field of a form.
type Ask struct {
	Name, Label, Value, Hint, Kind string // Kind: text, number, area, check
	Wanted                         bool
	Choices                        []Choice // one of them; nil is a free text
}

// Choice is one of what a field can be.
type Choice struct{ Value, Text string }

// Help is the page of keys.
type Help struct {
	Keys   []Fact
	Words  []Fact
	Switch string // switches them off, or on
}
