//go:build !race

package tree

// prompt is what a process of ours needs in its environment to end when it does: nothing.
var prompt []string

func ownEnvironment() {}
