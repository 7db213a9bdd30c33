package runner

import (
	"context"
	"testing"
	"time"

	"oarlock/internal/wallstep"
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

// Lines that were dropped are told a second later, wherever the wall clock steps.
func TestDroppedLinesFollowNoStepOfTheWallClock(t *testing.T) {
	h, w := newHost(t), newWitness()
	for _, by := range []time.Duration{time.Hour, -time.Hour, 300_000 * time.Hour, -300_000 * time.Hour} {
		c, err := h.Start(context.Background(), &Spec{Command: shell("sleep 60"), LogRate: 1, Pool: "test", Kill: KillGroup}, 1, newJob("r1"), w)
		must(t, err)
		mustRun(t, c, newJob("r1"), RunLimits{})
		c.mu.Lock()
		r := c.runs[0]
		c.mu.Unlock()
		now := time.Now()
		c.out.mu.Lock()
		for range 3 {
			c.out.record(r, LogLine{}, wallstep.Step(now, int64(by/time.Second)))
		}
		at := c.out.tellAt.Load()
		c.out.mu.Unlock()
		if a := (agenda{now: now.Add(2 * time.Second)}); at == nil || !a.due(*at) {
			t.Errorf("stepped by %v, they are told at %v, and it is %v", by, at, now)
		}
		killed(t, c)
	}
}
