package explain

// Code says what a reason is about, for programs: its sentence may be worded otherwise some day, and its code may not.
type Code string

// The codes. More may be added.
const (
	Abstains      Code = "abstains"       // a pool takes nothing, for what must count for its jobs does not count yet
	Advice        Code = "advice"         // no reason, but what to do about the one before
	Answered      Code = "answered"       // its answer is there, and nothing else is missing
	Backoff       Code = "backoff"        // children of a pool wait for their next start
	Barren        Code = "barren"         // a pool has no child that can be started
	Behind        Code = "behind"         // another job of its key has the turn
	Blocked       Code = "blocked"        // a place for a child waits until the one before is gone
	BreakerOpen   Code = "breaker_open"   // nothing of a pool ends well
	Busy          Code = "busy"           // all children of a pool are
	Child         Code = "child"          // which child has it
	Circle        Code = "circle"         // a parked job has what others wait for: if its answer is to come from one of these, none goes on
	Complete      Code = "complete"       // the job
	Damaged       Code = "damaged"        // its keys cannot be read
	DamagedRules  Code = "damaged_rules"  // rules in Redis cannot be read, so nothing of its queue is taken
	Depends       Code = "depends"        // it waits for another job
	DependsFailed Code = "depends_failed" // which has failed
	Failed        Code = "failed"         // the job
	Freeing       Code = "freeing"        // it waited, and is about to be freed
	InLine        Code = "in_line"        // so many jobs come before it
	KeepsTurn     Code = "keeps_turn"     // it has failed, and its key waits until it is retried, canceled or passed over
	LastAttempt   Code = "last_attempt"   // how that ended
	Limited       Code = "limited"        // its queue runs as many as it may
	Merges        Code = "merges"         // so many puts merged into it
	Misplaced     Code = "misplaced"      // it is in no place from which it could be taken
	NoChildren    Code = "no_children"    // a pool has none
	NoListener    Code = "no_listener"    // no pool here listens to its queue
	Other         Code = "other"          // what has no code yet
	Parked        Code = "parked"         // it waits for an answer
	Outdated      Code = "outdated"       // the key space needs what this version does not know
	Paused        Code = "paused"         // its queue
	Quiet         Code = "quiet"          // a pool, or it drains
	RedisTrouble  Code = "redis_trouble"  // the supervisor here has some
	Running       Code = "running"        // who has it, and its lock
	Scheduled     Code = "scheduled"      // when it is due
	OutsideWindow Code = "outside_window" // which window holds it, and when that opens
	Short         Code = "short"          // the host lacks something
	Standstill    Code = "standstill"     // it is interrupted again and again where it was
	Suspect       Code = "suspect"        // supervisors died with it
	Throttled     Code = "throttled"      // a throttle is full
	Unfreed       Code = "unfreed"        // it waits for what will not free it
	UnknownKlass  Code = "unknown_klass"  // no program knows its class
	Unseen        Code = "unseen"         // no supervisor can be asked here
	Unstarted     Code = "unstarted"      // its command cannot be run
	Worker        Code = "worker"         // whether who has it lives
)

// is gives the last reason its code.
func (w *why) is(code Code) {
	w.pad()
	w.codes[len(w.codes)-1] = code
}

// pad gives those that have none a code.
func (w *why) pad() {
	for len(w.codes) < len(w.reasons) {
		w.codes = append(w.codes, Other)
	}
}
