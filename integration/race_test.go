//go:build race

package integration

func init() {
	// A binary with the race detector needs many times the processor time; the fast
	// set has two cores and locks of two seconds.
	if wholeMatrix {
		buildFlags = append(buildFlags, "-race")
	}
}
