package pages

import "oarlock/supervisor"

// Pools is the list of those of this supervisor.
type Pools struct {
	Rows  []PoolRow
	Empty string
	Print string
}

// PoolRow is a pool.
type PoolRow struct {
	supervisor.PoolSnapshot
	State   string // flows, rolling, quiet, draining, away
	Trouble string // what keeps it from working, in a sentence
	Busy    int
	Working []int // the first slots with a job, a few
	Idle    int
}

// PoolPage is one pool.
type PoolPage struct {
	PoolRow
	Figures  []Figure
	Slots    []SlotRow
	Deeds    []Deed
	Scale    *Scale
	Settings []Fact
	Write    bool
	Sum      []Fact // counters
	Sign     *Sign  // of the roll that was given up
}

// Scale is the form for the number of children.
type Scale struct {
	Action string
	Now    int
	Says   string
}

// Sign is the bad sign for which a generation was given up.
type Sign struct {
	Generation int
	Ago        string
	Message    string
}

// SlotRow is a place of a pool, with what stands in it.
type SlotRow struct {
	supervisor.SlotSnapshot
	Href  string
	Runs  []SlotRun
	Works string // what it works on, in one line
	Last  string // the last line that it printed
	New   bool   // it has the new generation of a roll
	Deeds []Deed
}

// SlotRun is a job at work.
type SlotRun struct {
	supervisor.RunSnapshot
	Done string // of 100; "" if it told nothing
}

// SlotPage is one slot.
type SlotPage struct {
	Pool string
	SlotRow
	Facts []Fact
	Lines []LogLine
}

// HostPage is a supervisor of another process or host, as it says of itself; it is changed on its own page.
type HostPage struct {
	Host
	Name  string // of the supervisor
	PID   int
	Facts []Fact
	Pools []HostPool
	Says  string // why there is no more to be seen; "" if there is
}

// HostPool is one of its pools.
type HostPool struct {
	Name    string
	State   string
	Trouble string
	Slots   []SlotRow
}

// TailPage is what a child of another supervisor printed last.
type TailPage struct {
	Host, HostHref string
	Pool           string
	SlotRow
	Lines []LogLine
	Print string
	Wrong string // why there are none
}
