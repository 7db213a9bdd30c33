//go:build !race

package protocol

// raceEnabled tells whether the race detector makes everything slow.
const raceEnabled = false
