//go:build race

package integration

// raceFlags builds the binary under test as the tests themselves were built.
var raceFlags = []string{"-race"}
