package plan

import (
	"strings"
	"testing"

	"oarlock/internal/config"
	"oarlock/queue"
)

// What an entry is goes by the list and by intake_as; what is none says why.
func TestEntriesBecomeJobs(t *testing.T) {
	for _, tt := range []struct{ list, as, entry, jid, klass, data, says string }{
		{"outbox", "data", `{"to": 1}`, "", "outbox", `{"to": 1}`, ""},
		{"outbox", "data", "plain text", "", "outbox", `"plain text"`, ""},
		{"outbox", "data", "\xff\x00", "", "outbox", `{"base64":"/wA="}`, ""},
		{"outbox", "data", "", "", "outbox", `""`, ""},
		{"outbox", "hworker", `["id", {"to": 1}]`, "id", "outbox", `{"to": 1}`, ""},
		{"outbox", "hworker", `{"to": 1}`, "", "", "", "not a JSON array of a text and a payload"},
		{"hworker:mail", "data", `["id",[1]]`, "id", "mail", `[1]`, ""},
		{"hworker:mail", "job", `["id",[1]]`, "id", "mail", `[1]`, ""},
		{"hworker:mail", "data", `[1,2]`, "", "", "", "not a JSON array"},
		{"outbox", "job", `{"jid":"j","klass":"K","data":{"n":1}}`, "j", "K", `{"n":1}`, ""},
		{"outbox", "job", `{"queue":"q"}`, "", "outbox", `{}`, ""},
		{"outbox", "job", `{"queue":"other"}`, "", "", "", `it names queue "other", and this list is for "q"`},
		{"outbox", "job", `{"klas":"K"}`, "", "", "", `unknown field "klas"; did you mean klass?`},
		{"outbox", "job", "plain text", "", "", "", "invalid character"},
	} {
		put, err := readerOf("q", tt.list, config.Queue{IntakeAs: tt.as, KeyFrom: "/order"})(tt.entry)
		switch {
		case tt.says != "":
			if err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%+v is %+v (%v)", tt, put, err)
			}
		case err != nil || put.Queue != "q" || put.JID != tt.jid || put.Klass != tt.klass || string(put.Data) != tt.data:
			t.Errorf("%+v is %+v (%v)", tt, put, err)
		case put.KeyFrom != "/order":
			t.Errorf("%+v has its key at %q", tt, put.KeyFrom)
		case (put.IfExists == queue.Final) != (tt.list != "outbox" || tt.as == "hworker"):
			t.Errorf("%+v leaves alone a job that exists: %q", tt, put.IfExists)
		}
	}
}

func TestAnIntakeThatNobodyWorksIsSaid(t *testing.T) {
	cfg := config.Config{
		Queues: map[string]config.Queue{"a": {Intake: []string{"x"}}, "b-1": {Intake: []string{"y"}}, "c": {}},
		Pools:  map[string]config.Pool{"p": {Queues: []string{"b-*"}}, "l": {List: "a"}},
	}
	if told := Warnings(cfg); len(told) != 1 || !strings.HasPrefix(told[0], "queues.a.intake: no pool") {
		t.Errorf("said is %q", told)
	}
}

// A failure is told where [hooks] wants it: not of the hooks' own queue, nor of entries of lists.
func TestWhoseFailuresAreTold(t *testing.T) {
	cfg := config.Config{Pools: map[string]config.Pool{"p": {}, "l": {List: "mail-list"}}}
	cfg.Hooks = config.Hooks{Queue: "mail-hooks", Events: []string{"dead"}, Queues: []string{"mail*"}}
	for queue, want := range map[string]bool{"mail": true, "mail-hooks": false, "other": false} {
		if Told(cfg, "p", queue) != want {
			t.Errorf("of %s is told: %v", queue, !want)
		}
	}
	if Told(cfg, "l", "mail-list") {
		t.Error("an entry of a list is told of")
	}
	cfg.Hooks.Events = []string{"died"}
	if Told(cfg, "p", "mail") {
		t.Error("nobody wants to be told")
	}
}

// How the entries of a list are read is known by As: what changes it changes that, for who takes a list in looks at nothing else.
func TestEachWayOfReadingHasItsWord(t *testing.T) {
	seen := map[string]bool{}
	for _, q := range []config.Queue{{IntakeAs: "data"}, {IntakeAs: "job"}, {IntakeAs: "data", KeyFrom: "/a"}, {IntakeAs: "data", KeyFrom: "/b"}} {
		q.Intake = []string{"l"}
		seen[Intakes(config.Config{Queues: map[string]config.Queue{"q": q}})[0].As] = true
	}
	if len(seen) != 4 {
		t.Errorf("4 ways have the words %v", seen)
	}
}
