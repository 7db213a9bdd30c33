package show

import (
	"strings"
	"testing"

	"oarlock/internal/service"
)

// Jobs that end otherwise than done, failed, retried or given back are counted, too.
func TestCanceledAndRequeuedJobsAreTold(t *testing.T) {
	var out strings.Builder
	Emptied(&out, service.Emptied{Empty: true, Canceled: 2, Requeued: 1, Left: &service.Left{}})
	if !strings.Contains(out.String(), "0 given back, 2 canceled, 1 put again.\n") {
		t.Error(out.String())
	}
}
