package outcome

import (
	"reflect"
	"testing"
	"time"

	"oarlock/protocol"
	"oarlock/queue"
)

// TestAllThatAChildSaysOfAJobIsPut sets each field of a job that a child puts: none is lost on the way to the queue.
func TestAllThatAChildSaysOfAJobIsPut(t *testing.T) {
	retries, priority, score := 3, 7.5, 12.25
	said := protocol.Put{
		Queue: "mail", Klass: "Send", Data: []byte(`{"to":"ann"}`), JID: "j1", IfExists: "never", Delay: time.Minute, Priority: priority,
		Retries: &retries, Tags: []string{"a"}, Depends: []string{"j0"}, Timeout: time.Hour, Throttles: []string{"t"}, Weight: 2, Bypass: true,
		Windows: []string{"night"}, Zone: "Europe/Berlin", Key: "customer-17", Merge: "last", Score: &score,
	}
	for field, value := range reflect.ValueOf(said).Fields() {
		if value.IsZero() {
			t.Errorf("the test says nothing of %s", field.Name)
		}
	}
	want := queue.Put{
		Queue: "mail", Klass: "Send", Data: said.Data, JID: "j1", IfExists: "never", Delay: time.Minute, Priority: &priority,
		Retries: &retries, Tags: said.Tags, Depends: said.Depends, Timeout: time.Hour, Throttles: said.Throttles,
		Wants: queue.Wants{Weight: 2, Bypass: true, Windows: said.Windows, Zone: "Europe/Berlin"}, Key: "customer-17", Merge: "last", Score: &score,
	}
	if got := putOf(said, "K"); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
}
