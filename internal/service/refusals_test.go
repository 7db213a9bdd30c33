package service

import (
	"testing"
	"time"
)

// However often a job is refused the control socket, the log has one line per ten seconds, with the number of attempts.
func TestRefusalsDoNotFloodTheLog(t *testing.T) {
	var r refusals
	lines, told, at := 0, 0, time.Now()
	for range 60_000 { // of a minute
		if n, worth := r.add(at); worth {
			lines++
			told += n
		}
		at = at.Add(time.Millisecond)
	}
	if lines != 6 || told != 50_001 {
		t.Errorf("%d lines tell of %d attempts, want 6 of 50,001", lines, told)
	}
}
