// Check is the project's gate: it installs what the tests need, then checks the format, runs go vet and the tests, and
// ends with a count. `make test` and `.ci/run` call it and nothing else.
//
//	go run ./internal/check [-long] [-no-install]
//
// Without -long the tests run with -short: models play a tenth of their length, and what a test skips with a reason that
// begins with "long:" is counted as left to the long run. With -long everything runs, staticcheck too, and the random tests take
// a new seed. With REQUIRE_ALL=1 any other skip is a failure. Nothing that fails is run again.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// staticcheck is pinned, so that a new release cannot fail an old commit.
const staticcheck = "honnef.co/go/tools/cmd/staticcheck@v0.8.2"

// raced are the packages whose tests run with the race detector: those in which goroutines share state. It makes tests several
// times slower, so packages that call Redis or a command from one goroutine run without it.
var raced = []string{
	"./supervisor/...", "./runner/...", "./queue/internal/...", "./protocol/...", "./internal/hub", "./internal/control", "./internal/web/...",
}

// longest are the packages without the race detector that take longest. They start first, so that the gate does not wait for
// one of them alone at the end.
var longest = []string{"./integration", "./queue", "./internal/cli"}

// modules are directories with a go.mod of their own, so that what they import is no dependency of the program.
var modules = []string{"integration/browser", "contrib/otlp"}

// parallel is how many tests of one package run at a time. Most of them wait for a lock to expire or a process to end.
const parallel = "8"

func main() {
	long := flag.Bool("long", false, "run everything at full length, and staticcheck")
	noInstall := flag.Bool("no-install", false, "install nothing, only say what is missing")
	flag.Parse()
	requireAll := os.Getenv("REQUIRE_ALL") == "1"

	if missing := findTools(!*noInstall); requireAll && missing > 0 {
		fail("a tool is missing and REQUIRE_ALL=1")
	}

	os.Setenv("CGO_ENABLED", "0")            // as the program is released; the race detector needs C, see test
	os.Setenv("GORACE", "atexit_sleep_ms=0") // else each of thousands of programs sleeps for a second before it exits
	if *long && os.Getenv("OARLOCK_SEED") == "" {
		os.Setenv("OARLOCK_SEED", strconv.FormatInt(time.Now().Unix()%100_000, 10))
		fmt.Printf("OARLOCK_SEED=%s repeats this run's random choices\n", os.Getenv("OARLOCK_SEED"))
	}

	step("gofmt", func() error {
		out, err := exec.Command("gofmt", "-l", ".").Output()
		if err == nil && len(out) > 0 {
			err = fmt.Errorf("not formatted: %s", strings.Join(strings.Fields(string(out)), " "))
		}
		return err
	})
	step("go vet", func() error { return run(".", "go", "vet", "./...") })
	if *long {
		step("staticcheck", func() error { return run(".", "go", "run", staticcheck, "./...") })
	}

	started := time.Now()
	sum, err := testAll(*long, !*noInstall)
	sum.print(os.Stdout, time.Since(started))
	if err != nil || sum.failed > 0 || sum.passed == 0 || requireAll && len(sum.skips) > 0 {
		fail(fmt.Sprintf("tests failed, or were skipped and REQUIRE_ALL=1 (%v)", err))
	}
}

// quarantined are tests that the gate does not run, because they fail now and then for a reason not yet found. Each has a
// date, at most two weeks ahead, by which it is steady or deleted.
var quarantined = []struct{ test, until, why string }{}

// testAll runs all tests: those with the race detector beside the others, then the other modules.
func testAll(long, install bool) (summary, error) {
	args := []string{"-short", "-timeout", "20m"}
	if long {
		args = []string{"-timeout", "3h"}
	}
	var skip []string
	for _, q := range quarantined {
		skip = append(skip, "^"+q.test+"$")
	}
	args = append(args, "-count", "1", "-parallel", parallel, "-skip", strings.Join(skip, "|"))
	plain, err := without(raced)
	if err != nil {
		return summary{}, err
	}
	var sum, other summary
	var failed error
	var withRace sync.WaitGroup
	withRace.Go(func() { other, failed = test(".", slices.Concat(args, []string{"-race"}, raced)) })
	sum, err = test(".", slices.Concat(args, plain))
	withRace.Wait()
	sum.add(other)
	err = errors.Join(err, failed)
	for _, dir := range modules {
		if _, missing := os.Stat(dir + "/node_modules"); install && missing != nil && dir == modules[0] {
			err = errors.Join(err, run(dir, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"))
		}
		more, failed := test(dir, append(args, "./..."))
		sum.add(more)
		err = errors.Join(err, failed, run(dir, "go", "vet", "./..."))
	}
	return sum, err
}

// without lists the packages that no pattern of some matches, longest first.
func without(some []string) ([]string, error) {
	args := slices.Concat([]string{"list"}, some, longest)
	named, err := exec.Command("go", args...).Output()
	all, failed := exec.Command("go", "list", "./...").Output()
	rest := slices.DeleteFunc(strings.Fields(string(all)), func(name string) bool { return slices.Contains(strings.Fields(string(named)), name) })
	return append(slices.Clone(longest), rest...), errors.Join(err, failed)
}

// step runs one named part of the gate and ends the program if it fails.
func step(name string, part func() error) {
	started := time.Now()
	if err := part(); err != nil {
		fail(fmt.Sprintf("%s: %v", name, err))
	}
	fmt.Printf("%s ok (%s)\n", name, time.Since(started).Round(time.Second/10))
}

// run runs a command in dir with our own output channels.
func run(dir, name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, os.Stdout, os.Stderr
	return cmd.Run()
}

func fail(why string) {
	fmt.Fprintln(os.Stderr, "check:", why)
	os.Exit(1)
}
