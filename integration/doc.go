// Package integration tests the whole: the built binary as real processes, a real
// redis-server, real children, and faults in all of them. FAULTS.md says which
// fault is injected how, what must hold, and which test shows it.
//
// The handlers' ledger decides, not the log: each handler appends what it does to
// a file with one write a line, and the checker compares the file with Redis.
package integration
