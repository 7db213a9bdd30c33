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
	for _, name := range append(ill, "plain", "mail/eu:1@x%5+") {
		if out := inShell(t, dir, "sh", name); out != name {
			t.Errorf("%q: %s", name, out)
		}
	}
	for _, name := range []string{"new\nline", "a\x1b[31mb\x07\nc", "it's\n$(touch pwned)'; touch pwned #", "\xff\u202e7 \\n é", "\x010"} {
		if Visible(InShell(name)) != InShell(name) {
			t.Errorf("%q becomes %q, which is shown as %s", name, InShell(name), Visible(InShell(name)))
		}
		if out := inShell(t, dir, "bash", name); out != name {
			t.Errorf("%q: %q", name, out)
		}
		inShell(t, dir, "sh", name)
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

// inShell is what a program is given that is started from a shell behind which a name was copied.
func inShell(t *testing.T, dir, shell, name string) string {
	t.Helper()
	cmd := exec.Command(shell, "-c", "printf '[%s]' "+InShell(name))
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil || len(out) < 2 {
		t.Fatalf("%q: %v %s", name, err, out)
	}
	return string(out[1 : len(out)-1])
}
