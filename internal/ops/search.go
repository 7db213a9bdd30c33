package ops

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"oarlock/queue"
)

// Hit is something that has exactly the name that was searched for.
type Hit struct {
	Kind  string `json:"kind"` // job, recurring, queue, group, tag, worker, throttle or key
	Name  string `json:"name"`
	Queue string `json:"queue,omitempty"` // that of a key
}

// Results are what a search has found: things of that name, or jobs.
type Results struct {
	Query string  `json:"query"`
	Where *Filter `json:"where,omitempty"` // what the terms of the query mean; nil of plain text
	Hits  []Hit   `json:"hits"`            // of plain text, and of a key: the queues in which a job of it waits or runs
	Jobs  *Found  `json:"jobs,omitempty"`  // of terms
}

// Terms are those that a query may have, each followed by a colon and its value.
var Terms = []string{"group", "queue", "state", "tag", "worker", "klass", "key", "message", "text", "since", "before"}

// Search looks for what a query says. Plain text is a name: of a job, recurring job, queue, group, tag, worker, throttle or key. Terms
// as in `group:exit-1 klass:Resize text:"cat.jpg" since:2h` choose jobs, as a Filter does; see Find for how far it looks. A
// name that begins like a term is found in quotes.
func Search(ctx context.Context, q *queue.Client, query string, w Window) (Results, error) {
	r := Results{Query: query, Hits: []Hit{}}
	name, f, err := ParseQuery(query, q.Now())
	if err != nil || name == "" && f == (Filter{}) {
		return r, err
	}
	if name != "" {
		r.Hits, err = named(ctx, q, name)
		return r, err
	}
	if r.Where = &f; f == (Filter{Key: f.Key}) {
		if r.Hits, err = keyed(ctx, q, f.Key); err != nil {
			return r, err
		}
	}
	found, err := Find(ctx, q, f, w)
	r.Jobs = &found
	return r, err
}

// named are the things of a name.
func named(ctx context.Context, q *queue.Client, name string) ([]Hit, error) {
	n, err := q.Named(ctx, name)
	hits := []Hit{}
	for _, of := range []struct {
		is   bool
		kind string
	}{{n.Job, "job"}, {n.Recurring, "recurring"}, {n.Queue, "queue"}, {n.Group, "group"}, {n.Tag, "tag"}, {n.Worker, "worker"}, {n.Throttle, "throttle"}} {
		if of.is {
			hits = append(hits, Hit{Kind: of.kind, Name: name})
		}
	}
	if err != nil {
		return hits, err
	}
	keys, err := keyed(ctx, q, name)
	return append(hits, keys...), err
}

// keyed are the queues in which a job of a key waits or runs.
func keyed(ctx context.Context, q *queue.Client, key string) ([]Hit, error) {
	hits := []Hit{}
	queues, err := q.QueuesWithKey(ctx, key)
	for _, name := range queues {
		hits = append(hits, Hit{"key", key, name})
	}
	return hits, err
}

// ParseQuery reads a query, at the time now: plain text is a name, anything else a filter. Both are empty of an empty one.
// What it cannot read is *Wrong.
func ParseQuery(query string, now float64) (name string, f Filter, err error) {
	query = strings.TrimSpace(query)
	if text, is := unquoted(query); is {
		return text, f, nil
	}
	if term, _, is := strings.Cut(query, ":"); !is || !isTerm(term) {
		return query, f, nil
	}
	for rest := query; rest != ""; rest = strings.TrimLeft(rest, " \t") {
		term, value, is := strings.Cut(rest, ":")
		if !is || !isTerm(term) {
			word, _, _ := strings.Cut(rest, " ")
			return "", f, wrong("%q is no term: behind one come others, such as %s:; a text with a blank is put in quotes", word, strings.Join(Terms, ":, "))
		}
		value, rest, err = termValue(value)
		if err == nil {
			err = f.set(term, value, now)
		}
		if err != nil {
			return "", f, &Wrong{term + ":", err.Error()}
		}
	}
	return "", f, nil
}

// Term is a term of a query, with its value in quotes where that needs them.
func Term(name, value string) string {
	if value == "" || strings.ContainsAny(value, " \t\n") || strings.HasPrefix(value, `"`) {
		value = `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(value) + `"`
	}
	return name + ":" + value
}

// NotTerm says of a query that found nothing as a name that the word and the colon which it begins with are no term; "" of any other.
func NotTerm(query string) string {
	word, _, is := strings.Cut(strings.TrimSpace(query), ":")
	if !is || word == "" || strings.ContainsAny(word, " \t\"") || isTerm(word) {
		return ""
	}
	return fmt.Sprintf("%s: is no term; there are %s:", word, strings.Join(Terms, ":, "))
}

func isTerm(word string) bool {
	for _, term := range Terms {
		if word == term {
			return true
		}
	}
	return false
}

// unquoted is what stands in quotes, if all does.
func unquoted(text string) (string, bool) {
	if len(text) < 2 || text[0] != '"' {
		return "", false
	}
	value, rest, err := termValue(text)
	return value, err == nil && rest == ""
}

// termValue reads a value, up to a blank or in quotes, in which \ makes the next character stand for itself.
func termValue(text string) (value, rest string, err error) {
	if !strings.HasPrefix(text, `"`) {
		end := strings.IndexAny(text, " \t")
		if end < 0 {
			end = len(text)
		}
		if end == 0 {
			return "", text, fmt.Errorf("has no value")
		}
		return text[:end], text[end:], nil
	}
	var b strings.Builder
	for i := 1; i < len(text); i++ {
		switch {
		case text[i] == '\\' && i+1 < len(text):
			i++
			b.WriteByte(text[i])
		case text[i] == '"':
			return b.String(), text[i+1:], nil
		default:
			b.WriteByte(text[i])
		}
	}
	return "", "", fmt.Errorf("has a quote that does not end")
}

// set takes a term into a filter.
func (f *Filter) set(term, value string, now float64) error {
	texts := map[string]*string{"group": &f.Group, "queue": &f.Queue, "state": &f.State, "tag": &f.Tag, "worker": &f.Worker,
		"klass": &f.Klass, "key": &f.Key, "message": &f.Message, "text": &f.Text}
	if into := texts[term]; into != nil {
		var unknown *Wrong
		if term == "state" && errors.As(knownState(value, JobStates), &unknown) {
			return errors.New(unknown.Why)
		}
		if *into != "" {
			return fmt.Errorf("is there twice")
		}
		*into = value
		return nil
	}
	at, err := moment(value, now)
	if err != nil {
		return err
	}
	if term == "since" {
		f.Since = &at
	} else {
		f.Before = &at
	}
	return nil
}

// moment reads how long ago something was, such as 90m, or when: a date, or a date and time of UTC.
func moment(value string, now float64) (float64, error) {
	if ago, err := time.ParseDuration(value); err == nil && ago >= 0 {
		return now - ago.Seconds(), nil
	}
	for _, form := range []string{time.RFC3339, "2006-01-02T15:04", time.DateOnly} {
		if at, err := time.Parse(form, value); err == nil {
			return float64(at.UnixMicro()) / 1e6, nil
		}
	}
	return 0, fmt.Errorf("is neither how long ago, such as 90m, nor a time such as 2026-01-31 or 2026-01-31T15:04:05Z")
}
