package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"oarlock/internal/embedded"
	"oarlock/internal/service"
	"oarlock/supervisor"
)

func TestStatusTellsDepths(t *testing.T) {
	one, many, zero, age := 1, 1234, 0, 90.0
	r := service.Status{Snapshot: supervisor.Snapshot{Redis: "ok", Pools: []supervisor.PoolSnapshot{{Name: "p"}}}}
	r.Queues = []service.QueueStatus{
		{Pool: "p", Queue: "mail", Ready: &many, Running: &one, Scheduled: &zero, Oldest: &age, DonePerSecond: 40.2, FailedPerMinute: 0.5},
		{Pool: "p", Queue: "idle", Ready: &zero, Running: &zero, Scheduled: &zero, Oldest: &age, Paused: true},
		{Pool: "p", Queue: "damaged"},
		{Pool: "other", Queue: "not shown here"},
	}
	var out bytes.Buffer
	printStatus(&out, r)
	for _, want := range []string{"QUEUE READY RUNNING SCHEDULED OLDEST DONE/S FAILED/MIN", "mail 1,234 1 0 1m 30s 40 0.5", "idle (paused) 0 0 0 - 0 0", "damaged ? ? ? ? 0 0"} {
		if !strings.Contains(strings.Join(strings.Fields(out.String()), " "), want) {
			t.Errorf("it does not say %q:\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "not shown here") {
		t.Errorf("a queue of another pool:\n%s", out.String())
	}
	out.Reset()
	since := time.Now().Add(-3 * time.Minute)
	r.UnknownSince = &since
	for i := range 30 {
		r.Queues = append(r.Queues, service.QueueStatus{Pool: "p", Queue: fmt.Sprint("more", i)})
	}
	printStatus(&out, r)
	if text := out.String(); !strings.Contains(text, "unknown since "+since.Format("15:04:05")+" (3m 0s)") || !strings.Contains(text, "and 13 queues with less to do") {
		t.Errorf("it says\n%s", text)
	}
}

// Depth and rates of a supervisor at work; and when Redis goes away, since when nothing is known.
func TestDepthAndRateInStatus(t *testing.T) {
	s := newScript(t, workFiles)
	server, err := embedded.Start("")
	if err != nil {
		t.Fatal(err)
	}
	s.env["REDIS_URL"] = server.URL()
	p := begin(t, s, "run")
	p.await(`INFO  ready`)
	p.ask("put", "work", `"slow"`)
	p.ask("put", "work", `"slow"`)
	p.await(`line=started`)
	p.await(`line=started`)
	p.ask("put", "work", `"good"`)
	p.ask("put", "work", `"later"`, "--delay", "1h")
	p.until("work   1      2        1", "status")
	var r service.Status
	if err := json.Unmarshal([]byte(p.ask("status", "--json")), &r); err != nil {
		t.Fatal(err)
	}
	if len(r.Queues) != 1 || *r.Queues[0].Ready != 1 || *r.Queues[0].Running != 2 || *r.Queues[0].Scheduled != 1 || r.UnknownSince != nil {
		t.Errorf("%+v", r.Queues)
	}
	server.Close()
	p.until("What is in the queues is unknown since ", "status")
	p.signal(syscall.SIGTERM)
	p.await(`once more stops now`)
	p.signal(syscall.SIGTERM)
	p.leaves(exitOK)
}
