//go:build race

package tree

import "os"

// prompt is what lets a process of ours that has the race detector end when it does: else it sleeps for a second.
var prompt = []string{"GORACE=atexit_sleep_ms=0"}

// ownEnvironment takes it out of what is passed on.
func ownEnvironment() { os.Unsetenv("GORACE") }
