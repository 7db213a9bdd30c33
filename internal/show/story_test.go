package show

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"oarlock/internal/must"
	"oarlock/supervisor"
)

func TestStory(t *testing.T) {
	code, noCommand, percent := 65, 127, 40.0
	for _, tt := range []struct {
		name   string
		record supervisor.Record
		want   []string
	}{
		{"a crash", supervisor.Record{Ending: "died", Attempt: 2, Worker: "w", PID: 7, Signal: "SIGSEGV", Group: "signal-SEGV", WallMS: 3100, CPUMS: 400, PeakMemory: 96 << 20},
			[]string{"Attempt 2 ran for 3.1s, until ", " on w (pid 7).", "It was ended by SIGSEGV, which nobody here had sent.", "That counts as signal-SEGV.", "It used 400ms of processor time and, when it was seen to use most, 96 MiB of memory."}},
		{"an exit", supervisor.Record{Ending: "exited", Attempt: 1, ExitCode: &code, Group: "exit-65", Message: "not a JPEG", Stderr: "a\nb\n"},
			[]string{"It left with exit code 65.\n", "That counts as exit-65: not a JPEG\n", "Its last words on stderr:\n    a\n    b\n"}},
		{"a shell's word", supervisor.Record{Ending: "exited", ExitCode: &noCommand}, []string{"It left with exit code 127, as a shell does that does not find a command.\n"}},
		{"a timeout", supervisor.Record{Ending: "timed-out", Signal: "SIGKILL", SentBy: "timeout", Percent: &percent, Progress: "reading"},
			[]string{"It came as far as: 40% reading.", "It was ended by SIGKILL, after we had stopped it (timeout)."}},
		{"no memory", supervisor.Record{Ending: "died", Signal: "SIGKILL", OOM: "memory.events: oom_kill 1"},
			[]string{"It ran out of memory: memory.events: oom_kill 1."}},
		{"a word", supervisor.Record{Ending: "said", Verdict: "fail", Group: "bad", Message: "two\nlines", Dir: "/kept"},
			[]string{"It said fail.", "That counts as bad: two\n    lines", "Its directory was kept: /kept"}},
		{"no group", supervisor.Record{Ending: "said", Verdict: "unknown", Message: "no handler"}, []string{"It said unknown.\n", "Its reason: no handler"}},
		{"no start", supervisor.Record{Ending: "could-not-start"}, []string{"It could not be started."}},
		{"nonsense", supervisor.Record{Ending: "broke-protocol"}, []string{"It broke the protocol"}},
		{"silence", supervisor.Record{Ending: "left-early"}, []string{"It left without a verdict."}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			text := must.Get(json.Marshal(tt.record))(t)
			var out bytes.Buffer
			Record(&out, text)
			for _, want := range tt.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("no %q in\n%s", want, &out)
				}
			}
		})
	}
	var out bytes.Buffer
	Record(&out, nil)
	if out.Len() > 0 {
		t.Errorf("without a record: %s", &out)
	}
}
