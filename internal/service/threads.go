package service

import (
	"runtime"
	"sync"
)

// spareThreads are more than a supervisor has been seen to need at once.
const spareThreads = 16

// makeThreads has Go's runtime make the threads of this program now. It keeps them, and makes
// more when it needs them; and where the system refuses one, the program dies. That happens
// when a host, or a limit on us, has run out of processes: then, of all times, whoever started
// them must live.
func makeThreads() {
	var all sync.WaitGroup
	all.Add(spareThreads)
	done := make(chan struct{})
	var over sync.WaitGroup
	for range spareThreads {
		over.Go(func() {
			runtime.LockOSThread() // one for each, for as long as all are held
			defer runtime.UnlockOSThread()
			all.Done()
			<-done
		})
	}
	all.Wait()
	close(done)
	over.Wait()
}
