package service

import (
	"os"
	"syscall"
	"testing"
	"time"

	"oarlock/internal/must"
)

// A signal that comes before there is a service is kept for it, and ends nothing by itself.
func TestSignalsBeforeThereIsAService(t *testing.T) {
	caught := CatchSignals(true)
	defer caught.Release()
	must.Do(t, syscall.Kill(os.Getpid(), syscall.SIGTERM))
	for _, c := range []<-chan os.Signal{caught.stops, caught.all} {
		select {
		case s := <-c:
			if s != syscall.SIGTERM {
				t.Errorf("%v", s)
			}
		case <-time.After(time.Minute):
			t.Fatal("it was not caught")
		}
	}
}

// What endangers jobs is logged when it begins, also while a supervisor runs, and not with each look.
func TestRisksOfMemoryAreLoggedOnce(t *testing.T) {
	m := &redisMemory{}
	for i, tt := range []struct {
		risks []string
		want  int
	}{{nil, 0}, {[]string{"1.5 GiB of 2 GiB are in use"}, 1}, {[]string{"1.6 GiB of 2 GiB are in use", "evicts"}, 1}, {nil, 0}, {[]string{"evicts"}, 1}} {
		m.risks = tt.risks
		if got := m.unlogged(); len(got) != tt.want {
			t.Errorf("look %d: %q", i, got)
		}
	}
}
