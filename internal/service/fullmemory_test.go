package service

import (
	"testing"

	"oarlock/supervisor"
)

// Without memory jobs go on being taken by children that end one; only puts are refused.
func TestManagerIsToldWhatWorksWithoutMemory(t *testing.T) {
	shot := supervisor.Snapshot{Redis: "is out of memory: OOM", Ready: true}
	want := "Redis at r:6379 is out of memory (OOM); no job can be put; a child that ends a job still takes the next; 0 of 0 children busy"
	if got := managerStatus(shot, true, "r:6379"); got != want {
		t.Errorf("it is told %q, want %q", got, want)
	}
}
