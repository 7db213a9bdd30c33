package supervisor

// Policy is what a pool makes of endings about which its children do not decide alone.
type Policy struct {
	NextQueues []string // names or globs: where a child may advance and put jobs; none: nowhere

	OnError    Remedy // after an error that is no verdict; "" means RetryJob
	OnCrash    Remedy // after a crash; "" means RetryJob
	MaxCrashes int    // a job that crashed more often fails; 0 means at the first
	Retry      Retry  // the wait before the next attempt
}

// Remedy is what becomes of a job that ended badly without saying so.
type Remedy string

const (
	RetryJob Remedy = "retry" // again, as long as its counts allow
	FailJob  Remedy = "fail"  // failed at once
)
