package tree

import (
	"errors"
	"fmt"
	"os/exec"
	"syscall"
	"testing"
)

func TestShort(t *testing.T) {
	missing := exec.Command("/no/such/program").Run()
	for err, want := range map[error]bool{
		fmt.Errorf("start: %w", syscall.EAGAIN): true,
		startError{"no room", syscall.ENOSPC}:   true,
		missing:                                 false,
		errors.New("some other trouble"):        false,
	} {
		if Short(err) != want {
			t.Errorf("Short(%v) = %v, want %v", err, !want, want)
		}
	}
}

func TestAProgramTellsOfAShortage(t *testing.T) {
	for told, want := range map[string]bool{
		"[Errno 11] Resource temporarily unavailable": true,
		"Cannot allocate memory - fork(2)":            true,
		"no such thing":                               false,
	} {
		if err := fmt.Errorf("preload: %w", CannotFork(told)); Short(err) != want {
			t.Errorf("Short(%v) = %v, want %v", err, !want, want)
		}
	}
}
