//go:build !race

package integration

// raceFlags is empty: the binary under test is built as the tests themselves were.
var raceFlags []string
