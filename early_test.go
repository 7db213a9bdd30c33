//go:build !race

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"testing"
)

// TestChildrenBeginEarly: the binary becomes the program of a child before it has initialized what it consists of;
// this one consists of the same. An import too many in package early, and it does so late.
func TestChildrenBeginEarly(t *testing.T) {
	cmd := exec.Command(os.Args[0], "exec-child", "sh", "-c", `echo became "$0" $OARLOCK_EARLY$OARLOCK_EXEC`, "a program")
	cmd.Env = append(os.Environ(), fmt.Sprintf("OARLOCK_EARLY=%d 3 3 0 1 0 ", os.Getpid()), "OARLOCK_EXEC={}", "GODEBUG=inittrace=1")
	out, err := cmd.CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("became a program\n")) {
		t.Fatalf("%v: %s", err, out)
	}
	if initialized := bytes.Count(out, []byte("\ninit ")); initialized > 20 || bytes.Contains(out, []byte("init os @")) {
		t.Errorf("%d packages were initialized before it became the program:\n%s", initialized, out)
	}
}
