// Package ops answers what people ask of the jobs, queues, workers, limits and settings in Redis and of a supervisor
// that runs, and does what they want done to them: for the command line, and whatever else speaks with people. It
// owns no state, and each function is one question or one deed; errors are sentences for whoever asked. It must not
// know flags, terminals or tables, nor how what it returns is shown.
package ops

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"oarlock/internal/config"
	"oarlock/queue"
)

// Wrong is the error of an argument that nobody can mean.
type Wrong struct {
	Argument string // its name, such as retries; "" if Why says all
	Why      string
}

func (w *Wrong) Error() string {
	if w.Argument == "" {
		return w.Why
	}
	return w.Argument + " " + w.Why
}

func wrong(format string, args ...any) error { return &Wrong{Why: fmt.Sprintf(format, args...)} }

// Missing is the error of a name of something that is not there, or is not as it would have to be.
type Missing struct {
	Text  string
	There bool // it is there, and not as it would have to be
}

func (m *Missing) Error() string { return m.Text }

// missing is the error of what is named by the first of args. A name that is empty is seen as such.
func missing(format string, args ...any) error {
	if len(args) > 0 && args[0] == "" {
		args[0] = `""`
	}
	return &Missing{Text: fmt.Sprintf(format, args...)}
}

// otherwise is missing of what is there, but not as it would have to be.
func otherwise(format string, args ...any) error {
	return &Missing{Text: fmt.Sprintf(format, args...), There: true}
}

// Doubt is the error of something odd that was not done.
type Doubt struct{ Text string } // a sentence, with its full stop

func (d *Doubt) Error() string { return d.Text }

// Sure is told of something odd, in a sentence, before it is done: whatever error it returns keeps
// that from being done.
type Sure func(sentence string) error

// Always is sure.
func Always(string) error { return nil }

// Never is in doubt: it returns a *Doubt.
func Never(sentence string) error { return &Doubt{sentence} }

func (s Sure) of(format string, args ...any) error { return s(fmt.Sprintf(format, args...)) }

// NewName refuses a name of what that nobody can mean to make, and is in doubt about one that is hard
// to name again.
func NewName(what, name string, sure Sure) error {
	switch {
	case name == "":
		return wrong("the %s is empty; give it a name", what)
	case len(name) > queue.MaxName:
		return wrong("the %s must have at most %d bytes: it has %d", what, queue.MaxName, len(name))
	case strings.ContainsFunc(name, unicode.IsControl):
		return sure.of("The %s %q has a line break or another control character in it.", what, name)
	case strings.TrimSpace(name) != name:
		return sure.of("The %s %q begins or ends with a blank.", what, name)
	}
	return nil
}

// newNames is NewName for several.
func newNames(what string, names []string, sure Sure) error {
	for _, name := range names {
		if err := NewName(what, name, sure); err != nil {
			return err
		}
	}
	return nil
}

// Nearest suggests the known name that is most like name, to be put behind a sentence; "" if none is.
func Nearest(name string, known []string) string {
	if near := config.Nearest(name, known); near != "" {
		return fmt.Sprintf("; did you mean %s?", near)
	}
	return ""
}

// scriptMark is what a refusal of Redis begins with: where in a script it was raised, and by
// which command.
var scriptMark = regexp.MustCompile(`^(?:user_script:\d+: )?(?:[A-Z][A-Za-z]*\(\): )?`)

// Worded is err in the words of whom it is told who had named jid: what Redis refuses is said without the
// command, and that there is no such job is *Missing.
func Worded(jid string, err error) error {
	var refusal *queue.ScriptError
	if !errors.As(err, &refusal) {
		return err
	}
	text := scriptMark.ReplaceAllString(refusal.Message, "")
	if errors.Is(err, queue.ErrNoJob) {
		if strings.Contains(text, "recurring") {
			return missing("there is no recurring job %s", jid)
		}
		return missing("there is no job %s", jid)
	}
	if err == error(refusal) {
		return errors.New(text)
	}
	return err
}

// Page is a part of a long list.
type Page struct {
	Offset int // how many to leave out first
	Limit  int // how many there are at most
}

// window gathers a page.
type window[T any] struct {
	Page
	items []T
	more  bool // there is something behind it
}

func (w *window[T]) add(item T) {
	switch {
	case w.Offset > 0:
		w.Offset--
	case len(w.items) < w.Limit:
		w.items = append(w.items, item)
	default:
		w.more = true
	}
}

// list makes nil an empty list: [] in JSON.
func list[T any](items []T) []T {
	if items == nil {
		return []T{}
	}
	return items
}

// sorted are names, each once.
func sorted(names []string) []string { return slices.Compact(slices.Sorted(slices.Values(names))) }
