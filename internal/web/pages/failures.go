package pages

// Group is a row of groups of failures.
type Group struct {
	Name    string
	Jobs    int
	When    string // how long ago the newest was
	Klass   string
	Queue   string
	Message string
	Newest  string // its jid
}

// Failures are the groups.
type Failures struct {
	Groups []Group
	Total  int
	Sorted bool // the largest come first
	First  string
	Next   string
	Print  string
}

// Filter says which failed jobs are meant, as it was typed.
type Filter struct {
	Queue, Klass, Key, Message, Since, Before string
}

// Any reports whether something is left out.
func (f Filter) Any() bool { return f != Filter{} }

// FailureGroup is one group.
type FailureGroup struct {
	Name    string
	Jobs    int
	Filter  Filter
	Matched string // "287 match of 300 looked at"; "" without a filter
	Newest  *Story
	List    Jobs
	Deeds   []Deed
}

// Story is what one failure said.
type Story struct {
	JID    string
	Title  string   // in one line
	Told   []string // in sentences
	Stderr string
	Stdout string
	OOM    string // the proof of the kernel
}

// Bulk is a deed on many jobs, before it is done, while it goes on, and after.
type Bulk struct {
	Verb        string // Retry
	Does        string // the same within a sentence: retry
	What        string // "jobs of group exit-1"
	Action      string // where it is posted to
	Fields      []Field
	Back        string
	Count       int
	Typed       bool // the number must be typed
	To          bool // a queue must be named
	ByKlass     []Tally
	ByQueue     []Tally
	Span        string // the oldest and the newest
	Samples     []JobRow
	Done        *BulkDone // nil before
	Irrevocable bool
	Failed      bool // they are failed ones
}

// BulkDone is what became of it so far.
type BulkDone struct {
	Done, Changed, Refused, Left int
	Refusals                     []string
	Onward                       bool // a part is left, and the form goes on with it
}

// Tally is how many there are of something.
type Tally struct {
	Name string
	Jobs int
}
