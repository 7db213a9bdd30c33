package show

import (
	"bytes"
	"strings"
	"testing"

	"oarlock/internal/service"
	"oarlock/supervisor"
)

func TestStatusTellsHowFarARollIs(t *testing.T) {
	for _, tt := range []struct {
		roll supervisor.RollSnapshot
		want string
	}{
		{supervisor.RollSnapshot{To: 2, Of: 8, Changed: 3, Slot: 3, JID: "j7", Waits: 40},
			"rolling in generation 2: 3 of 8, slot 3 waits for job j7 since 40s"},
		{supervisor.RollSnapshot{To: 2, Of: 8, OnTrial: true}, "rolling in generation 2: 0 of 8, on trial"},
		{supervisor.RollSnapshot{To: 2, Of: 4, BackStarts: true}, "rolling in generation 2: 0 of 4; going back would start what the command finds now"},
		{supervisor.RollSnapshot{To: 2, Of: 8, Changed: 1, OnTrial: true}, "rolling in generation 2: 1 of 8, on trial until a job ends well"},
		{supervisor.RollSnapshot{To: 2, Of: 8, Changed: 1, OnTrial: true, Ended: 7, Bad: 6},
			"rolling in generation 2: 1 of 8, on trial: 6 of 7 attempts ended badly"},
	} {
		if got := rollLine(&tt.roll); got != tt.want {
			t.Errorf("%+v is told as %q, want %q", tt.roll, got, tt.want)
		}
	}
	row := slotRow(supervisor.SlotSnapshot{Slot: 1, State: "backoff", Generation: 7, Next: 3})
	if row[2] != "7" || !strings.Contains(row[4], "3") {
		t.Errorf("a slot of generation 7 that starts in 3 s is the row %q", row)
	}
}

func TestStatusTellsWhatWasGivenUp(t *testing.T) {
	pool := supervisor.PoolSnapshot{Name: "p", GivenUp: &supervisor.GivenUp{Generation: 2, Message: "it did not say hello within 30s", Ago: 40}}
	var out bytes.Buffer
	Status(&out, service.Status{Snapshot: supervisor.Snapshot{Redis: "ok", Pools: []supervisor.PoolSnapshot{pool}}})
	const want = "generation 2 was given up 40s ago: it did not say hello within 30s; mend what it runs, then `oarlock recycle p`"
	if !strings.Contains(out.String(), want) {
		t.Errorf("status says\n%s\nwant %q", &out, want)
	}
}

func TestAShortageIsTold(t *testing.T) {
	const short = "processes used up: 70 of 70 (pids.max of /x.service)"
	shot := supervisor.Snapshot{Redis: "ok", Short: short}
	var out bytes.Buffer
	Status(&out, service.Status{Snapshot: shot})
	if !strings.Contains(out.String(), short+": children are started one by one") {
		t.Errorf("status says\n%s", &out)
	}
	if got := service.Summary(shot); !strings.Contains(got, short) {
		t.Errorf("the service manager is told %q", got)
	}
}
