package rollcall

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"oarlock/queue"
	"oarlock/supervisor"
)

// Supervisors that do not answer are known by their workers: each once, however many pools it has, and however names are made of
// dashes and numbers; who answered, or is another's, is none of them.
func TestUnheardSupervisors(t *testing.T) {
	roll := Roll{Items: []Answer{{Status: supervisor.Snapshot{Name: "web", PID: 1}}, {Status: supervisor.Snapshot{Name: "web-2-4", PID: 812}}}}
	roll.NoteUnheard([]queue.WorkerCounts{
		{Name: "web-1-mail-0123456789", Seen: 9, Jobs: 1}, // these two answered
		{Name: "web-2-4-812-mail-5-0123456789", Seen: 9, Jobs: 1},
		{Name: "web-12-mail-0123456789", Seen: 5, Jobs: 2},
		{Name: "web-12-render-abcdef0123", Seen: 7, Jobs: 1, Stalled: 1},
		{Name: "web-12-mail-abcdef0123", Seen: 4},
		{Name: "ip-10-0-0-5-4711-mail-2-0123456789", Seen: 8, Stalled: 2},
		{Name: "web-12"}, {Name: "host-17-mail-0123456789x"}, {Name: ""}, {Name: "-"}, {Name: "0123456789"}, {Name: "-7-0123456789"}, {Name: "a-7-0123456789"}, {Name: "a--7-0123456789"},
	})
	want := []Unheard{
		{Name: "ip-10-0-0-5", PID: 4711, Pools: []string{"mail-2"}, Workers: []string{"ip-10-0-0-5-4711-mail-2-0123456789"}, Stalled: 2, Seen: 8},
		{Name: "web", PID: 12, Pools: []string{"mail", "render"}, Workers: []string{"web-12-mail-0123456789", "web-12-render-abcdef0123", "web-12-mail-abcdef0123"}, Jobs: 3, Stalled: 1, Seen: 7},
	}
	if !reflect.DeepEqual(roll.Unheard, want) || roll.Working() != 1 {
		t.Errorf("%+v, of which %d work", roll.Unheard, roll.Working())
	}
	for i, says := range []string{"its locks ran out: it stands still, is cut off, or died", "holds 3 jobs"} {
		if got := roll.Unheard[i].Says(); got != says {
			t.Errorf("of %s it says %q", roll.Unheard[i].Name, got)
		}
	}

	var many []queue.WorkerCounts
	for i := range 3 * mostUnheard {
		many = append(many, queue.WorkerCounts{Name: fmt.Sprintf("h-%d-p-0123456789", i+1), Seen: float64(i)})
	}
	if roll.NoteUnheard(many); len(roll.Unheard) != mostUnheard || roll.Unheard[0].PID != 3*mostUnheard {
		t.Errorf("%d are told of", len(roll.Unheard))
	}
	if roll.NoteUnheard(nil); roll.Unheard == nil {
		t.Error("that somebody looked is not told")
	}
	roll.Pending = true
	if roll.NoteUnheard(many); roll.Unheard != nil {
		t.Error("who may answer yet did not answer")
	}
}

// TestOnlyOfSomePools: who has none of them is left out, and so are the others of who has; who was cut stays whole.
func TestOnlyOfSomePools(t *testing.T) {
	pool := func(name string, pid int) supervisor.PoolSnapshot {
		return supervisor.PoolSnapshot{Name: name, Slots: []supervisor.SlotSnapshot{{PID: pid}}}
	}
	both := Answer{Status: supervisor.Snapshot{Name: "both", Pools: []supervisor.PoolSnapshot{pool("mail", 7), pool("thumbs", 0)}}}
	both.Sums = Sum(&both.Status)
	cut := Answer{Cut: true, Sums: Sums{Pools: 40}, Status: supervisor.Snapshot{Name: "cut", Pools: []supervisor.PoolSnapshot{pool("thumbs", 0)}}}
	for glob, want := range map[string]string{"m*": "both 1 1, cut 40 0, gone", "thumbs": "both 1 0, cut 40 0", "x": "cut 40 0"} {
		r := Roll{Items: []Answer{both, cut}, Unheard: []Unheard{{Name: "gone", Pools: []string{"maps"}}}}
		some := r.Only([]string{glob})
		var got []string
		for _, a := range r.Items {
			got = append(got, fmt.Sprint(a.Status.Name, " ", a.Sums.Pools, " ", a.Sums.Children))
		}
		for _, u := range r.Unheard {
			got = append(got, u.Name)
		}
		if text := strings.Join(got, ", "); text != want || some != (len(got) > 0) {
			t.Errorf("of %s: %s, want %s", glob, text, want)
		}
	}
	if len(both.Status.Pools) != 2 {
		t.Error("what was told is changed")
	}
}
