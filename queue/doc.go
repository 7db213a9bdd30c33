// Package queue knows what Redis knows about jobs, queues and locks. It speaks the qless
// protocol (and its dialect reqless) on the keys that all its clients share, and batch
// commands of our own that do the same for many jobs in one call. It starts no processes.
//
// # Producers
//
// A [Client] puts jobs, one or many in one round trip, and has a method for every command
// of the protocol: jobs, failed and recurring jobs, queues, tags, tracking, workers,
// settings, throttles, statistics, and events.
//
// # Workers
//
// A [Session] works under one worker name. Exchange settles finished jobs and takes new ones
// in one call, Renew extends all locks in one call. After a lost reply the session is
// fenced, Resolve and Held find out what had happened, and no job is lost or runs twice.
//
// # Scripts
//
// All that changes more than one key is Lua, one file per command under lua, which package
// internal/script puts together: into a small script per command, see [Script], and into one that
// any client of the protocol can load in place of its own, see [Unified]. PROTOCOL.md specifies what the commands do, BATCH.md
// those of our own and what we keep in Redis, ACL.md what a Redis user must be allowed.
//
// Keys that contradict each other are looked for, and mended, by package admin.
//
// # Time and data
//
// Times are seconds since the epoch on the server's clock, as float64, to the microsecond;
// durations are [time.Duration]. Data is JSON text and passes byte for byte.
package queue
