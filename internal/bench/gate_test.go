package bench

import (
	"bytes"
	"encoding/json"
	"io"
	"testing"

	"oarlock/internal/must"
)

// What is measured of a crowd is what was asked for: the free job begins when all before it are sorted, 64 a call, and nothing is left.
func TestMeasureGate(t *testing.T) {
	if testing.Short() {
		t.Skip("long: a measurement")
	}
	b, crowd := newBench(t), Crowd{Blocked: 250, Parked: 150}
	var out bytes.Buffer
	must.Do(t, b.MeasureGate(t.Context(), crowd, NewReport(&out, io.Discard, true)))
	var found []Calls
	for in := json.NewDecoder(&out); in.More(); {
		var c Calls
		must.Do(t, in.Decode(&c))
		found = append(found, c)
		if c.Call.P50 <= 0 || c.Empty.P50 <= 0 || c.Call.P99 < c.Call.P50 || c.Seconds <= 0 {
			t.Errorf("%s: %+v, %+v", c.Name, c.Call, c.Empty)
		}
	}
	want := []Calls{{Beside: 0, Calls: 1000, Jobs: 1000}, {Beside: 250, Calls: 5, Jobs: 2}, {Beside: 250, Calls: 1000, Jobs: 1000},
		{Beside: 0, Calls: 1000, Jobs: 1000}, {Beside: 150, Calls: 1000, Jobs: 1000}, {Beside: 150, Calls: 150, Jobs: 150}}
	for i, c := range found {
		if i >= len(want) || c.Beside != want[i].Beside || c.Calls != want[i].Calls || c.Jobs != want[i].Jobs {
			t.Errorf("%d: %+v", i, c)
		}
	}
	if keys := must.Get(b.Client.Redis().Keys(t.Context(), "*").Result())(t); len(found) != len(want) || len(keys) > 0 {
		t.Errorf("%d were found, and keys are left: %q", len(found), keys)
	}
}
