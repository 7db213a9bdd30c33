package service

import (
	"os"
	"testing"
)

func TestThreadsAreMadeBeforehand(t *testing.T) {
	makeThreads()
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	if len(threads) < spareThreads {
		t.Errorf("there are %d threads, want %d at least", len(threads), spareThreads)
	}
}
