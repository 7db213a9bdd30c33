package screen

import (
	"os"
	"os/exec"
	"testing"
)

// ill are names that somebody may choose in the hope that an operator copies them into a shell.
var ill = []string{"x; touch pwned", "$(touch pwned)", "`touch pwned`", "it's; touch pwned", "a b", "~root", "=ls", "*", "!!", "{a,b}", "x&touch pwned", "#x", ""}

func TestNamesStayOneWordInAShell(t *testing.T) {
	dir := t.TempDir()
	for _, name := range append(ill, "plain", "mail/eu:1@x%5+", "new\nline") {
		cmd := exec.Command("sh", "-c", "printf '[%s]' "+InShell(name))
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil || string(out) != "["+name+"]" {
			t.Errorf("%q: %v %s", name, err, out)
		}
	}
	for name, want := range map[string]string{"mail": "mail", "a b": "'a b'", "-rf": "-- '-rf'"} {
		if got := InShell(name); got != want {
			t.Errorf("%q becomes %q", name, got)
		}
	}
	if found, err := os.ReadDir(dir); err != nil || len(found) > 0 {
		t.Errorf("there are files: %v, %v", found, err)
	}
}
