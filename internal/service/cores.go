package service

import (
	"os"
	"runtime"
	"runtime/debug"
)

// BeFrugal keeps this process from taking more of the machine than passing on what others do needs. It is
// called first thing.
func BeFrugal() {
	leaveCores()
	collectSeldom()
}

// leaveCores keeps this program from spreading over the whole machine: it only passes on
// what children and Redis do, and the cores are theirs. Threads that wake each other for
// next to nothing would cost a fifth of its own time, too. GOMAXPROCS in the environment
// is obeyed.
func leaveCores() {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(max(1, min(runtime.GOMAXPROCS(0)/2, mostCores)))
	}
}

// mostCores pass on a hundred thousand jobs a second; Redis manages a third of that.
const mostCores = 4

// collectSeldom lets garbage grow to one and a half times what is in use, which is a few
// MiB; those that it costs save some of this program's time. GOGC in the environment is
// obeyed.
func collectSeldom() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(150)
	}
}
