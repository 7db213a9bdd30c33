package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// event is one line of `go test -json`; its shape is documented by `go doc test2json`.
type event struct {
	Action  string
	Package string
	Test    string
	Elapsed float64
	Output  string
}

// summary counts tests and their subtests alike, and packages that failed outside of a test.
type summary struct {
	passed, failed int
	failures       []failure // the tests that failed, with their subtests
	unsteady       []string  // "package Test" of those that again acquitted
	skips          []string  // "package Test: reason"
	rows           rows      // of the fault matrix
	longest        []event   // tests, not their subtests, that took longest
}

// test runs `go test` with args in a directory, prints a line a package, the output of whatever
// failed and the lines that tests print for their readers, and counts. An error is of what is no test's failure. It
// does not vet: that is a step before, which finds more.
func test(dir string, args []string) (summary, error) {
	cmd := exec.Command("go", append([]string{"test", "-json", "-vet=off"}, args...)...)
	cmd.Dir = dir
	if slices.Contains(args, "-race") {
		cmd.Env = append(os.Environ(), "CGO_ENABLED=1")
	}
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return summary{}, err
	}
	if err := cmd.Start(); err != nil {
		return summary{}, err
	}
	sum := report(out, os.Stdout)
	for i := range sum.failures {
		sum.failures[i].dir, sum.failures[i].race = dir, slices.Contains(args, "-race")
	}
	if err = cmd.Wait(); sum.failed > 0 {
		err = nil // it says no more than that
	}
	return sum, err
}

func report(in io.Reader, w io.Writer) summary {
	sum := summary{rows: make(rows)}
	said := make(map[string][]string) // output by package and test, until we know how it ended
	running := make(map[string]bool)  // tests by package and test
	failedIn := make(map[string]int)  // failed tests by package
	lines := bufio.NewReaderSize(in, 1<<20)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) == 0 && err != nil {
			return sum
		}
		var e event
		if json.Unmarshal(line, &e) != nil {
			fmt.Fprint(w, string(line)) // the go command itself, before any test
			continue
		}
		key := e.Package + " " + e.Test
		switch e.Action {
		case "run":
			running[key] = true
		case "output":
			if strings.HasPrefix(strings.TrimSpace(e.Output), "row ") {
				fmt.Fprint(w, e.Output) // a row of the fault matrix reports itself
				sum.rows.add(e.Output)
			}
			if !running[key] {
				key = e.Package + " " // what a parallel test prints counts for the one that was named last, which may have ended
			}
			said[key] = append(said[key], e.Output)
		case "build-output":
			fmt.Fprint(w, e.Output)
		case "pass":
			if e.Test != "" {
				sum.passed++
				sum.took(e)
			} else {
				fmt.Fprintf(w, "ok   %s (%.1fs)\n", e.Package, e.Elapsed)
			}
			delete(said, key)
			delete(running, key)
		case "skip":
			if e.Test != "" {
				sum.skips = append(sum.skips, key+": "+reason(said[key]))
			}
			delete(said, key)
			delete(running, key)
		case "fail":
			if e.Test != "" {
				sum.failed++
				failedIn[e.Package]++
				f := sum.failureOf(e)
				f.counted++
				f.final = f.final || grave.MatchString(named.ReplaceAllString(strings.Join(said[key], ""), ""))
			}
			text := strings.Join(said[key], "")
			fmt.Fprintf(w, "FAIL %s (%.1fs)\n%s", key, e.Elapsed, text)
			delete(said, key)
			delete(running, key)
			if e.Test == "" && (unended(w, said, running, e.Package) > 0 || failedIn[e.Package] == 0 || grave.MatchString(named.ReplaceAllString(text, ""))) {
				sum.failed++ // it did not build, crashed, or ran out of time
			}
		}
	}
}

// add counts another summary in.
func (s *summary) add(other summary) {
	s.passed, s.failed, s.skips = s.passed+other.passed, s.failed+other.failed, append(s.skips, other.skips...)
	s.failures, s.unsteady = append(s.failures, other.failures...), append(s.unsteady, other.unsteady...)
	maps.Copy(s.rows, other.rows)
	for _, e := range other.longest {
		s.took(e)
	}
}

// unended prints what the tests of a package said that had not ended when it did, for it crashed in one of them, and counts them.
func unended(w io.Writer, said map[string][]string, running map[string]bool, name string) (tests int) {
	for _, key := range slices.Sorted(maps.Keys(running)) {
		if strings.HasPrefix(key, name+" ") {
			fmt.Fprintf(w, "NOT ENDED %s\n%s", key, strings.Join(said[key], ""))
			delete(said, key)
			delete(running, key)
			tests++
		}
	}
	return tests
}

// took keeps e if it is among the tests that took longest.
func (s *summary) took(e event) {
	if strings.Contains(e.Test, "/") {
		return
	}
	s.longest = append(s.longest, e)
	slices.SortFunc(s.longest, func(a, b event) int { return cmp.Compare(b.Elapsed, a.Elapsed) })
	s.longest = s.longest[:min(len(s.longest), mostLongest)]
}

// mostLongest is how many of them are told.
const mostLongest = 25

// tellLongest prints them.
func (s *summary) tellLongest(w io.Writer) {
	fmt.Fprintln(w, "longest tests:")
	for _, e := range s.longest {
		fmt.Fprintf(w, "  %6.1fs %s %s\n", e.Elapsed, e.Package, e.Test)
	}
}

// reason is what a skipped test said, without the lines of the test runner.
func reason(output []string) string {
	var words []string
	for _, line := range output {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "=== ") && !strings.HasPrefix(line, "--- ") {
			words = append(words, line)
		}
	}
	return strings.Join(words, " ")
}
