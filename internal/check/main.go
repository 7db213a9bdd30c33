// Check is the project's gate: it installs what the tests need, then runs
// format, vet, staticcheck and all tests, with the race detector where there can
// be races, and ends with a count. `make test` and `.ci/run` call it and nothing else.
//
//	go run ./internal/check [-faults] [-run REGEXP] [-no-install] [packages]
//
// With REQUIRE_ALL=1 a skipped test is a failure; without it skips are counted
// loudly. The exit code is 0 only if everything passed; a test or two that fail
// while all others run, and pass several times alone, are told as unsteady.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// staticcheck is pinned, so that a new release cannot fail an old commit.
const staticcheck = "honnef.co/go/tools/cmd/staticcheck@v0.8.2"

// quickExit is what GORACE says for that.
const quickExit = "atexit_sleep_ms=0"

// longest are the packages whose tests take longest: begun first, they are not what everybody waits for at the end.
var longest = []string{"./queue", "./supervisor", "./internal/cli", "./internal/web", "./runner", "./internal/doctor", "./internal/bench", "./internal/trial"}

// unraced are the packages whose tests run the program that is built for its users: the race detector would see nothing but the tests themselves, and
// make them slow.
var unraced = []string{"./integration", "./examples/..."}

// together is how many packages are tested at a time: one more than there are processors, for many of their tests wait for
// locks to run out, or for processes to end.
func together() string { return strconv.Itoa(runtime.NumCPU() + 1) }

func main() {
	faults := flag.Bool("faults", false, "run the whole fault matrix, not only its fast part")
	only := flag.String("run", "", "run only the tests whose names match this `regexp`")
	noInstall := flag.Bool("no-install", false, "install nothing, only say what is missing")
	flag.Parse()
	packages := flag.Args()
	if len(packages) == 0 {
		packages = []string{"./..."}
	}
	if *faults {
		os.Setenv("OARLOCK_FAULTS", "all")
	}
	requireAll := os.Getenv("REQUIRE_ALL") == "1"

	missing := findTools(!*noInstall)
	for _, tool := range missing {
		fmt.Printf("MISSING %s: %s; install %s\n", tool.command, tool.use, tool.hint())
	}
	if requireAll && len(missing) > 0 {
		fail("a tool is missing and REQUIRE_ALL=1")
	}

	// As the program is released: then what is built for one step serves all, but for the race detector, which needs C (see test).
	os.Setenv("CGO_ENABLED", "0")

	step("gofmt", func() error {
		out, err := exec.Command("gofmt", "-l", ".").Output()
		if err == nil && len(out) > 0 {
			err = fmt.Errorf("not formatted: %s", strings.Join(strings.Fields(string(out)), " "))
		}
		return err
	})
	step("go vet", func() error { return run("go", append([]string{"vet"}, packages...)...) })
	step("staticcheck", func() error { return run("go", append([]string{"run", staticcheck}, packages...)...) })

	// The race detector lets each program sleep for a second before it exits, and the tests run thousands.
	if os.Getenv("GORACE") == "" {
		os.Setenv("GORACE", quickExit)
	}
	timeout := "40m" // of a package; a quiet machine needs a quarter of it
	if *faults {
		timeout = "3h"
	}
	started := time.Now()
	var sum summary
	var err error
	if flag.NArg() == 0 && *only == "" {
		sum, err = testAll(timeout, !*noInstall)
	} else {
		sum, err = test(".", append([]string{"-race", "-p", together(), "-timeout", timeout, "-run", *only}, packages...))
		if slices.Contains(packages, "./...") {
			more, failed := testModules(timeout, *only, !*noInstall)
			sum.add(more)
			err = errors.Join(err, failed)
		}
	}
	sum.again(repeat, os.Stdout)
	for _, skip := range sum.skips {
		fmt.Printf("SKIPPED %s\n", skip)
	}
	if *faults {
		sum.rows.print(os.Stdout)
	}
	sum.tellLongest(os.Stdout)
	fmt.Printf("tests took %s\n", time.Since(started).Round(time.Second))
	for _, name := range sum.unsteady {
		fmt.Printf("UNSTEADY %s: it failed above, and passed %d times alone; find out why before it hides a fault\n", name, againRuns)
	}
	fmt.Printf("%d passed, %d failed, %d skipped, %d unsteady\n", sum.passed, sum.failed, len(sum.skips), len(sum.unsteady))
	switch {
	case err != nil || sum.failed > 0:
		fail("tests failed")
	case sum.passed == 0:
		fail("no test ran")
	case requireAll && len(sum.skips) > 0:
		fail("tests were skipped and REQUIRE_ALL=1")
	}
}

// testAll runs all tests: under the race detector what can have races, and then the modules of their own; and beside that, a package at a time, the others.
func testAll(timeout string, install bool) (summary, error) {
	packages, err := racing()
	if err != nil {
		return summary{}, err
	}
	alone, err := testsAlone()
	if err != nil {
		return summary{}, err
	}
	type result struct {
		sum summary
		err error
	}
	beside := make(chan result, 1)
	go func() {
		one := []string{"-p", "1", "-timeout", timeout}
		sum, err := test(".", slices.Concat(one, unraced))
		args := slices.Concat(one, []string{"-run", alone})
		for _, dir := range dirsAlone() {
			args = append(args, "./"+dir)
		}
		more, failed := test(".", args)
		sum.add(more)
		beside <- result{sum, errors.Join(err, failed)}
	}()
	sum, err := test(".", append([]string{"-race", "-p", strconv.Itoa(runtime.NumCPU()), "-timeout", timeout, "-skip", alone}, packages...))
	more, failed := testModules(timeout, "", install)
	sum.add(more)
	others := <-beside
	sum.add(others.sum)
	return sum, errors.Join(err, failed, others.err)
}

// testModules runs the tests of the modules of their own.
func testModules(timeout, only string, install bool) (summary, error) {
	sum, err := browse(timeout, only, install)
	more, failed := export(timeout, only)
	sum.add(more)
	return sum, errors.Join(err, failed)
}

// racing are the packages that are tested under the race detector, the longest first.
func racing() ([]string, error) {
	list := func(patterns ...string) ([]string, error) {
		cmd := exec.Command("go", append([]string{"list"}, patterns...)...)
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		return strings.Fields(string(out)), err
	}
	first, err := list(longest...) // which sorts them
	others, failed := list(unraced...)
	all, failedToo := list("./...")
	if err := errors.Join(err, failed, failedToo); err != nil {
		return nil, err
	}
	rest := slices.DeleteFunc(all, func(name string) bool { return slices.Contains(first, name) || slices.Contains(others, name) })
	return append(slices.Clone(longest), rest...), nil
}

// step runs one named part of the gate and ends the program if it fails.
func step(name string, part func() error) {
	started := time.Now()
	if err := part(); err != nil {
		fail(fmt.Sprintf("%s: %v", name, err))
	}
	fmt.Printf("%s ok (%s)\n", name, time.Since(started).Round(time.Second/10))
}

// run runs a command with our own output channels.
func run(name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd.Run()
}

func fail(why string) {
	fmt.Fprintln(os.Stderr, "check:", why)
	os.Exit(1)
}
