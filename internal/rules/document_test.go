package rules

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"oarlock/internal/must"
)

// file is the rules of one host: a throttle of each name with that limit.
func file(owner string, revision int, limits map[string]int) File {
	s := Set{Throttles: map[string]Throttle{}}
	for name, limit := range limits {
		r := DefaultThrottle()
		r.Limit = limit
		s.Throttles[name] = r
	}
	return File{owner, revision, s}
}

// limitsOf is what a document says, and whose it is.
func limitsOf(t *testing.T, d Document) map[string][2]any {
	t.Helper()
	read, err := ParseDocument(d.Text())
	if err != nil || !read.Equal(d) {
		t.Fatalf("%s is read otherwise: %v", d.Text(), err)
	}
	s := must.Get(read.Set())(t)
	all := map[string][2]any{}
	for name, r := range s.Throttles {
		all[name] = [2]any{r.Limit, read.Entries[kindThrottle+name].Owner}
	}
	return all
}

func TestTwoFilesAgree(t *testing.T) {
	type limits = map[string]int
	type have = map[string][2]any
	var d Document
	step := func(what string, f File, force bool, want have, conflicts ...string) {
		t.Helper()
		before := d.Text()
		next, found := d.Agree(f, force)
		if d.Text() != before {
			t.Fatalf("%s: the document itself was changed", what)
		}
		var names []string
		for _, c := range found {
			names = append(names, c.Entry)
		}
		if d = next; !reflect.DeepEqual(limitsOf(t, d), want) || !reflect.DeepEqual(names, conflicts) {
			t.Errorf("%s: %v, conflicts %q; want %v, %q", what, limitsOf(t, d), names, want, conflicts)
		}
	}
	step("the first", file("a", 0, limits{"x": 1, "y": 1}), false, have{"x": {1, "a"}, "y": {1, "a"}})
	step("another, of which one is alike", file("b", 0, limits{"x": 1, "z": 1}), false, have{"x": {1, "a"}, "y": {1, "a"}, "z": {1, "b"}})
	step("an edit of the owner", file("a", 0, limits{"x": 2}), false, have{"x": {2, "a"}, "z": {1, "b"}})
	step("the other differs now", file("b", 0, limits{"x": 1, "z": 1}), false, have{"x": {2, "a"}, "z": {1, "b"}}, "throttles.x")
	step("with a higher revision", file("b", 1, limits{"x": 3, "z": 1}), false, have{"x": {3, "b"}, "z": {1, "b"}})
	step("the old owner", file("a", 0, limits{"x": 2}), false, have{"x": {3, "b"}, "z": {1, "b"}}, "throttles.x")
	step("by force", file("a", 0, limits{"x": 2}), true, have{"x": {2, "a"}, "z": {1, "b"}})
	step("a file without rules", file("a", 0, nil), false, have{"z": {1, "b"}})
}

// Who merely looks takes nothing away and replaces nothing, so two files never take turns.
func TestWhoLooksAddsWhatNobodyHas(t *testing.T) {
	type limits = map[string]int
	a, b := file("a", 0, limits{"x": 1, "y": 1}), file("b", 0, limits{"x": 2})
	d, _ := Document{}.Agree(a, false)
	seen, conflicts := d.Missing(b)
	if !seen.Equal(d) || len(conflicts) != 1 || conflicts[0] != (Conflict{"throttles.x", 0, "a", 0}) {
		t.Errorf("%s, conflicts %v", seen.Text(), conflicts)
	}
	d, _ = d.Agree(file("a", 0, limits{"y": 1}), false) // a has it no more
	if again, _ := d.Missing(a); !again.Equal(d) {
		t.Errorf("an older one of the same owner brought back what that took away: %s", again.Text())
	}
	if d, _ = d.Missing(b); d.Entries["throttles.x"].Owner != "b" {
		t.Errorf("what another file has is not brought back: %s", d.Text())
	}
	d, unknown := d.Without("throttles.x", "throttles.none")
	if len(unknown) != 1 || unknown[0] != "throttles.none" {
		t.Errorf("unknown are %q", unknown)
	}
	if again, _ := d.Missing(b); !again.Equal(d) {
		t.Errorf("what a person took away came back by itself: %s", again.Text())
	}
	if back, _ := d.Agree(b, false); back.Entries["throttles.x"].Owner != "b" {
		t.Errorf("what a person took away does not come back with a start: %s", back.Text())
	}
	if none, _ := d.Without(); len(none.Entries) != 0 {
		t.Errorf("all were taken away, and left is %s", none.Text())
	}
}

// What a newer version wrote stays as it is.
func TestUnknownEntriesStay(t *testing.T) {
	d := must.Get(ParseDocument(`{"entries":{"quotas.a":{"owner":"b","revision":1,"rule":{"n":12345678901234567890}}}}`))(t)
	d, conflicts := d.Agree(file("a", 9, map[string]int{"x": 1}), true)
	if got := string(d.Entries["quotas.a"].Rule); got != `{"n":12345678901234567890}` || len(conflicts) != 0 {
		t.Errorf("it is %s; %v", got, conflicts)
	}
	if s, err := d.Set(); err != nil || len(s.Throttles) != 1 {
		t.Errorf("%v, %v", s, err)
	}
	if _, err := ParseDocument("{"); err == nil {
		t.Error("what is no document is read as one")
	}
}

// What nobody can have meant is named, and how to be rid of it.
func TestAnEntryThatCannotBeRead(t *testing.T) {
	for name, text := range map[string]string{
		"throttles.erp": `{"limit":"many"}`, "windows.night": `[]`, "queues.mail": `"x"`, "klass.K": `{"weight":{}}`, "park.answers": `7`,
	} {
		d := Document{Entries: map[string]Entry{name: {Owner: "b", Rule: json.RawMessage(text)}}}
		_, err := d.Set()
		if err == nil || !strings.Contains(err.Error(), "rule "+name+" in Redis") || !strings.Contains(err.Error(), "oarlock rules rm "+name) {
			t.Errorf("%s %s: %v", name, text, err)
		}
		if without, _ := d.Without(name); len(without.Entries) != 0 {
			t.Errorf("%s is still there", name)
		}
	}
}

func TestChanges(t *testing.T) {
	type limits = map[string]int
	before, _ := Document{}.Agree(file("a", 0, limits{"gone": 1, "same": 1, "changed": 1, "taken": 1}), false)
	after, _ := before.Agree(file("a", 0, limits{"same": 1, "changed": 2, "new": 1, "taken": 1}), false)
	entry := after.Entries["throttles.taken"]
	entry.Owner = "b"
	after.Entries["throttles.taken"] = entry
	words := map[string]string{}
	for _, c := range before.Changes(after) {
		words[c.Entry] = c.Word
	}
	if !reflect.DeepEqual(words, map[string]string{"throttles.gone": "removed", "throttles.changed": "changed", "throttles.new": "added", "throttles.taken": "taken over"}) {
		t.Errorf("%v", words)
	}
}

// What is removed, and named by rules that stay, is told with these.
func TestWhatIsRemovedAndNamedStill(t *testing.T) {
	set := Set{
		Throttles: map[string]Throttle{"erp": {Limit: 1}, "api": {Limit: 1}}, Windows: map[string]Window{"night": {Open: []string{"22:00-06:00"}}},
		Queues: map[string]Queue{"mail": {Throttles: []string{"erp"}, Windows: []string{"night"}}}, Klass: map[string]Klass{"Pay": {Queues: []string{"mail"}, Throttles: []string{"erp"}}},
	}
	doc, _ := Document{}.Agree(File{Owner: "a", Set: set}, false)
	after, _ := doc.Without("throttles.erp", "throttles.api", "windows.night")
	told := map[string]string{}
	for _, change := range doc.Changes(after) {
		told[change.Entry] = strings.Join(change.NamedBy, " ")
	}
	if len(told) != 3 || told["throttles.erp"] != "klass.Pay queues.mail" || told["windows.night"] != "queues.mail" || told["throttles.api"] != "" {
		t.Errorf("told is %v", told)
	}
}
