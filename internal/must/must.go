// Package must ends a test at an error that it does not expect, or where a program that it needs is missing.
package must

import (
	"os"
	"os/exec"
	"testing"
)

// Do fails the test if err is not nil.
func Do(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Get passes a value on to the test that the result is given, and fails that test if there is an error:
//
//	file := must.Get(os.Open(path))(t)
func Get[T any](value T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		Do(t, err)
		return value
	}
}

// Have skips the test where a program is not installed. With REQUIRE_ALL=1 in the environment the test fails.
func Have(t testing.TB, program string) {
	t.Helper()
	if _, err := exec.LookPath(program); err == nil {
		return
	}
	if os.Getenv("REQUIRE_ALL") == "1" {
		t.Fatalf("%s is not installed", program)
	}
	t.Skipf("SKIPPED %s is not installed", program)
}
