// Package placeholder reads texts with placeholders, such as "--width={data.width}", which
// stand for what is known of a job or of the child that works it.
//
// {{ and }} are the braces themselves. What a placeholder stands for is put in as it is, and
// not looked through again.
package placeholder

import (
	"fmt"
	"slices"
	"strings"
)

// What placeholders can name. Data alone may be followed by a path: {data.size.width}.
const (
	Pool    = "pool" // of a child:
	Slot    = "slot"
	Dir     = "dir"
	JID     = "jid" // of a job:
	Klass   = "klass"
	Queue   = "queue"
	Attempt = "attempt"
	Data    = "data"
)

// Names are all that a placeholder can name.
var Names = []string{Pool, Slot, Dir, JID, Klass, Queue, Attempt, Data}

// Name is one placeholder.
type Name struct {
	What string   // one of Names
	Path []string // of Data: the members to go through; none for all of it
}

// String is the placeholder as it is written.
func (n Name) String() string {
	return "{" + strings.Join(append([]string{n.What}, n.Path...), ".") + "}"
}

// OfJob reports whether it stands for something of a job, which others wrote.
func (n Name) OfJob() bool { return n.What != Pool && n.What != Slot && n.What != Dir }

// Chosen reports whether it stands for a text that the producer of a job chose.
func (n Name) Chosen() bool { return n.OfJob() && n.What != Attempt }

// UnknownError says that there is no such placeholder.
type UnknownError struct{ What string }

func (e UnknownError) Error() string {
	return fmt.Sprintf("there is no placeholder {%s}; there are %s", e.What, strings.Join(Names, ", "))
}

// Text is a text with placeholders, taken apart.
type Text struct {
	plain []string // what stands before each name, and at last what stands behind them
	names []Name
}

// Parse takes text apart. The error says what is wrong with it, an UnknownError if that is
// a name.
func Parse(text string) (Text, error) {
	var t Text
	var plain strings.Builder
	for text != "" {
		at := strings.IndexAny(text, "{}")
		if at < 0 {
			plain.WriteString(text)
			break
		}
		plain.WriteString(text[:at])
		brace := text[at]
		text = text[at+1:]
		if text != "" && text[0] == brace { // doubled
			plain.WriteByte(brace)
			text = text[1:]
			continue
		}
		inner, rest, closed := strings.Cut(text, "}")
		if brace == '}' || !closed {
			return Text{}, fmt.Errorf(`a single %q is half of a placeholder; write %q for the brace itself`, brace, strings.Repeat(string(brace), 2))
		}
		name, err := parseName(inner)
		if err != nil {
			return Text{}, err
		}
		t.plain, t.names = append(t.plain, plain.String()), append(t.names, name)
		plain.Reset()
		text = rest
	}
	t.plain = append(t.plain, plain.String())
	return t, nil
}

func parseName(inner string) (Name, error) {
	parts := strings.Split(inner, ".")
	n := Name{What: parts[0], Path: parts[1:]}
	switch {
	case !slices.Contains(Names, n.What):
		return n, UnknownError{inner}
	case n.What != Data && len(n.Path) > 0:
		return n, fmt.Errorf("%v has nothing in it: only {data} can be followed by a path", n)
	case slices.Contains(n.Path, ""), strings.Contains(inner, "{"):
		return n, fmt.Errorf("%v is no path through the data, such as {data.size.width}", n)
	}
	return n, nil
}

// Names returns the placeholders of t, in their order.
func (t Text) Names() []Name { return t.names }

// Begins returns the placeholder with which t begins, if it does.
func (t Text) Begins() (Name, bool) {
	if len(t.names) == 0 || t.plain[0] != "" {
		return Name{}, false
	}
	return t.names[0], true
}

// Fill returns t with what value gives for each of its placeholders, or the first error
// that it gives.
func (t Text) Fill(value func(Name) (string, error)) (string, error) {
	var out strings.Builder
	for i, name := range t.names {
		out.WriteString(t.plain[i])
		text, err := value(name)
		if err != nil {
			return "", err
		}
		out.WriteString(text)
	}
	out.WriteString(t.plain[len(t.plain)-1])
	return out.String(), nil
}
