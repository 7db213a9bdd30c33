package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestEachTestIsRun: the tests that run without the race detector are all of package queue, and there are none of their names elsewhere, which nobody
// would run.
func TestEachTestIsRun(t *testing.T) {
	t.Chdir("../..")
	found := map[string][]string{}
	function := regexp.MustCompile(`(?m)^func (Test\w*)\(`)
	err := filepath.WalkDir(".", func(path string, e fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range function.FindAllStringSubmatch(string(text), -1) {
			if slices.Contains(alone, m[1]) {
				found[m[1]] = append(found[m[1]], filepath.Dir(path))
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range alone {
		if where := found[name]; len(where) != 1 || where[0] != "queue" {
			t.Errorf("%s is in %v", name, where)
		}
	}
	packages, err := racing()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range packages {
		if strings.HasSuffix(name, "/integration") || strings.Contains(name, "/examples") {
			t.Errorf("%s is tested twice", name)
		}
	}
	if !slices.Contains(packages, "oarlock/protocol") || slices.Contains(packages, "oarlock/queue") || !slices.Contains(packages, "./queue") {
		t.Errorf("tested are %v", packages)
	}
}
