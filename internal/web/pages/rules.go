package pages

// Rules is the document of rules, and what it says of classes.
type Rules struct {
	Version   string  // how many were installed so far; "" for none
	Installed float64 // seconds since the epoch
	Rows      []Rule
	Differs   []string // in sentences: what the file of this supervisor has otherwise
	Owner     string   // that file; "" if there is none here
	Deeds     []Deed
	Klasses   []Klass
	Asked     Asked
	Needs     *Needs // what such a job would need; nil if nobody asked
	Wrong     string // with what was asked
}

// Rule is one table of them.
type Rule struct {
	Entry, Says, Owner string
	Href               string // of the page of what it is about; "" for none
	Revision           int
	ByHand             string // which limit somebody set in its place
	Deeds              []Deed
}

// Klass is what rules say of a class.
type Klass struct {
	Name, Takes                string
	Queues, Throttles, Windows []string
	AtPut, AtWork              []string // what holds where a put does not say otherwise; for those who work it
}

// Asked is a job of which somebody asks what it would need.
type Asked struct {
	Queue, Klass, Data    string
	Weight, Windows, Zone string // what it says itself; windows with ";" between
	Bypass                bool
}

// Needs is what a job would need.
type Needs struct {
	Says   []string
	Places []NeedsPlace
	Order  string
}

// NeedsPlace is a throttle of which it would need places.
type NeedsPlace struct {
	ID, Has string
	Used    int
}

// Windows are those of the rules.
type Windows struct {
	Rows       []Window
	Spec, Zone string   // that somebody asks for: spans with semicolons between them
	Spans      []string // of these, in words: those that come
	Wrong      string   // what is wrong with them
}

// Window is one.
type Window struct {
	Name, Spec, Zone string
	Open             bool
	Change           string  // when it opens or shuts, as a clock there shows it; "" if that is far
	At               float64 // the same, in seconds since the epoch
	Spans            []string
	Queues           []string
	Klasses          []string
}
