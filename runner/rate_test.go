package runner

import (
	"context"
	"testing"
	"time"
)

// droppedLines is how many lines of a run were said to be dropped, by stream.
func (w *witness) droppedLines(run string) map[Stream]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := map[Stream]int{}
	for _, line := range w.logs {
		if line.run == run {
			n[line.stream] += line.dropped
		}
	}
	return n
}

// What a child prints beyond the limit is told: when the second is over, though neither
// another line nor the end of the run may come, of structured lines as of plain ones.
func TestDroppedLinesAreTold(t *testing.T) {
	h := newHost(t)
	const lines, rate = 3000, 5
	flood := `i=0; while [ $i -lt 3000 ]; do echo plain; echo '{"@":"log","message":"x"}' >&3; i=$((i+1)); done`
	tests := []struct{ name, script string }{
		{"a run that goes on in silence", flood + "; sleep 60"},
		{"a run that ends", flood},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWitness()
			spec := &Spec{Command: shell(tt.script), Status: StatusFD, LogRate: rate, Pool: "test", Kill: KillGroup}
			c, err := h.Start(context.Background(), spec, 1, newJob("r1"), w)
			must(t, err)
			mustRun(t, c, newJob("r1"), RunLimits{})
			for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
				all := w.droppedLines("r1")
				kept := 0
				w.mu.Lock()
				for _, line := range w.logs {
					if line.text != "" && line.dropped != 0 {
						t.Errorf("a line of text says that %d were dropped", line.dropped)
					}
					if line.text != "" {
						kept++
					}
				}
				w.mu.Unlock()
				if all[Stdout] > 0 && all[StatusStream] > 0 && kept+all[Stdout]+all[StatusStream] == 2*lines {
					break
				}
				if time.Now().After(deadline) {
					t.Fatalf("%d lines kept and %v dropped; want %d in all", kept, all, 2*lines)
				}
			}
			killed(t, c)
		})
	}
}
