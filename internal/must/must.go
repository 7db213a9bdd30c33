// Package must ends a test at an error that it does not expect.
package must

import "testing"

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
