package service

import (
	"os"
	"runtime"
)

// LeaveCores keeps this program from spreading over the whole machine: it only passes on
// what children and Redis do, and the cores are theirs. Threads that wake each other for
// next to nothing would cost a fifth of its own time, too. GOMAXPROCS in the environment
// is obeyed. It is called first thing.
func LeaveCores() {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(max(1, min(runtime.GOMAXPROCS(0)/2, mostCores)))
	}
}

// mostCores pass on a hundred thousand jobs a second; Redis manages a third of that.
const mostCores = 4
