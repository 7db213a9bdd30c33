package queue

import "testing"

// must passes a value on if there is no error.
func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		ok(t, err)
		return v
	}
}

// ok ends a test that met an error.
func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// never notes a failure, and what it is, where something is so that must not be.
func never(t testing.TB, is bool, what string, args ...any) {
	t.Helper()
	if is {
		t.Errorf(what, args...)
	}
}

// stop ends a test where something is so that must not be, and says what.
func stop(t testing.TB, is bool, what string, args ...any) {
	t.Helper()
	if is {
		t.Fatalf(what, args...)
	}
}
