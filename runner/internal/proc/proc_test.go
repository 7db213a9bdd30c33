package proc

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

func TestRead(t *testing.T) {
	s, ok := Read(os.Getpid())
	if !ok || s.Parent != os.Getppid() || s.Group != syscall.Getpgrp() || s.Start == 0 || !strings.ContainsRune("RS", rune(s.State)) {
		t.Errorf("of ourselves it says %+v, %v", s, ok)
	}
	cmd := exec.Command("sleep", "600")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(Children(nil, os.Getpid()), cmd.Process.Pid) || !slices.Contains(Descendants(os.Getpid()), cmd.Process.Pid) {
		t.Error("a child is not among our children")
	}
	cmd.Process.Kill()
	cmd.Wait()
	if s, ok := Read(cmd.Process.Pid); ok {
		t.Errorf("of a process that is gone it says %+v", s)
	}
}

func TestStatOfAnAwkwardName(t *testing.T) {
	name := filepath.Join(t.TempDir(), "a) R 1 (b")
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(sleep, name); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(name, "600")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s, ok := Read(cmd.Process.Pid)
	if !ok || s.Parent != os.Getpid() {
		t.Errorf("it says %+v, %v", s, ok)
	}
	cmd.Process.Kill()
	cmd.Wait()
}
