package pages

import "oarlock/internal/web/chart"

// Overview is the first page: is it healthy, and what is wrong first?
type Overview struct {
	Wrong   []Notice // the worst first
	Figures []Figure
	Queues  []Queue // the first of them
	Total   int     // how many queues there are
	Groups  []Group // of failures, the largest
	Failed  int     // jobs in all groups; −1 if that is not known
	Hosts   []Host
	Silent  string // which supervisors did not answer, in a sentence

	WrongPrint, QueuePrint, GroupPrint string // of which rows there are
}

// Figure is a number that is looked at first, and how it went.
type Figure struct {
	Key   string // of its place on the page
	Name  string
	Value string
	Note  string
	Line  chart.Line
}

// Host is a supervisor as others see it.
type Host struct {
	Name     string
	Here     bool // it answers this request
	Version  string
	Up       float64
	State    string // flows, quiet, draining, away
	Pools    int
	Busy     int
	Children int
	Redis    string
	Trouble  string // in a sentence
	Page     string // its own address; "" if it has none
	Inside   string // where its pools can be seen here; "" if they cannot
}

// Supervisors is the page of all of them.
type Supervisors struct {
	Hosts  []Host
	Asked  int // how many will answer; 0 if nobody was asked
	Says   string
	Silent string
	Deeds  []Deed // to the one of this process

	Unheard []Unheard // did not answer
	Looked  bool      // for these
}

// Unheard is a supervisor that did not answer, as far as Redis knows it.
type Unheard struct {
	Name    string
	PID     int
	Pools   []string // one for each of Workers, or fewer
	Workers []string
	Says    string // what can be said of it
	Seen    string // when
	Odd     bool   // something may be wrong with it
}
