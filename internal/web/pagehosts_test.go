package web

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"oarlock/internal/must"
	"oarlock/internal/redact"
	"oarlock/internal/rollcall"
	"oarlock/queue"
	"oarlock/supervisor"
)

// fleet is what others say: one supervisor on another host, whose child works on a job and prints what others wrote.
type fleet struct {
	roll rollcall.Roll
	tail rollcall.Tail
	err  error
	told rollcall.Who // of whom lines were asked last
}

func aFleet() *fleet {
	percent := 40.0
	shot := supervisor.Snapshot{Name: "web3", PID: 7, Redis: "ok", Ready: true, Up: 60, Pools: []supervisor.PoolSnapshot{{
		Name: "render", Queues: []string{"mail", "render"}, Children: 1,
		Slots: []supervisor.SlotSnapshot{{Slot: 0, State: "busy", PID: 4712, Runs: []supervisor.RunSnapshot{{JID: "away", Klass: "Send", Queue: "mail", Attempt: 1, Age: 3, Percent: &percent, Progress: "password=hunter2"}}}},
	}}}
	return &fleet{
		roll: rollcall.Roll{Asked: 1, Answered: 1, Items: []rollcall.Answer{{Host: "web3.example", Version: "v2", Status: shot, Sums: rollcall.Sum(&shot)}}},
		tail: rollcall.Tail{Lines: []rollcall.Line{{At: 1.7e9, Stream: "stderr", Text: "connected to <b>mx1", JID: "away"}, {At: 1.7e9 + 1, Text: "token=hunter3", JID: "away"}, {At: 1.7e9 + 2, Text: "of another job", JID: "x"}}},
	}
}

func (f *fleet) Call(context.Context) (rollcall.Roll, error) { return f.roll, nil }

func (f *fleet) Tail(_ context.Context, of rollcall.Who, _ string, _, _ int) (rollcall.Tail, error) {
	f.told = of
	return f.tail, f.err
}

// The page of another host shows its pools and slots, and what a child there printed last; a job that runs there says so.
// Nothing secret is told, and whoever does not answer is said not to.
func TestOtherHosts(t *testing.T) {
	a, q := browsed(t)
	others := aFleet()
	var err error
	if a.redactor.Redactor, err = redact.New([]string{"$..token", "$..password"}, nil); err != nil {
		t.Fatal(err)
	}
	a.o.Others = blankedOthers{others, a.redactor}
	g := as(t, "write")
	says := func(path string, wants, not []string) {
		t.Helper()
		code, text, _ := g.browse(a, "GET", path, "")
		for _, want := range wants {
			if code != 200 || !strings.Contains(text, want) {
				t.Errorf("%s: %d, and it does not say %q: %s", path, code, want, text)
			}
		}
		for _, never := range not {
			if strings.Contains(text, never) {
				t.Errorf("%s says %q", path, never)
			}
		}
	}
	says("/supervisors", []string{`href="/supervisors/web3/7"`}, nil)
	says("/supervisors/web3/7", []string{"web3.example", "Pool render", `href="/supervisors/web3/7/render/0"`, "Send away"}, []string{"hunter2", `method="post"`})
	says("/supervisors/web3/7/render/0", []string{"connected to &lt;b&gt;mx1", "of another job", "Send away"}, []string{"hunter2", "hunter3", `method="post"`})
	if others.told != (rollcall.Who{Name: "web3", PID: 7}) {
		t.Errorf("lines were asked of %+v", others.told)
	}
	first := 9.0
	must.Get(q.Put(t.Context(), queue.Put{Queue: "mail", JID: "away", Klass: "Send", Priority: &first}))(t)
	must.Get(q.Pop(t.Context(), "mail", "web3-7-render", 1))(t)
	says("/jobs/away", []string{"Runs on web3.example", `<strong data-live="run.progress">40 % `, "connected to &lt;b&gt;mx1", `href="/supervisors/web3/7/render/0"`}, []string{"hunter3", "of another job"})
	says("/queues/mail", []string{`<a href="/supervisors/web3/7">render</a> on web3.example`}, nil)
	others.tail.Lines, others.tail.Refused = nil, "it keeps none"
	says("/supervisors/web3/7/render/0", []string{"It tells no lines: it keeps none."}, nil)
	others.tail.Refused, others.err = "", fmt.Errorf("%w: web3", rollcall.ErrSilent)
	says("/supervisors/web3/7/render/0", []string{"did not tell in time"}, nil)
	for path, want := range map[string]string{
		"/supervisors/web3/8": "no supervisor web3 with pid 8 answered", "/supervisors/web9/7": "no supervisor web9", "/supervisors/web3/7/none/0": "no pool none", "/supervisors/web3/7/render/x": "a slot x",
	} {
		if code, text, _ := g.browse(a, "GET", path, ""); code != 404 || !strings.Contains(strings.ToLower(text), want) {
			t.Errorf("%s: %d %s", path, code, mainOf(text))
		}
	}
}

// Whoever works and does not answer is on the page and in the API, with what is known; where nobody answers, the headline does not say
// that nothing is worked, unless nothing is.
func TestSupervisorsThatDoNotAnswer(t *testing.T) {
	a, q := browsed(t)
	g := as(t, "write")
	ask := func(path string, wants ...string) {
		t.Helper()
		a.workers = newKept[[]queue.WorkerCounts]()
		code, text, _ := g.browse(a, "GET", path, "")
		for _, want := range wants {
			if code != 200 || !strings.Contains(text, want) {
				t.Errorf("%s: %d, and it does not say %q: %s", path, code, want, text)
			}
		}
	}
	others := aFleet()
	a.o.Others = others
	ask("/supervisors", "None that took a job within a day.")
	first := 9.0
	must.Get(q.Put(t.Context(), queue.Put{Queue: "mail", JID: "away", Klass: "Send", Priority: &first}))(t)
	must.Get(q.Pop(t.Context(), "mail", "web-9-4711-render-0123456789", 1))(t)
	for _, roll := range []*fleet{others, nil} { // where others are not asked, too
		if a.o.Others = others; roll == nil {
			a.o.Others = nil
		}
		ask("/supervisors", "Did not answer", "web-9", "4711", "holds a job", `href="/workers/web-9-4711-render-0123456789"`)
		ask("/api/v1/supervisors", `"unheard":[{"name":"web-9","pid":4711,"pools":["render"],"workers":["web-9-4711-render-0123456789"],"jobs":1,"stalled":0`)
	}
	a.o.Others, others.roll = others, rollcall.Roll{}
	a.o.Supervisor, a.shots.of = nil, nil
	ask("/", "No supervisor answers, but jobs are held by 1.")
	must.Do(t, q.Cancel(t.Context(), "away"))
	ask("/", "No supervisor answers: nothing is worked.")
}
