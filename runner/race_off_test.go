//go:build !race

package runner

// raceEnabled tells whether the race detector makes everything slow.
const raceEnabled = false
