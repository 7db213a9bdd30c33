package metrics

import "github.com/prometheus/client_golang/prometheus"

// kind is what sort of numbers a metric has.
type kind string

const (
	counter   kind = "counter"
	gauge     kind = "gauge"
	summary   kind = "summary" // sum and count
	histogram kind = "histogram"
)

// metric is a row of the table: all that anybody can scrape, but what is Go's own.
type metric struct {
	name   string // with its prefix
	kind   kind
	help   string
	labels []string
	queues bool // it is on /metrics/queues
	desc   *prometheus.Desc
}

// table is all metrics, in the order of the documents.
var table []*metric

// define adds a row to the table.
func define(k kind, name, help string, labels ...string) *metric {
	m := &metric{name: "oarlock_" + name, kind: k, help: help, labels: labels}
	m.desc = prometheus.NewDesc(m.name, help, labels, nil)
	table = append(table, m)
	return m
}

// ofQueues is define for what is on /metrics/queues.
func ofQueues(k kind, name, help string, labels ...string) *metric {
	m := define(k, name, help, labels...)
	m.queues = true
	return m
}

var (
	buildInfo     = define(gauge, "build_info", "1; which program this is.", "version", "goversion")
	startTime     = define(gauge, "start_time_seconds", "When the supervisor began, in seconds since the epoch.")
	ready         = define(gauge, "ready", "1 while Redis answers, and the supervisor neither abstains nor leaves; a pool may take no jobs all the same.")
	quiet         = define(gauge, "quiet", "1 while no pool takes jobs, because somebody said so.")
	abstaining    = define(gauge, "abstaining", "1 while no job is taken from queues, though Redis answers and nobody wants quiet: the status says why.")
	draining      = define(gauge, "draining", "1 while the supervisor leaves.")
	reloadGood    = define(gauge, "config_reload_success", "1 if the last reload, or the start, took the configuration on; 0 if it was refused.")
	reloadAt      = define(gauge, "config_reload_success_timestamp_seconds", "When the configuration was last taken on, in seconds since the epoch.")
	reloads       = define(counter, "config_reloads_total", "Reloads, by what came of them.", "result")
	rulesVersion  = define(gauge, "rules_version", "How many rules were installed so far, when last seen; 0 while there are none.")
	rulesConflict = define(gauge, "rules_conflict", "How many rules of the file count otherwise, for another file says so, or could not be installed.")
	deciderAsked  = define(counter, "decider_asked_total", "How often the command of a throttle was asked here who may start.", "throttle")
	deciderTook   = define(counter, "decider_seconds_total", "How long it ran, in all.", "throttle")
	deciderFailed = define(counter, "decider_failures_total", "How often it decided nothing: run, it could not be run to its end in time; answer, what it printed is none.", "throttle", "cause")
	deciderSaid   = define(counter, "decider_verdicts_total", "What it decided about jobs: start, hold or delay.", "throttle", "verdict")
	poolChildren  = define(gauge, "pool_children", "Places for children, by what is in them.", "pool", "state")
	poolTarget    = define(gauge, "pool_children_target", "How many children are wanted now, and between which numbers that may be.", "pool", "bound")
	poolGen       = define(gauge, "pool_generation", "Number of the generation that new children are of.", "pool")
	poolRolling   = define(gauge, "pool_rolling", "1 while children are being replaced by those of another generation.", "pool")
	poolQuiet     = define(gauge, "pool_quiet", "1 while the pool takes no jobs, because somebody said so.", "pool")
	poolBreaker   = define(gauge, "pool_breaker_open", "1 while the pool goes slowly, because nothing of it ends well.", "pool")
	poolInDoubt   = define(gauge, "pool_in_doubt", "1 while Redis has yet to tell what became of a call.", "pool")
	poolStuck     = define(gauge, "pool_stuck", "1 while the loop of the pool does not answer: nothing else is told of it then.", "pool")
	retryAsked    = define(counter, "retry_command_asked_total", "How often a retry_command was asked what becomes of a job.", "pool")
	retryUnsaid   = define(counter, "retry_command_failures_total", "How often it did not say, and the rules of pool and class decided.", "pool")
	poolRolls     = define(counter, "pool_rolls_total", "Changes of generation, by how they ended.", "pool", "result")
	breakerOpens  = define(counter, "pool_breaker_opens_total", "How often the breaker opened.", "pool")
	poolReady     = define(gauge, "pool_ready_jobs", "Jobs in the pool's queues that could be taken, as last seen.", "pool")
	poolOldest    = define(gauge, "pool_oldest_ready_seconds", "How long the next of them has been waiting.", "pool")
	poolWaiting   = define(gauge, "pool_waiting_attempts", "Jobs taken that have no child yet.", "pool")
	poolUnsettled = define(gauge, "pool_unsettled_attempts", "Attempts that ended, and of which Redis does not know yet.", "pool")
	childStarts   = define(counter, "child_starts_total", "Children whose process was started.", "pool")
	childExits    = define(counter, "child_exits_total", "Children that left, or were not started, by why.", "pool", "reason")
	childStart    = define(summary, "child_start_seconds", "From the decision to start a child until it was ready; not in mode once.", "pool")
	memory        = define(gauge, "child_memory_bytes", "Memory of the children together, as last seen; of pools that are weighed.", "pool")
	memoryMax     = define(gauge, "child_memory_max_bytes", "Memory of the largest of them.", "pool")
	logLines      = define(counter, "child_log_lines_total", "Lines that children printed or logged.", "pool")
	logDropped    = define(counter, "child_log_lines_dropped_total", "Lines of children that were dropped, for there were too many a second.", "pool")
	strayStatus   = define(counter, "child_stray_status_total", "Lines of children that look like verdicts and did not count.", "pool")
	started       = define(counter, "attempts_started_total", "Attempts that a child was told of.", "pool")
	attempts      = define(counter, "attempts_total", "Attempts that ended, by how.", "pool", "ending")
	actions       = define(counter, "attempt_actions_total", "What Redis was told of jobs whose attempt ended.", "pool", "action")
	duration      = define(histogram, "attempt_duration_seconds", "From the beginning of an attempt to its end.", "pool")
	wait          = define(histogram, "attempt_wait_seconds", "From a job's put, or its last pop, to the beginning of its attempt.", "pool")
	busy          = define(counter, "pool_busy_seconds_total", "Seconds that children were at work: its rate is how many are.", "pool")
	cpu           = define(counter, "attempt_cpu_seconds_total", "Processor time of attempts that ended.", "pool")
	klasses       = define(counter, "klass_attempts_total", "Attempts that ended, by class of job and whether they ended well.", "klass", "outcome")
	klassTime     = define(summary, "klass_duration_seconds", "How long attempts took, by class of job.", "klass")
	locksLost     = define(counter, "locks_lost_total", "Locks that were gone while the job was here: taken back by somebody, or lost.", "pool", "cause")
	late          = define(counter, "verdicts_late_total", "Verdicts dropped because the lock was gone.", "pool")
	adopted       = define(counter, "jobs_adopted_total", "Verdicts that were settled under a later lock.", "pool")
	recovered     = define(counter, "jobs_recovered_total", "Jobs that a lost reply had hidden.", "pool")
	resolved      = define(counter, "settlements_resolved_total", "Settlements in doubt that had taken effect.", "pool")
	refused       = define(counter, "settlements_refused_total", "Wishes of children that were not granted.", "pool")
	halved        = define(counter, "batch_halvings_total", "Jobs that came again in smaller messages, for one that came with them was to blame.", "pool")
	renewals      = define(counter, "renewals_total", "Calls that renew locks.", "pool", "result")
	margin        = define(gauge, "lease_margin_seconds", "The least that was left of a lease when it was renewed, in the last minute.", "pool")
	hookJobs      = define(counter, "hook_jobs_total", "Jobs put to tell of an event: that an attempt here failed a job for good (dead), or that a supervisor died.", "event")
	listJobs      = define(gauge, "list_jobs", "Entries of a list that a pool works, or that become jobs, by where they stand, as last seen.", "list", "state")
	listRequeued  = define(counter, "list_requeued_total", "Entries that this supervisor put back into their list, by why.", "list", "by")
	staleAcks     = define(counter, "stale_acks_total", "Verdicts on entries of a list that came after the entry had been put back, and changed nothing.", "list")
	intakeMoved   = define(counter, "intake_moved_total", "Entries of lists that were taken off them to become jobs, by what became of them.", "list", "result")
	intakeFull    = define(gauge, "intake_full", "1 while entries stay in their list, because as many jobs wait in the queue as may.", "list")
	gateStarted   = define(counter, "gate_started_total", "Jobs of ruled queues that were taken here, by how they came through the gate: free, from a waitlist (waited), with lent places, in bypass, or with their answer (resumed).", "queue", "path")
	gateFiled     = define(counter, "gate_filed_total", "Jobs of ruled queues that a take here sent to a waitlist, by why: a throttle full, their share used up, its rate, a command that decides, or behind others that wait for the same.", "queue", "rule")
	windowMoves   = define(counter, "window_moves_total", "Jobs of ruled queues that a take here put off until their window opens.", "queue")
	placesMended  = define(counter, "places_mended_total", "Places of throttles that this supervisor found held by jobs which are over, and gave back.", "throttle")
	lanesMended   = define(counter, "lanes_mended_total", "Turns of keys that this supervisor found held by nobody who lives, by what became of who had them.", "cause")
	putsMerged    = define(counter, "puts_merged_total", "Puts by children here and over HTTP that made no job, for one of their key waits, by what became of the payload.", "result")
	runPayloads   = define(histogram, "run_payloads", "Payloads in an attempt of a job that merges.")
	payloadsDead  = define(counter, "payloads_dead_total", "Payloads of jobs that merge which failed for good here.")
	responses     = define(counter, "responses_total", "Answers to jobs that came over HTTP here, by class of job and what became of them.", "klass", "word")
	responsesRead = define(counter, "responses_read_total", "Answers that were pushed to the list of Redis for them and read here, by whether they were taken in, or set aside as broken.", "result")
	parkTimeouts  = define(counter, "park_timeouts_total", "Jobs that waited for an answer in vain, as far as they were settled here, by class.", "klass")
	windowOpen    = define(gauge, "window_open", "1 while a window of the rules is open.", "window")
	windowOpens   = define(gauge, "window_opens_timestamp_seconds", "When a window of the rules opens next, in seconds since the epoch; 0 if it does not within 400 days.", "window")
	redisUp       = define(gauge, "redis_up", "1 while Redis is there and takes what is written.")
	clockOffset   = define(gauge, "redis_clock_offset_seconds", "By how much Redis' clock is ahead of this host's.")
	lastTrip      = define(gauge, "redis_last_round_trip_timestamp_seconds", "When Redis last answered, in seconds since the epoch.")
	connections   = define(gauge, "redis_connections", "Connections to Redis, of those who work and of those who look on.", "client", "state")
	roundTrip     = define(histogram, "redis_round_trip_seconds", "How long Redis took to answer.", "call")
	redisErrors   = define(counter, "redis_errors_total", "Calls to Redis that failed, by how.", "class")
	webRequests   = define(counter, "web_requests_total", "Requests over HTTP, by route and class of their status.", "route", "code")
	webSeconds    = define(histogram, "web_request_seconds", "How long requests took, but those that stream.")
	webRefused    = define(counter, "web_auth_failures_total", "Requests of those who may not.")
	webActions    = define(counter, "web_actions_total", "What was done by hand over HTTP.", "action", "result")
	webStreams    = define(gauge, "web_streams", "Streams that are being read.")

	queueJobs       = ofQueues(gauge, "queue_jobs", "Jobs of a queue, by state.", "queue", "state")
	queueReady      = ofQueues(gauge, "queue_ready_jobs", "Jobs that could be taken now, but for pauses and limits.", "queue")
	queueLag        = ofQueues(gauge, "queue_lag_seconds", "For how long the job next in turn has been waiting for nothing but a free child.", "queue")
	queuePaused     = ofQueues(gauge, "queue_paused", "1 while the queue is paused.", "queue")
	queueCompleted  = ofQueues(counter, "queue_completed_total", "Jobs completed since midnight UTC, when it begins anew.", "queue")
	queueFailures   = ofQueues(counter, "queue_failures_total", "How often jobs failed since midnight UTC, when it begins anew.", "queue")
	queueExpiries   = ofQueues(counter, "queue_lock_expiries_total", "Locks that ran out since midnight UTC, when it begins anew.", "queue")
	failedJobs      = ofQueues(gauge, "failed_jobs", "Jobs that have failed and wait for somebody, by group.", "group")
	keys            = ofQueues(gauge, "keys", "Keys of a queue of which a job has the turn.", "queue")
	keysBusy        = ofQueues(gauge, "keys_busy", "Of those, the ones for which other jobs stand behind.", "queue")
	jobsBehind      = ofQueues(gauge, "jobs_behind", "Jobs that stand behind others of their key; they are among those waiting.", "queue")
	keyBlocked      = ofQueues(gauge, "key_blocked_seconds", "For how long a job has been waiting for one and the same holder of the turn of its key, of the key for which that is longest; not for one that waits for an answer.", "queue")
	correlations    = ofQueues(gauge, "correlations", "Correlations that are known: of jobs that may be answered, of answers that came before their job, and of what was answered within a day.")
	throttleLimit   = ofQueues(gauge, "throttle_limit", "Places of a throttle of the rules.", "throttle")
	throttleUsed    = ofQueues(gauge, "throttle_used", "Of those, taken.", "throttle")
	throttleWaiting = ofQueues(gauge, "throttle_waiting_jobs", "Jobs that wait for it.", "throttle")
	shareLimit      = ofQueues(gauge, "throttle_share_limit", "Of the places of a throttle, those that its rules make a value's own; * stands for all values that they do not name.", "throttle", "value")
	shareUsed       = ofQueues(gauge, "throttle_share_used", "Places that jobs of the value have taken, lent ones included.", "throttle", "value")
	shareWaiting    = ofQueues(gauge, "throttle_share_waiting_jobs", "Jobs of the value that wait for the throttle.", "throttle", "value")
	throttleOldest  = ofQueues(gauge, "throttle_oldest_seconds", "For how long nothing has started of the waitlist of which nothing has started for longest, of queues that are not paused.", "throttle")

	fairValues = ofQueues(gauge, "fair_waiting_values", "Values of a fair queue that wait for a start; about 250 waitlists are counted at most.", "queue")
	fairOldest = ofQueues(gauge, "fair_oldest_seconds", "For how long the value of a fair queue that has waited longest has had no start, of those counted; 0 while the queue is paused.", "queue")

	queuesKnown    = ofQueues(gauge, "queues_known", "Queues that there are.")
	queuesExported = ofQueues(gauge, "queues_exported", "Queues that have a label of their own here; the rest is _other.")
	censusAge      = ofQueues(gauge, "queue_census_age_seconds", "How old these numbers are.")
)
