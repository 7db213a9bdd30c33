package supervisor

import (
	"oarlock/supervisor/internal/wire"
	"oarlock/supervisor/outcome"
)

// What is said of endings has its place in package outcome.
type (
	Policy  = outcome.Policy
	Class   = outcome.Class
	Remedy  = outcome.Remedy
	Retry   = outcome.Retry
	Wait    = outcome.Wait
	Backoff = outcome.Backoff
	Attempt = outcome.Attempt
	Outcome = outcome.Outcome
	Record  = outcome.Record
)

// The values and functions of package outcome, see there.
const (
	List        = outcome.List
	Constant    = outcome.Constant
	Standstill  = outcome.Standstill
	Linear      = outcome.Linear
	Exponential = outcome.Exponential
	Quartic     = outcome.Quartic
	RetryJob    = outcome.RetryJob
	FailJob     = outcome.FailJob
)

var (
	Decide    = outcome.Decide
	Question  = outcome.Question
	Unstarted = outcome.Unstarted
)

// Wire turns the queue's job into the protocol's, under a new run id; limit is the timeout of
// its pool, 0 for none. The lease is left to the caller.
var Wire = wire.Job
