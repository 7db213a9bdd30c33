package tree

import "time"

// Watcher has the guard that watches the lease of p look at the time now, and returns what tells when it
// will look next; nil where no lease is enforced. It is for tests, which wait for that.
func Watcher(p Process, now time.Duration) (next func() time.Duration) {
	held := p.(interface{ watched() *lease }).watched()
	if held == nil {
		return nil
	}
	held.guard.rouse(int64(now))
	alarm := &held.guard.leases.page.rows[held.guard.number].alarm
	return func() time.Duration { return time.Duration(alarm.Load()) }
}
