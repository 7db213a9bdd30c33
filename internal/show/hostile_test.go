package show

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"

	"oarlock/internal/doctor"
	"oarlock/internal/must"
	"oarlock/internal/screen"
	"oarlock/internal/screentest"
	"oarlock/internal/service"
	"oarlock/queue"
	"oarlock/supervisor"
)

// TestHostileTextsOfASupervisor prints what a supervisor, a doctor and the channels
// of Redis can tell, with hostile texts in all places.
func TestHostileTextsOfASupervisor(t *testing.T) {
	var shot service.Status
	var event queue.Event
	var kept supervisor.Record
	for _, v := range []any{&shot, &event, &kept} {
		screentest.Fill(reflect.ValueOf(v).Elem())
	}
	text := must.Get(json.Marshal(kept))(t)
	finding := doctor.Finding{Subject: screentest.Hostile, Text: screentest.Hostile, Advice: screentest.Hostile}
	var out bytes.Buffer
	Status(&out, shot)
	must.Do(t, Event(&out, event))
	Record(&out, text)
	Finding(&out, finding)
	screentest.Clean(t, "a supervisor", out.String())
	out.Reset()
	for _, v := range []any{shot, event, kept, finding} {
		must.Do(t, screen.PrintJSON(&out, v))
	}
	screentest.Clean(t, "a supervisor's JSON", out.String())
}
