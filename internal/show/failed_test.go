package show

import (
	"strings"
	"testing"

	"oarlock/internal/ops"
	"oarlock/queue"
)

// The column of a message says what went wrong, and not how a trace of it begins, which is the same for all.
func TestAFailureIsToldByWhatWentWrong(t *testing.T) {
	failure := queue.Failure{Group: "ValueError", Message: "Traceback (most recent call last):\n  File \"/srv/app/mail.py\", line 1, in send\n    f()\nValueError: no such address"}
	var text strings.Builder
	Failed(&text, []ops.Job{{JID: "a", Failure: &failure}})
	if !strings.Contains(text.String(), "ValueError: no such address") {
		t.Errorf("it says %s", &text)
	}
}
