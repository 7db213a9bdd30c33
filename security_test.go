package main

import (
	"os"
	"os/exec"
	"regexp"
	"testing"
)

// SECURITY.md says by which tests something is defended: these are there.
func TestSecurityNamesItsTests(t *testing.T) {
	text, err := os.ReadFile("SECURITY.md")
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("`(Test[A-Za-z]+)`").FindAllStringSubmatch(string(text), -1)
	if len(named) < 20 {
		t.Errorf("it names %d tests", len(named))
	}
	for _, name := range named {
		if out, err := exec.Command("grep", "-rlE", "^func "+name[1]+`\(`, "--include=*_test.go", ".").Output(); err != nil || len(out) == 0 {
			t.Errorf("SECURITY.md names %s, which there is not", name[1])
		}
	}
}
