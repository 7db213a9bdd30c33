package rules

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Document is all rules of a key space, and whose they are. It is one value in Redis.
type Document struct {
	Entries map[string]Entry `json:"entries"` // by table: "throttles.erp"
	// Removed are the entries that somebody took away, and who: the owner, or "" for a person. Nobody brings them back by
	// merely looking; see Missing.
	Removed map[string]string `json:"removed,omitempty"`
}

// Entry is one table of the rules. What this version does not know stays as it is.
type Entry struct {
	Owner    string          `json:"owner"`    // who wrote it: the supervisor and the path of its file
	Revision int             `json:"revision"` // of that file, by rules.revision
	Rule     json.RawMessage `json:"rule"`
}

// File is what one file has to say.
type File struct {
	Owner    string
	Revision int
	Set      Set
}

// Conflict is an entry that a file and another owner's want otherwise.
type Conflict struct {
	Entry    string `json:"entry"`
	Ours     int    `json:"revision"` // of the file that was asked
	Owner    string `json:"owner"`    // of what is in Redis
	Revision int    `json:"in_redis"`
}

func (c Conflict) String() string {
	return fmt.Sprintf("%s: this rule (revision %d) differs from that in Redis (revision %d, of %s): raise rules.revision, or run `oarlock rules apply`",
		c.Entry, c.Ours, c.Revision, c.Owner)
}

// ParseDocument reads a document; the text "" is one without entries.
func ParseDocument(text string) (Document, error) {
	d := Document{Entries: map[string]Entry{}}
	if text == "" {
		return d, nil
	}
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		return Document{}, fmt.Errorf("the rules in Redis cannot be read: %w; `oarlock rules apply --force` writes them anew", err)
	}
	if d.Entries == nil {
		d.Entries = map[string]Entry{}
	}
	return d, nil
}

// Text is the document for Redis.
func (d Document) Text() string {
	text, err := json.Marshal(d)
	if err != nil {
		panic(err) // every Rule came from JSON
	}
	return string(text)
}

// Set is what the document says, as far as this version knows it.
func (d Document) Set() (Set, error) {
	rules := make(map[string]json.RawMessage, len(d.Entries))
	for name, entry := range d.Entries {
		rules[name] = entry.Rule
	}
	return setOf(rules)
}

// clone is a document that can be changed.
func (d Document) clone() Document {
	return Document{Entries: maps.Clone(d.Entries), Removed: maps.Clone(d.Removed)}
}

// Agree returns the document as the file wants it: what nobody has is added, what the file owns becomes as it says, or
// goes, and so does what another owner has by a lower revision, or, with force, whatever another owner has. What is
// left are conflicts, in the order of their names. The document itself is not changed.
func (d Document) Agree(f File, force bool) (Document, []Conflict) {
	out, wanted, conflicts := d.clone(), f.Set.entries(), []Conflict{}
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		there, found := d.Entries[name]
		switch {
		case found && same(there.Rule, wanted[name]):
			if there.Owner == f.Owner && there.Revision != f.Revision {
				out.put(name, f, wanted[name])
			}
		case !found || there.Owner == f.Owner || force || f.Revision > there.Revision:
			out.put(name, f, wanted[name])
		default:
			conflicts = append(conflicts, Conflict{name, f.Revision, there.Owner, there.Revision})
		}
	}
	for name, there := range d.Entries {
		if _, has := wanted[name]; !has && there.Owner == f.Owner {
			out.remove(name, f.Owner)
		}
	}
	return out, conflicts
}

// Missing returns the document with those entries of the file added that nobody has, and that neither a person nor its
// own owner took away: what a supervisor that runs does when it hears of other rules. It takes nothing away and
// replaces nothing, so files that differ do not take turns. conflicts are what differs.
func (d Document) Missing(f File) (Document, []Conflict) {
	out, wanted := d.clone(), f.Set.entries()
	for name, rule := range wanted {
		by, removed := d.Removed[name]
		if _, found := d.Entries[name]; !found && !(removed && (by == "" || by == f.Owner)) {
			out.put(name, f, rule)
		}
	}
	return out, out.conflicts(f, wanted)
}

// conflicts are the entries that the file has otherwise.
func (d Document) conflicts(f File, wanted map[string]json.RawMessage) []Conflict {
	conflicts := []Conflict{}
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		if there, found := d.Entries[name]; found && !same(there.Rule, wanted[name]) {
			conflicts = append(conflicts, Conflict{name, f.Revision, there.Owner, there.Revision})
		}
	}
	return conflicts
}

// Lacks are the entries of s that the document does not have, or has otherwise, in the order of their names.
func (d Document) Lacks(s Set) (names []string) {
	wanted := s.entries()
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		if there, found := d.Entries[name]; !found || !same(there.Rule, wanted[name]) {
			names = append(names, name)
		}
	}
	return names
}

// Without returns the document without the named entries, all if there is no name, as a person took them away; and those of
// the names that are no entries.
func (d Document) Without(names ...string) (Document, []string) {
	out, unknown := d.clone(), []string{}
	if len(names) == 0 {
		names = slices.Collect(maps.Keys(d.Entries))
	}
	for _, name := range names {
		if _, found := d.Entries[name]; !found {
			unknown = append(unknown, name)
			continue
		}
		out.remove(name, "")
	}
	return out, unknown
}

func (d *Document) put(name string, f File, rule json.RawMessage) {
	if d.Entries == nil {
		d.Entries = map[string]Entry{}
	}
	d.Entries[name] = Entry{f.Owner, f.Revision, rule}
	delete(d.Removed, name)
}

func (d *Document) remove(name, by string) {
	delete(d.Entries, name)
	if d.Removed == nil {
		d.Removed = map[string]string{}
	}
	d.Removed[name] = by
}

// Equal reports whether both say the same of everything.
func (d Document) Equal(other Document) bool {
	return maps.EqualFunc(d.Entries, other.Entries, func(a, b Entry) bool {
		return a.Owner == b.Owner && a.Revision == b.Revision && same(a.Rule, b.Rule)
	}) && maps.Equal(d.Removed, other.Removed)
}

// Change is what becomes of one entry.
type Change struct {
	Entry string          `json:"entry"`
	Word  string          `json:"word"` // added, changed, removed, or taken over: by another owner or revision, and otherwise the same
	Was   json.RawMessage `json:"was,omitempty"`
	Is    json.RawMessage `json:"is,omitempty"`

	NamedBy []string `json:"named_by,omitempty"` // of a throttle or window that is removed: the rules that name it still, whose jobs it limits no more
}

// Changes are what differs in after, in the order of the names.
func (d Document) Changes(after Document) []Change {
	changes := []Change{}
	all := maps.Clone(d.Entries)
	if all == nil {
		all = map[string]Entry{}
	}
	maps.Copy(all, after.Entries)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		was, had := d.Entries[name]
		is, has := after.Entries[name]
		change := Change{Entry: name, Was: was.Rule, Is: is.Rule}
		switch {
		case !had:
			change.Word = "added"
		case !has:
			change.Word, change.NamedBy = "removed", after.naming(name)
		case !same(was.Rule, is.Rule):
			change.Word = "changed"
		case was.Owner != is.Owner || was.Revision != is.Revision:
			change.Word = "taken over"
		default:
			continue
		}
		changes = append(changes, change)
	}
	return changes
}

// naming are the entries that name the throttle or window of an entry.
func (d Document) naming(entry string) (by []string) {
	set, err := d.Set()
	if err != nil {
		return nil // whoever applies it is told
	}
	look := func(throttles, windows []string, who string) {
		throttle, isThrottle := strings.CutPrefix(entry, kindThrottle)
		window, isWindow := strings.CutPrefix(entry, kindWindow)
		if isThrottle && slices.Contains(throttles, throttle) || isWindow && slices.Contains(windows, window) {
			by = append(by, who)
		}
	}
	for name, q := range set.Queues {
		look(q.Throttles, q.Windows, kindQueue+name)
	}
	for name, k := range set.Klass {
		look(k.Throttles, k.Windows, kindKlass+name)
	}
	slices.Sort(by)
	return by
}

// same compares two rules as values: the order of their members, and of blanks, says nothing.
func same(a, b json.RawMessage) bool {
	return bytes.Equal(canonical(a), canonical(b))
}

func canonical(text json.RawMessage) []byte {
	var value any
	if json.Unmarshal(text, &value) != nil {
		return text
	}
	out, err := json.Marshal(value)
	if err != nil {
		return text
	}
	return out
}
