package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// event is one line of `go test -json`; `go doc test2json` documents its shape.
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
	long           int      // left to the long run
	skips          []string // "package Test: reason" of the others
	failures       []string // "package Test"
	tests          []event  // how the tests ended, without their subtests
}

// test runs `go test` with args in dir. It prints a line per package, the output of what failed, and the lines in which tests
// report measurements ("row …", "seed …"). The error concerns the go command, not a test.
func test(dir string, args []string) (summary, error) {
	cmd := exec.Command("go", append([]string{"test", "-json", "-vet=off"}, args...)...)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	if slices.Contains(args, "-race") {
		cmd.Env = append(os.Environ(), "CGO_ENABLED=1")
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return summary{}, err
	}
	if err := cmd.Start(); err != nil {
		return summary{}, err
	}
	sum := report(out, os.Stdout)
	if err = cmd.Wait(); sum.failed > 0 {
		err = nil // the tests that failed say more
	}
	return sum, err
}

func report(in io.Reader, w io.Writer) (sum summary) {
	said := make(map[string]string) // output by package and test, until the test ends
	failedIn := make(map[string]bool)
	lines := bufio.NewReaderSize(in, 1<<20)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) == 0 && err != nil {
			return sum
		}
		var e event
		if json.Unmarshal(line, &e) != nil {
			fmt.Fprint(w, string(line)) // from the go command, before any test
			continue
		}
		key := e.Package + " " + e.Test
		switch e.Action {
		case "build-output":
			fmt.Fprint(w, e.Output)
		case "output":
			if text := strings.TrimSpace(e.Output); strings.HasPrefix(text, "row ") || strings.Contains(text, " seed ") {
				fmt.Fprintln(w, text)
			}
			if !strings.HasPrefix(e.Output, "=== ") {
				said[key] += e.Output
			}
		case "pass", "skip", "fail":
			sum.end(e, said, failedIn, w)
			delete(said, key)
		}
	}
}

// end counts the end of a test, or of a package, and prints what failed.
func (s *summary) end(e event, said map[string]string, failedIn map[string]bool, w io.Writer) {
	key := e.Package + " " + e.Test
	switch {
	case e.Action == "fail":
		fmt.Fprintf(w, "FAIL %s (%.1fs)\n%s", key, e.Elapsed, said[key])
		if e.Test == "" && failedIn[e.Package] {
			break // its tests are counted
		}
		s.failed++
		s.failures = append(s.failures, key)
		failedIn[e.Package] = true
		for other, text := range said { // a package that crashed or ran out of time has tests that have not ended
			if e.Test == "" && strings.HasPrefix(other, key) && other != key {
				fmt.Fprintf(w, "NOT ENDED %s\n%s", other, text)
			}
		}
	case e.Test == "":
		fmt.Fprintf(w, "ok   %s(%.1fs)\n", key, e.Elapsed)
	case e.Action == "skip":
		if strings.Contains(said[key], ": long: ") {
			s.long++
		} else {
			s.skips = append(s.skips, key+": "+strings.Join(strings.Fields(said[key]), " "))
		}
	default:
		s.passed++
	}
	if e.Test != "" && !strings.Contains(e.Test, "/") {
		s.tests = append(s.tests, e)
	}
}

// add counts another summary in.
func (s *summary) add(o summary) {
	s.passed, s.failed, s.long = s.passed+o.passed, s.failed+o.failed, s.long+o.long
	s.skips, s.failures, s.tests = append(s.skips, o.skips...), append(s.failures, o.failures...), append(s.tests, o.tests...)
}

// print ends with the counts, after the tests that took longest and those that failed or were skipped.
func (s *summary) print(w io.Writer, took time.Duration) {
	slices.SortFunc(s.tests, func(a, b event) int { return cmp.Compare(b.Elapsed, a.Elapsed) })
	fmt.Fprintln(w, "longest tests:")
	for _, e := range s.tests[:min(len(s.tests), 25)] {
		fmt.Fprintf(w, "  %6.1fs %s %s\n", e.Elapsed, e.Package, e.Test)
	}
	for _, skip := range s.skips {
		fmt.Fprintln(w, "SKIPPED", skip)
	}
	for _, name := range s.failures {
		fmt.Fprintln(w, "FAILED", name)
	}
	fmt.Fprintf(w, "tests took %s; %d left to make test-long\n", took.Round(time.Second), s.long)
	fmt.Fprintf(w, "%d passed, %d failed, %d skipped\n", s.passed, s.failed, len(s.skips))
}
