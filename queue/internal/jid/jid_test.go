package jid

import (
	"strings"
	"sync"
	"testing"
	"time"
)

func TestJIDsFall(t *testing.T) {
	var s sequence
	start := time.UnixMicro(1_700_000_000_000_000)
	last := s.next(start)
	for i := range 20_000 {
		at := start.Add(time.Duration(i/5000) * time.Microsecond)
		if i == 12_000 {
			start = start.Add(-time.Hour) // somebody sets the clock
		}
		next := s.next(at)
		if next >= last || len(next) != 16 {
			t.Fatalf("%s after %s", next, last)
		}
		last = next
	}
	if next := s.next(time.UnixMicro(1<<52 - 2)); next >= last || len(next) != 16 {
		t.Errorf("in the year 2112: %s after %s", next, last)
	}

	var seen sync.Map
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			before := "~"
			for range 2000 {
				jid := New()
				if _, twice := seen.LoadOrStore(jid, true); twice || len(jid) != 32 || jid >= before || strings.Trim(jid, "0123456789abcdef") != "" {
					t.Errorf("%s after %s", jid, before)
				}
				before = jid
			}
		})
	}
	all.Wait()
	if a, b := New(), New(); a[16:] == b[16:] {
		t.Error("the last half is no chance")
	}
}
