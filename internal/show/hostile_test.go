package show

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"

	"oarlock/internal/doctor"
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
	text, err := json.Marshal(kept)
	if err != nil {
		t.Fatal(err)
	}
	finding := doctor.Finding{Subject: screentest.Hostile, Text: screentest.Hostile, Advice: screentest.Hostile}
	var out bytes.Buffer
	Status(&out, shot)
	if err := Event(&out, event); err != nil {
		t.Fatal(err)
	}
	Record(&out, text)
	Finding(&out, finding)
	screentest.Clean(t, "a supervisor", out.String())
	out.Reset()
	for _, v := range []any{shot, event, kept, finding} {
		if err := screen.PrintJSON(&out, v); err != nil {
			t.Fatal(err)
		}
	}
	screentest.Clean(t, "a supervisor's JSON", out.String())
}
