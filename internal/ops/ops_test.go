package ops

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"oarlock/queue"
)

// What nobody can mean is refused whoever is sure; what is odd is done for who is sure only.
func TestChecksOfAPut(t *testing.T) {
	negative := -1
	for _, tt := range []struct {
		name         string
		put          queue.Put
		wrong, doubt bool
	}{
		{"nothing odd", queue.Put{Queue: "q", Klass: "k"}, false, false},
		{"no queue", queue.Put{Klass: "k"}, true, false},
		{"negative retries", queue.Put{Queue: "q", Klass: "k", Retries: &negative}, true, false},
		{"a negative delay", queue.Put{Queue: "q", Klass: "k", Delay: -1}, true, false},
		{"an empty tag", queue.Put{Queue: "q", Klass: "k", Tags: []string{""}}, true, false},
		{"a blank behind a queue", queue.Put{Queue: "q ", Klass: "k"}, false, true},
		{"a line break in a throttle", queue.Put{Queue: "q", Klass: "k", Throttles: []string{"a\nb"}}, false, true},
	} {
		var wrong *Wrong
		var doubt *Doubt
		unsure, sure := CheckPut(tt.put, Never), CheckPut(tt.put, Always)
		if errors.As(unsure, &wrong) != tt.wrong || errors.As(unsure, &doubt) != tt.doubt {
			t.Errorf("%s: %v", tt.name, unsure)
		}
		if errors.As(sure, &wrong) != tt.wrong || tt.doubt && sure != nil {
			t.Errorf("%s, for who is sure: %v", tt.name, sure)
		}
	}
}

// Of a trace context that is none the argument is named that is wrong, once.
func TestCheckPutNamesWhatIsWrongWithATrace(t *testing.T) {
	const parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	for argument, trace := range map[string]queue.Trace{
		"traceparent": {Parent: "x"},
		"tracestate":  {Parent: parent, State: "\n"},
	} {
		var wrong *Wrong
		err := CheckPut(queue.Put{Queue: "q", Klass: "k", Trace: trace}, Always)
		if !errors.As(err, &wrong) || wrong.Argument != argument || strings.Contains(wrong.Why, argument) {
			t.Errorf("%+v: %v", trace, err)
		}
	}
}

// The number of jobs done has the name of the deed, and of those not done the worst is told.
func TestAmendedTellsOfItsDeed(t *testing.T) {
	a := Amended{Deed: "taken back", Done: []string{"a"}, Changed: []string{"b"}}
	text, err := json.Marshal(a)
	if want := `{"changed":["b"],"jids":["a"],"refused":[],"taken_back":1}`; err != nil || string(text) != want {
		t.Errorf("%s, %v; want %s", text, err, want)
	}
	var gone *Missing
	if a.Refusal() != nil || !errors.As(a.Err(), &gone) {
		t.Errorf("of a job that went it says %v and %v", a.Refusal(), a.Err())
	}
	if a.Refused = []string{"no"}; a.Err() == nil || errors.As(a.Err(), &gone) {
		t.Errorf("of a refusal it says %v", a.Err())
	}
}

// A line says what it wants; the rest is as for all.
func TestLinesOfWholeJobs(t *testing.T) {
	one := 1
	like := queue.Put{Queue: "q", Klass: "k", Retries: &one, Tags: []string{"t"}}
	p, err := putOf(like, []byte(`{"jid":"j","queue":"other","retries":0,"tags":[],"delay":1.5}`), true)
	if err != nil || p.JID != "j" || p.Queue != "other" || p.Klass != "k" || *p.Retries != 0 || len(p.Tags) != 0 || p.Delay.Seconds() != 1.5 || string(p.Data) != "{}" {
		t.Errorf("%+v, %v", p, err)
	}
	for _, text := range []string{`{"retries":-1}`, `{"delay":-1}`, `{"nope":1}`, `[]`, `x`} {
		if p, err := putOf(like, []byte(text), true); err == nil {
			t.Errorf("%s is %+v", text, p)
		}
	}
}
