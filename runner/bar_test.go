package runner

import (
	"strings"
	"testing"
	"time"
)

// What draws a progress bar, and never ends its line, is alive; who looks on sees it, and what is
// kept is its last state.
func TestProgressBars(t *testing.T) {
	h := newHost(t)
	for name, script := range map[string]string{
		"return behind":   `i=0; while [ $i -lt 30 ]; do printf '%s%%\r' $i; i=$((i+1)); sleep 0.1; done`,
		"return in front": `i=0; while [ $i -lt 30 ]; do printf '\r%s%%' $i; i=$((i+1)); sleep 0.1; done`,
		"on stderr":       `i=0; while [ $i -lt 30 ]; do printf '%s%%\r' $i >&2; i=$((i+1)); sleep 0.1; done`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// It is silent but for the bar for longer than it may be silent.
			spec := &Spec{Command: shell(script + "; exit 1"), StallTimeout: 2500 * time.Millisecond, KillGrace: time.Second, KeepOutput: 4 << 10}
			e, w := runOnce(t, h, spec, RunLimits{})
			if e.Kind != Exited {
				t.Fatalf("it ended as %v: %s", e.Kind, e.Message)
			}
			shown, logged := 0, ""
			w.mu.Lock()
			defer w.mu.Unlock()
			for _, line := range w.logs {
				if line.overwritten {
					shown++
				} else {
					logged += line.text + "|"
				}
			}
			tail := string(e.StdoutTail) + string(e.StderrTail)
			lines := strings.Join(told(e.Output), "|")
			if logged != "29%|" || tail != "29%\n" || !strings.HasSuffix(lines, " 29%") || strings.Contains(lines, "|") {
				t.Errorf("logged %q, tail %q, kept %q", logged, tail, lines)
			}
			if shown < 3 || shown > 30 {
				t.Errorf("%d states were shown", shown)
			}
		})
	}
}

// What is printed over a bar takes its place, and a verdict behind one counts.
func TestWhatComesAfterABar(t *testing.T) {
	e, w := runOnce(t, newHost(t), &Spec{Command: shell(`printf '1%%\r2%%\rdone\n3%%\r{"@":"fail","run":"r1","group":"g"}\n'`), KillGrace: time.Second}, RunLimits{})
	if e.Kind != Said || e.Group != "g" {
		t.Fatalf("it ended as %v, %q", e.Kind, e.Group)
	}
	text := ""
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, line := range w.logs {
		if !line.overwritten {
			text += line.text + "|"
		}
	}
	if text != "done|3%|" {
		t.Errorf("logged %q", text)
	}
	// Between two texts it is a quotation, whatever ends the first.
	e, _ = runOnce(t, newHost(t), &Spec{Command: shell(`printf 'echo\r{"@":"fail","run":"r1","group":"g"} and so on\n'`), KillGrace: time.Second}, RunLimits{})
	if e.Kind != Exited {
		t.Errorf("a quotation counts: %v", e.Kind)
	}
}
