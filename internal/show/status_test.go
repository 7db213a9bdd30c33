package show

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"oarlock/internal/service"
	"oarlock/supervisor"
)

func TestStatusTellsWhatIsKeptReady(t *testing.T) {
	r := service.Status{Snapshot: supervisor.Snapshot{Redis: "ok", Pools: []supervisor.PoolSnapshot{{Name: "p", Slots: []supervisor.SlotSnapshot{
		{State: "busy", PID: 7, Runs: []supervisor.RunSnapshot{{Klass: "Send", JID: "a"}, {Klass: "Send", JID: "b", Kept: true}, {Klass: "Send", JID: "c", Kept: true}}},
	}}}}}
	var out bytes.Buffer
	if Status(&out, r); !strings.Contains(out.String(), "Send a, 2 kept ready") {
		t.Errorf("it says\n%s", out.String())
	}
}

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
	Status(&out, r)
	for _, want := range []string{"QUEUE READY RUNNING SCHEDULED OLDEST DONE/S FAILED/MIN", "mail 1,234 1 0 1m 30s 40 0.5", "idle (paused) 0 0 0 - 0 0", "damaged ? ? ? ? 0 0"} {
		if !strings.Contains(strings.Join(strings.Fields(out.String()), " "), want) {
			t.Errorf("it does not say %q:\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "not shown here") {
		t.Errorf("a queue of another pool:\n%s", out.String())
	}
	r.RedisMemory = []string{"With maxmemory-policy allkeys-lru Redis throws jobs away."}
	out.Reset()
	if Status(&out, r); !strings.Contains(out.String(), "Redis: With maxmemory-policy allkeys-lru") {
		t.Errorf("how Redis endangers jobs is not told:\n%s", out.String())
	}
	out.Reset()
	since := time.Now().Add(-3 * time.Minute)
	r.UnknownSince = &since
	for i := range 30 {
		r.Queues = append(r.Queues, service.QueueStatus{Pool: "p", Queue: fmt.Sprint("more", i)})
	}
	Status(&out, r)
	if text := out.String(); !strings.Contains(text, "unknown since "+since.Format("15:04:05")+" (3m 0s)") || !strings.Contains(text, "and 13 queues with less to do") {
		t.Errorf("it says\n%s", text)
	}
}

func TestStatusTellsVerdictsThatCameTooLate(t *testing.T) {
	r := service.Status{Snapshot: supervisor.Snapshot{Redis: "ok", Pools: []supervisor.PoolSnapshot{{Name: "p", Counters: supervisor.Counters{Acked: 3, Late: 2}}}}}
	var out bytes.Buffer
	if Status(&out, r); !strings.Contains(out.String(), "verdicts too late 2") {
		t.Errorf("it says\n%s", out.String())
	}
}
