package web

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"oarlock/internal/must"
	"oarlock/queue"
)

// Who may answer parked jobs is who has the right respond for their class, by every door for answers: a right to put is none.
func TestRespondRights(t *testing.T) {
	a, q := apart(t)
	s := q.Session("w")
	defer s.Close()
	n := 0
	park := func(klass string) (jid, correlation string) {
		t.Helper()
		n++
		correlation = fmt.Sprintf("c%d", n)
		in := "mail-" + correlation
		jid = must.Get(q.Put(t.Context(), queue.Put{Queue: in, Klass: klass}))(t)
		reply, err := s.Exchange(t.Context(), nil, queue.Take{Queues: []string{in}, Count: 1})
		if err != nil || len(reply.Jobs) != 1 {
			t.Fatalf("take: %+v, %v", reply, err)
		}
		reply, err = s.Exchange(t.Context(), []queue.Settlement{{JID: jid, Queue: in, Popped: reply.Jobs[0].Popped, Action: queue.Park, Correlation: correlation, Delay: time.Hour}}, queue.Take{})
		if err != nil || reply.Results[0].Err != nil {
			t.Fatalf("park: %+v, %v", reply, err)
		}
		return jid, correlation
	}
	state := func(jid string) string {
		t.Helper()
		job := must.Get(q.Get(t.Context(), jid))(t)
		return job.State
	}
	for rights, want := range map[string]struct{ answers, looks bool }{
		"put": {}, "put:mail": {}, "read,put": {false, true}, "respond": {true, false}, "respond:Pay": {true, false}, "respond:P*": {true, false}, "respond:Send": {},
		"read,respond:Pay": {true, true}, "read,respond:Send": {false, true}, "write": {true, true},
	} {
		g := as(t, rights)
		jid, correlation := park("Pay")
		w := g.ask(a, "POST", "/api/v1/respond/Pay/"+correlation, "1")
		if (w.Code == http.StatusAccepted) != want.answers || !want.answers && codeOf(w) != "no_right" || (state(jid) == "waiting") != want.answers {
			t.Errorf("%s by the API: %d %s, and the job is %s", rights, w.Code, w.Body, state(jid))
		}
		for _, deed := range []string{"answer", "unanswered"} {
			jid, _ := park("Pay")
			w := g.ask(a, "POST", "/jobs/"+jid+"/"+deed, "data=1", "Content-Type", "application/x-www-form-urlencoded")
			if may := want.answers && want.looks; (w.Code == http.StatusSeeOther) != may || deed == "answer" && (state(jid) == "waiting") != may {
				t.Errorf("%s by the page, %s: %d %s, and the job is %s", rights, deed, w.Code, w.Body, state(jid))
			}
			if !want.looks && strings.Contains(w.Body.String(), "Pay") && !strings.Contains(rights, "Pay") {
				t.Errorf("%s by the page tells the class: %s", rights, w.Body)
			}
		}
		jid, _ = park("Pay")
		if want.looks {
			for _, path := range []string{"/parked", "/jobs/" + jid} {
				page := g.ask(a, "GET", path, "", "Accept", "text/html").Body.String()
				if shows := strings.Contains(page, "Answer…"); shows != want.answers {
					t.Errorf("%s: %s has the button: %v", rights, path, shows)
				}
			}
		}
	}
}

// The rights are read, and written, with their classes.
func TestParseRespond(t *testing.T) {
	for text, want := range map[string]string{"respond": "respond:*", "put:a,respond:Pay,read,respond:Pay,respond:B*": "read,put:a,respond:B*,respond:Pay", "respond:": "", "responds": ""} {
		c, err := ParseRights("n", text)
		if err != nil != (want == "") || err == nil && c.Rights() != want {
			t.Errorf("%q: %s, %v", text, c.Rights(), err)
		}
	}
	tokens := tokensOf(t, "shop put:orders -\nbank put,respond:Pay -\nanna write -\nreader read -\n")
	if got := tokens.PutOnly(); !slices.Equal(got, []string{"shop"}) {
		t.Errorf("who may put only are %v", got)
	}
}

// Who may answer and not look hears nothing of a job of another class by naming its jid.
func TestRespondTellsNothingOfOthers(t *testing.T) {
	a, q := apart(t)
	must.Get(q.Put(t.Context(), queue.Put{JID: "theirs", Queue: "bank", Klass: "Secret"}))(t)
	g := as(t, "respond:Pay")
	for _, end := range []string{"", "complete", "fail"} {
		for _, again := range []bool{false, true} {
			ask := func(jid string) string {
				w := g.ask(a, "POST", "/api/v1/respond/Pay/c-"+end+"?jid="+jid+"&end="+end, "1")
				return fmt.Sprint(w.Code, " ", strings.ReplaceAll(w.Body.String(), jid, "JID"))
			}
			if theirs, none := ask("theirs"), ask("nosuch"); theirs != none {
				t.Errorf("end %q, again %v: of a job of another class it is told %s, of none %s", end, again, theirs, none)
			}
		}
	}
	if job, err := q.Get(t.Context(), "theirs"); err != nil || job.State != "waiting" {
		t.Errorf("the job is %+v, %v", job, err)
	}
}
