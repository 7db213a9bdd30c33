package web

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"oarlock/internal/hub"
	"oarlock/internal/must"
	"oarlock/internal/ops"
	"oarlock/internal/rollcall"
	"oarlock/queue"
	"oarlock/supervisor"
)

// A queue is told with who listens to it, on whatever host, and how many of its jobs are done a second, once that is known.
func TestQueuesHaveARateAndListeners(t *testing.T) {
	a, q := browsed(t)
	g := as(t, "read")
	one := func(path string) queueTold {
		t.Helper()
		text := wants(t, 200, g.ask(a, "GET", path, ""))
		var list struct{ Items []queueTold }
		var told queueTold
		must.Do(t, json.Unmarshal([]byte(text), &list))
		if len(list.Items) > 0 {
			told = list.Items[0]
		} else if err := json.Unmarshal([]byte(text), &told); err != nil {
			t.Fatal(err)
		}
		return told
	}
	if unknown := one("/api/v1/queues/bad"); unknown.Rate != nil || unknown.Listeners == nil || len(unknown.Listeners) != 0 {
		t.Errorf("of a queue to which nobody listens it tells %+v", unknown)
	}
	now := q.Now()
	for i, done := range []int{10, 40} {
		a.looks.Add([]queue.QueueCensus{{QueueCounts: queue.QueueCounts{Name: "mail"}, Today: queue.DayCounts{Completed: done}}}, now-60+float64(i)*15)
	}
	for _, path := range []string{"/api/v1/queues/mail", "/api/v1/queues?match=mail"} {
		told := one(path)
		var away *listener
		for i := range told.Listeners {
			if told.Listeners[i].Supervisor == "web3" {
				away = &told.Listeners[i]
			}
		}
		if told.Rate == nil || *told.Rate <= 0 || *told.Rate > 2 || away == nil || *away != (listener{Host: "web3.example", Supervisor: "web3", PID: 7, Pool: "render", Busy: 1, Children: 1}) || len(told.Listeners) != 1 {
			t.Errorf("%s: rate %v, listeners %+v", path, told.Rate, told.Listeners)
		}
	}
}

// The lines of a child of another supervisor are read by its name, its host, or its name and process; what cannot be had is said so.
func TestSlotLogElsewhere(t *testing.T) {
	a, _ := browsed(t)
	others := aFleet()
	a.o.Others = others
	a.o.Hub = hub.New(hub.Options{})
	g := as(t, "read")
	const log = "/api/v1/pools/render/slots/0/log"
	for _, on := range []string{"web3", "web3.example", "web3/7"} {
		var lines ops.Part[hub.Line]
		must.Do(t, json.Unmarshal([]byte(wants(t, 200, g.ask(a, "GET", log+"?jid=away&on="+on, ""))), &lines))
		if len(lines.Items) != 2 || !strings.HasPrefix(lines.Items[0].Text, "connected to") || lines.Items[1].N != 2 || others.told != (rollcall.Who{Name: "web3", PID: 7}) {
			t.Errorf("on %s: %+v, asked of %v", on, lines, others.told)
		}
	}
	refused := func(path string, code int, words string, headers ...string) {
		t.Helper()
		if w := g.ask(a, "GET", path, "", headers...); w.Code != code || !strings.Contains(w.Body.String(), words) {
			t.Errorf("%s: %d, want %d with %q: %s", path, w.Code, code, words, w.Body)
		}
	}
	refused(log+"?on=web9", 404, "no supervisor called web9")
	refused("/api/v1/pools/none/slots/0/log?on=web3", 404, "no_such_pool")
	refused("/api/v1/pools/render/slots/9/log?on=web3", 404, "no_such_slot")
	var stderr ops.Part[hub.Line]
	if err := json.Unmarshal([]byte(wants(t, 200, g.ask(a, "GET", log+"?on=web3&stream=stderr", ""))), &stderr); err != nil || len(stderr.Items) != 1 || stderr.Items[0].Stream != "stderr" {
		t.Errorf("on stderr: %+v, %v", stderr, err)
	}
	refused(log+"?on=web3&lines=x", 400, "lines")
	refused(log+"?on=web3", 400, "not followed", "Accept", "text/event-stream")
	others.tail.Refused = "no lines of children are kept here"
	refused(log+"?on=web3", 422, "no lines of children")
	others.tail.Refused, others.err = "", fmt.Errorf("%w: web3", rollcall.ErrSilent)
	refused(log+"?on=web3", 503, "in time")
	twin := others.roll.Items[0]
	twin.Host, twin.Status = "web4", supervisor.Snapshot{Name: "web3", PID: 8, Up: time.Hour.Seconds()}
	others.roll.Items = append(others.roll.Items, twin)
	refused(log+"?on=web3", 400, "web3/7")
}
