package pages

// Job is the page of one.
type Job struct {
	JID        string
	Klass      string
	Queue      string
	State      string
	Says       string // one line about it
	Damage     string
	Deeds      []Deed
	Asks       string // over the reasons: "Why it waits"
	Why        []Reason
	Print      string // of the state that the page shows
	Facts      []Fact
	Story      *Story // of the last attempt that did not end well
	Data       string
	DataSize   int
	DataCut    string // what to do to see all; "" if it is all there
	Redacted   bool
	Checkpoint string
	DependsOn  []JobRow
	Dependents []JobRow
	Throttles  []string
	Tags       []string
	History    []Moment
	Runs       *Run // here, now
	Log        []LogLine
	Write      bool
}

// Reason is one of what holds a job, and what helps.
type Reason struct {
	Text  string
	Deeds []Deed
	Links []Link
}

// Fact is a name and a value.
type Fact struct {
	Name  string
	Value string
	Href  string
}

// Moment is an entry of a history.
type Moment struct {
	At       float64
	Ago      string
	Local    string // on the clock of the host, where that is another than UTC; scripts put that of the viewer in its place
	What     string
	Says     string
	Inferred bool
}

// Run is a job at work on a child.
type Run struct {
	Host       string // of another supervisor; "" is this one
	Pool, Href string
	Slot, PID  int
	Age        float64
	Left       float64 // until its time is up; 0 if it has all the time
	Kept       bool    // ready for the child, which is at work on another
	Done       string  // as "40 %"; "" if it did not say
	Progress   string
}

// LogLine is a line of a child.
type LogLine struct {
	At     string `json:"at"`
	Stream string `json:"stream"` // and the level that the line names
	JID    string `json:"-"`
	Text   string `json:"text"`
}
