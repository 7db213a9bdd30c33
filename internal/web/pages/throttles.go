package pages

// Throttle is a row of throttles.
type Throttle struct {
	ID      string
	Maximum int
	Limit   string // in words, in the list
	TTL     float64
	Held    int // places that are taken
	Waits   int
	Damage  string
	Deeds   []Deed
}

// Throttles is the list of them.
type Throttles struct {
	Rows              []Throttle
	Says, First, Next string
}

// ThrottlePage is one, with who holds it and who waits.
type ThrottlePage struct {
	Throttle
	Ruled            string // what the rules say, where somebody set another limit by hand
	Rate             string // how fast its places may be taken, or how it stands with the command that says who may, in a sentence
	Oldest           string // for how long nothing started of the waitlist that has waited longest
	By               string
	Values           []Value
	Waitlists        []Waitlist
	Holders, Waiters Jobs
	Idle             []string
}

// Value is how a value of a throttle stands.
type Value struct {
	Name, Share string
	Cap         int // places that are its own; 0 for any number
	Part        int // of a hundred that are taken, for the bar
	Used, Waits int
}

// Waitlist is jobs of a queue that need the same places, and wait for them together.
type Waitlist struct {
	Queue, Party, For string
	Places, Jobs      int
}
