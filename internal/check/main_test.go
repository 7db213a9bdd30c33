package main

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestEachTestIsRun: no package is tested twice or not at all, and what runs without the race detector starts nothing, and has no
// namesake elsewhere, which nobody would run.
func TestEachTestIsRun(t *testing.T) {
	t.Chdir("../..")
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
	pattern, err := testsAlone()
	if err != nil {
		t.Fatal(err)
	}
	alone := regexp.MustCompile(pattern)
	for name, want := range map[string]bool{
		"TestGateModel": true, "TestConformance": true, "TestHostileTextsOfAllCommands": true, "TestKeysOfWrongTypes": true, "FuzzKeys": true, // of models and commands
		"TestJobs": false, "TestMain": false, // in other packages, too
		"TestASignalThatComesTwiceAtOnceIsOne": false,                      // beside a supervisor
		"TestSessionsAreShared":                false, "TestArrows": false, // are not there
	} {
		if alone.MatchString(name) != want {
			t.Errorf("%s runs without the race detector: %v", name, !want)
		}
	}
	for name := range costly {
		if !alone.MatchString(name) {
			t.Errorf("%s is not there", name)
		}
	}
	if dirs := dirsAlone(); !slices.Contains(dirs, "queue") || !slices.Contains(dirs, "supervisor") {
		t.Errorf("only %v have tests that run without the race detector", dirs)
	}
	if n := strings.Count(pattern, "|"); n < 200 {
		t.Errorf("%d tests run without the race detector", n)
	}
}
