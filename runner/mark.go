package runner

import "sync"

// What the environment of every child has, by which a successor of its supervisor proves whose it is.
const (
	protocolEnv   = "OARLOCK_PROTOCOL"
	supervisorEnv = "OARLOCK_SUPERVISOR" // the mark of its supervisor's Identity
)

// ownMark is the mark of this process.
var ownMark = sync.OnceValue(func() string { return Self().mark() })
