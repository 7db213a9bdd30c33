// Package putline reads a job to put as JSON: an object that says what is to be done, as a line of put --jobs, the body of a
// request and the entry of a list have it. It owns the names of its fields and the sentences about
// what is wrong with them. It must not know who asks, nor put anything.
package putline

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"time"

	"oarlock/internal/config"
	"oarlock/queue"
)

// line is a job to put, as it is written.
type line struct {
	Queue    string          `json:"queue"`
	JID      string          `json:"jid"`
	Klass    string          `json:"klass"`
	Data     json.RawMessage `json:"data"`
	Priority *float64        `json:"priority"`
	Retries  *int            `json:"retries"`
	Delay    float64         `json:"delay"`   // seconds
	At       *moment         `json:"at"`      // in place of delay
	Timeout  float64         `json:"timeout"` // seconds
	Tags     []string        `json:"tags"`
	Depends  []string        `json:"depends"`
	IfExists queue.IfExists  `json:"if_exists"` // replace, final, never

	Key          string      `json:"key"`
	KeyFrom      string      `json:"key_from"` // where the data has it
	Merge        queue.Merge `json:"merge"`    // none, all, last, first, set; with key only
	Score        *float64    `json:"score"`    // likewise
	Throttles    []string    `json:"throttles"`
	Weight       *int        `json:"weight"`
	Bypass       bool        `json:"bypass"`
	Windows      []string    `json:"windows"` // names of the rules, or spans
	Zone         string      `json:"zone"`    // of the spans
	Correlation  string      `json:"correlation"`
	TraceParent  string      `json:"traceparent"`
	TraceState   string      `json:"tracestate"` // with traceparent only
	WaitReplicas int         `json:"wait_replicas"`
}

// UnknownField is the error of an object with a field that no job has.
type UnknownField struct {
	Name string
	Near string // a sentence that names one that is meant, perhaps; begins with a blank or a sign, or is ""
}

func (u *UnknownField) Error() string { return fmt.Sprintf("unknown field %q%s", u.Name, u.Near) }

// Read reads a job; what it does not say is as in like. Its data is kept byte for byte, {} if it has none. The error is
// an *UnknownField, or says where the text stops being JSON, or what is wrong with a field.
func Read(like queue.Put, text []byte) (queue.Put, error) {
	job := like
	var l line
	if bytes.Equal(bytes.TrimSpace(text), []byte("null")) { // which JSON takes for an object that says nothing
		return job, mistyped(&json.UnmarshalTypeError{Value: "null"})
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&l); err != nil {
		return job, sentence(err)
	}
	if _, err := decoder.Token(); err != io.EOF {
		return job, errors.New("there is more behind the object that is the job")
	}
	if err := l.check(); err != nil {
		return job, err
	}
	job.JID, job.Data = l.JID, l.Data
	if job.Data == nil {
		job.Data = []byte("{}")
	}
	say(&job.Queue, l.Queue, l.Queue != "")
	say(&job.Klass, l.Klass, l.Klass != "")
	say(&job.Priority, l.Priority, l.Priority != nil)
	say(&job.Retries, l.Retries, l.Retries != nil)
	say(&job.At, time.Time{}, l.Delay > 0)
	say(&job.Delay, time.Duration(l.Delay*float64(time.Second)), l.Delay > 0)
	if err := l.At.plan(&job); err != nil {
		return job, err
	}
	say(&job.Timeout, time.Duration(l.Timeout*float64(time.Second)), l.Timeout > 0)
	say(&job.Tags, l.Tags, l.Tags != nil)
	say(&job.Depends, l.Depends, l.Depends != nil)
	say(&job.IfExists, l.IfExists, l.IfExists != "")
	say(&job.Key, l.Key, l.Key != "")
	say(&job.KeyFrom, l.KeyFrom, l.KeyFrom != "")
	say(&job.Merge, l.Merge, l.Merge != "")
	say(&job.Score, l.Score, l.Score != nil)
	say(&job.Wants, l.wants(), l.Weight != nil || l.Bypass || l.Windows != nil || l.Zone != "")
	say(&job.Correlation, l.Correlation, l.Correlation != "")
	say(&job.Trace, l.trace(), l.trace() != queue.Trace{})
	say(&job.Throttles, l.Throttles, l.Throttles != nil)
	job.WaitReplicas = max(job.WaitReplicas, l.WaitReplicas)
	return job, nil
}

// sentence says what is wrong with an object.
func sentence(err error) error {
	if wrong, is := errors.AsType[*json.UnmarshalTypeError](err); is {
		return mistyped(wrong)
	}
	switch {
	case errors.Is(err, io.EOF):
		return errors.New("it is empty, and a job is a JSON object")
	case errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("the JSON is cut short")
	}
	text := strings.TrimPrefix(err.Error(), "json: ")
	name, unknown := strings.CutPrefix(text, "unknown field ")
	if !unknown {
		return errors.New(text)
	}
	name = strings.Trim(name, `"`)
	var known []string
	for field := range reflect.TypeFor[line]().Fields() {
		known = append(known, field.Tag.Get("json"))
	}
	return &UnknownField{name, near(name, known)}
}

// mistyped says of a field, or of the whole, what it is to be and what it is.
func mistyped(wrong *json.UnmarshalTypeError) error {
	if wrong.Field == "" {
		return fmt.Errorf("a job is a JSON object, not a JSON %s", wrong.Value)
	}
	want := "a text"
	switch wrong.Type.Kind() {
	case reflect.Float64:
		want = "a number"
	case reflect.Int:
		want = "a whole number"
	case reflect.Bool:
		want = "true or false"
	case reflect.Slice:
		want = "a list of texts"
	}
	return fmt.Errorf("%s must be %s, not a JSON %s", wrong.Field, want, wrong.Value)
}

// say sets a field to what a line says, if it does.
func say[T any](field *T, value T, does bool) {
	if does {
		*field = value
	}
}

// longest is more seconds than any job waits or runs, and few enough for a time.Duration.
const longest = 100 * 365 * 24 * 3600

// trace is the trace that the line names.
func (l *line) trace() queue.Trace { return queue.Trace{Parent: l.TraceParent, State: l.TraceState} }

// wants is what the line says of what the job needs to run.
func (l *line) wants() queue.Wants {
	wants := queue.Wants{Bypass: l.Bypass, Windows: l.Windows, Zone: l.Zone}
	if l.Weight != nil {
		wants.Weight = *l.Weight
	}
	return wants
}

func (l *line) check() error {
	switch {
	case l.Weight != nil && *l.Weight < 1:
		return fmt.Errorf("weight must be from 1 to %d: %d", queue.MaxWeight, *l.Weight)
	case l.At != nil && l.Delay > 0:
		return errors.New("delay and at exclude each other")
	case l.Delay > longest:
		return errors.New("delay is longer than 100 years")
	case l.Timeout > longest:
		return errors.New("timeout is longer than 100 years")
	case l.Delay < 0:
		return errors.New("delay is negative")
	case l.Timeout < 0:
		return errors.New("timeout is negative")
	case l.WaitReplicas < 0:
		return errors.New("wait_replicas is negative")
	case l.Retries != nil && *l.Retries < 0:
		return errors.New("retries is negative")
	}
	if l.KeyFrom != "" {
		if err := queue.CheckPointer(l.KeyFrom); err != nil {
			return fmt.Errorf("key_from: %w", err)
		}
	}
	return cmp.Or(l.wants().Check(), l.trace().Check())
}

// near suggests the known name that is most like name; "" if none is.
func near(name string, known []string) string {
	if best := config.Nearest(name, known); best != "" {
		return "; did you mean " + best + "?"
	}
	return ""
}
