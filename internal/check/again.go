package main

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const (
	// mostUnsteady is how many failed tests may turn out to be unsteady; of more, something else is the cause.
	mostUnsteady = 2
	// againRuns is how often a failed test has to pass alone.
	againRuns = 3
)

// failure is a test, with its subtests, that failed.
type failure struct {
	dir  string // of the module, as test was told
	race bool   // it ran under the race detector
	name string // the package
	test string
	// counted is how many were counted as failed for it: it, and its subtests.
	counted int
	// final is whether another run could not acquit it: it raced or panicked, or chose its input at random, and another run
	// would choose another.
	final bool
}

// grave matches what a test says that another run does not make good.
var grave = regexp.MustCompile(`DATA RACE|race detected|panic:|fatal error:|test timed out|(?i)\bseed\b|\[rapid\]`)

// named matches the lines that merely name a test or a row of the fault matrix, whose seed is always the same here.
var named = regexp.MustCompile(`(?m)^(row |=== | *--- ).*$`)

// runAlone runs one failed test again, againRuns times, and is nil if it passed each time.
type runAlone func(failure) error

// again runs failed tests once more, each alone. This gate runs thousands of real processes on whatever machine there is, and one
// test of them that met a second of another's load must not refuse a change; but one that fails alone does, as does one of
// which more is known than that it failed. Those that it acquits are unsteady: they are told loudly, and not counted as failed.
func (s *summary) again(alone runAlone, w io.Writer) {
	tests := 0
	for _, f := range s.failures {
		tests += f.counted
	}
	if tests != s.failed || len(s.failures) > mostUnsteady || slices.ContainsFunc(s.failures, func(f failure) bool { return f.final }) {
		return
	}
	for _, f := range s.failures {
		fmt.Fprintf(w, "AGAIN %s %s, %d times alone\n", f.name, f.test, againRuns)
		if err := alone(f); err != nil {
			fmt.Fprintf(w, "AGAIN %s %s: %v\n", f.name, f.test, err)
			continue
		}
		s.failed -= f.counted
		s.unsteady = append(s.unsteady, f.name+" "+f.test)
	}
}

// repeat is how go test does it.
func repeat(f failure) error {
	args := []string{"-timeout", "10m", "-count", strconv.Itoa(againRuns), "-run", "^" + regexp.QuoteMeta(f.test) + "$", f.name}
	if f.race {
		args = append([]string{"-race"}, args...)
	}
	sum, err := test(f.dir, args)
	if err == nil && (sum.failed > 0 || sum.passed == 0 || len(sum.skips) > 0) {
		err = fmt.Errorf("%d passed, %d failed, %d skipped", sum.passed, sum.failed, len(sum.skips))
	}
	return err
}

// failureOf finds the failed test that a test belongs to, and makes it if it is the first of its name.
func (s *summary) failureOf(e event) *failure {
	top, _, _ := strings.Cut(e.Test, "/")
	for i := range s.failures {
		if f := &s.failures[i]; f.name == e.Package && f.test == top {
			return f
		}
	}
	s.failures = append(s.failures, failure{name: e.Package, test: top})
	return &s.failures[len(s.failures)-1]
}
