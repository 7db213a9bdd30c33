package service

import (
	"os"
	"testing"

	"oarlock/internal/must"
)

func TestThreadsAreMadeBeforehand(t *testing.T) {
	makeThreads()
	threads := must.Get(os.ReadDir("/proc/self/task"))(t)
	if len(threads) < spareThreads {
		t.Errorf("there are %d threads, want %d at least", len(threads), spareThreads)
	}
}
