package pages

// List is a list that any program can push to.
type List struct {
	Name, Damage                      string
	Waiting, Progress, Failed, Broken int
}

// Lists are all.
type Lists struct {
	Rows              []List
	Says, First, Next string
}

// ListPage is one, with entries of a part of it.
type ListPage struct {
	List
	Part              string
	Parts             []State
	Rows              []Entry
	Empty             string
	Says, First, Next string
	Deeds             []Deed
	Print             string
}

// Entry is an entry of a list.
type Entry struct {
	Text, JID string
	When      string
	Why       string
}
