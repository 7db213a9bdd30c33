package putline

import (
	"errors"
	"strings"
	"testing"
	"time"

	"oarlock/queue"
)

func TestRead(t *testing.T) {
	like := queue.Put{Queue: "q", Klass: "K"}
	p, err := Read(like, []byte(`{"jid":"j","klass":"Other","data":{"n": 12345678901234567890},"retries":0,"tags":[],"delay":1.5}`))
	if err != nil || p.JID != "j" || p.Queue != "q" || p.Klass != "Other" || string(p.Data) != `{"n": 12345678901234567890}` || *p.Retries != 0 || p.Tags == nil || p.Delay.Seconds() != 1.5 {
		t.Errorf("read as %+v (%v)", p, err)
	}
	for text, want := range map[string]string{
		``:                       "it is empty, and a job is a JSON object",
		" \n":                    "it is empty",
		" null\n":                "a job is a JSON object, not a JSON null",
		`[]`:                     "a job is a JSON object, not a JSON array",
		`"x"`:                    "not a JSON string",
		`{"data":1`:              "the JSON is cut short",
		`{"priority":"high"}`:    "priority must be a number, not a JSON string",
		`{"retries":1.5}`:        "retries must be a whole number, not a JSON number 1.5",
		`{"tags":"x"}`:           "tags must be a list of texts, not a JSON string",
		`{"tags":[1]}`:           "tags must be a text, not a JSON number",
		`{"klass":{}}`:           "klass must be a text, not a JSON object",
		`{"data":1} {}`:          "more behind",
		`{"klas":"K"}`:           `unknown field "klas"; did you mean klass?`,
		`{"delay":-1}`:           "delay is negative",
		`{"delay":1e300}`:        "100 years",
		`{"timeout":1e300}`:      "100 years",
		`{"timeout":-1}`:         "timeout is negative",
		`{"retries":-1}`:         "retries is negative",
		`{"at":"90s","delay":1}`: "delay and at exclude each other",
		`{"at":"-90s"}`:          "at is negative: -90s",
		`{"at":"tomorrow"}`:      `at is no time: "tomorrow"; write it as 2026-07-01T12:00:00Z, or so long from now as 90s`,
		`{"at":-1}`:              "at is no time: -1; write it as 2026-07-01T12:00:00Z, as 90s from now, or in seconds since the epoch",
		`{"at":true}`:            "at is no time: true",
		`{"at":1e300}`:           "at is no time: 1e300",
		`{"at":"900000h"}`:       "100 years",
		`{"key_from":"order"}`:   `key_from: "order" is no JSON pointer`,
		`{"wait_replicas":-1}`:   "wait_replicas is negative",
		`{"weight":0}`:           "weight must be from 1 to 100: 0",
		`{"weight":101}`:         "weight must be from 1 to 100: 101",
		`{"bypass":1}`:           "bypass must be true or false, not a JSON number",
		`{"windows":["x:y"]}`:    `"x:y"`,
		`{"zone":"UTC"}`:         "zone is of spans",
	} {
		if p, err := Read(like, []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s is read as %+v (%v), want %s", text, p, err, want)
		}
	}
	p, err = Read(like, []byte(`{"weight":2,"bypass":true,"windows":["night","22:00-06:00"],"zone":"Europe/Berlin"}`))
	if err != nil || p.Wants.Weight != 2 || !p.Wants.Bypass || len(p.Wants.Windows) != 2 || p.Wants.Zone != "Europe/Berlin" {
		t.Errorf("what a job wants is read as %+v (%v)", p.Wants, err)
	}
	like.Delay = time.Second
	for text, want := range map[string]queue.Put{
		`{"at":"2026-07-01T12:00:00.5+02:00"}`: {At: time.Date(2026, 7, 1, 10, 0, 0, 5e8, time.UTC)},
		`{"at":1782900000.5}`:                  {At: time.Date(2026, 7, 1, 10, 0, 0, 5e8, time.UTC)},
		`{"at":"90s"}`:                         {Delay: 90 * time.Second},
		`{}`:                                   {Delay: time.Second},
		`{"at":null}`:                          {Delay: time.Second},
	} {
		if p, err := Read(like, []byte(text)); err != nil || !p.At.Equal(want.At) || p.Delay != want.Delay {
			t.Errorf("%s is planned for %v or in %v (%v), want %v or %v", text, p.At, p.Delay, err, want.At, want.Delay)
		}
	}
	if p, err := Read(queue.Put{At: time.Unix(1, 0)}, []byte(`{"delay":2}`)); err != nil || !p.At.IsZero() || p.Delay != 2*time.Second {
		t.Errorf("a delay in place of a time: %v and %v (%v)", p.At, p.Delay, err)
	}
	var unknown *UnknownField
	if _, err := Read(like, []byte(`{"klas":1}`)); !errors.As(err, &unknown) || unknown.Name != "klas" {
		t.Errorf("an unknown field is %v", err)
	}
}
