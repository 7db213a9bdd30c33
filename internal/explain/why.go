package explain

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"oarlock/internal/screen"
	"oarlock/queue"
	"oarlock/supervisor"
)

// Sources are where answers to why come from.
type Sources struct {
	Client *queue.Client
	// Host gives the name by which Redis knows the supervisors of this host, or "" if that cannot be
	// told. It is asked only of jobs that run.
	Host func() string
	// Supervisor is what the one that runs on this host says of itself; the error is told where there is none.
	Supervisor func(context.Context) (supervisor.Snapshot, error)
}

// Hold is what holds a job.
type Hold struct {
	JID     string   `json:"jid"`
	Queue   string   `json:"queue"`
	Reasons []string `json:"reasons"` // sentences: every one that was found, the first one first
	State   string   `json:"state"`

	// Remedies are what would end some of the reasons, as the sentences say in words.
	Remedies []Remedy `json:"remedies,omitempty"`
}

// Remedy is what would end a reason.
type Remedy struct {
	Reason int    `json:"reason"` // which of Hold.Reasons, from 0
	Deed   Deed   `json:"deed"`
	To     string `json:"to"` // the job, queue, pool or throttle of that name; "" is the supervisor
}

// Deed is what can be done about a reason.
type Deed string

// The deeds.
const (
	RetryJob     Deed = "retry"        // of a job: put it into its queue again
	TakeBack     Deed = "take back"    // of a job: take it from its worker
	LookAtJob    Deed = "why"          // of another job: see what holds that
	ResumeQueue  Deed = "resume queue" // of a queue
	SeeThrottle  Deed = "see throttle" // of a throttle: raise it, or release who holds it
	ResumeAll    Deed = "resume"       // of the supervisor
	ResumePool   Deed = "resume pool"  // of a pool that is quiet by itself
	RecyclePool  Deed = "recycle"      // of a pool: try at once with new children
	GiveChildren Deed = "scale"        // of a pool without any
)

// Why says what holds a job. The error is queue.ErrNoJob where there is none, else one of Redis; that no supervisor can be
// found is among the reasons.
func (s Sources) Why(ctx context.Context, jid string) (Hold, error) {
	job, err := s.Client.Get(ctx, jid)
	if err != nil {
		return Hold{}, err
	}
	w := why{Sources: s, q: s.Client, job: *job, reasons: []string{}}
	if err := w.find(ctx); err != nil {
		return Hold{}, err
	}
	return Hold{JID: jid, Queue: w.job.Queue, Reasons: w.reasons, State: w.job.State, Remedies: w.remedies}, nil
}

// why collects the reasons.
type why struct {
	Sources
	q       *queue.Client
	job     queue.Job
	reasons []string

	remedies []Remedy
}

func (w *why) because(format string, args ...any) {
	w.reasons = append(w.reasons, fmt.Sprintf(format, args...))
}

// mends says what would end the last reason.
func (w *why) mends(deed Deed, to string) {
	w.remedies = append(w.remedies, Remedy{len(w.reasons) - 1, deed, to})
}

// find looks for the reasons. A job that moves while it is being looked at is looked at again.
func (w *why) find(ctx context.Context) error {
	for try := 0; ; try++ {
		w.reasons, w.remedies = []string{}, nil
		if err := w.look(ctx); err != nil {
			return err
		}
		now, err := w.q.Get(ctx, w.job.JID)
		if err != nil {
			return err
		}
		if now.State == w.job.State && now.Mark == w.job.Mark && now.Queue == w.job.Queue || try == whyTries {
			break
		}
		w.job = *now
	}
	if w.job.State == "complete" || w.job.State == "failed" {
		return nil
	}
	if w.job.State != "running" {
		w.before()
		w.unknown()
	}
	w.standstill()
	w.suspicion()
	return w.listeners(ctx)
}

// standstill says of a job that is interrupted again and again that it comes to no end.
func (w *why) standstill() {
	if n := w.job.Kept.Standstill; n >= supervisor.Standstill && w.job.Kept.Queue == w.job.Queue {
		w.because("It was interrupted %d times without a new checkpoint, to begin each time where it was: it needs a longer drain_timeout, or to keep checkpoints (job.step of the helpers).", n)
	}
}

// whyTries is how often a job that moves is looked at again.
const whyTries = 3

// look says where the job is.
func (w *why) look(ctx context.Context) error {
	job := w.job
	if job.Damage != "" {
		w.because("Its keys hold what cannot be read: %s. Mend them or put the job again.", job.Damage)
	}
	switch job.State {
	case "complete":
		w.because("It is complete; nothing holds it.")
	case "failed":
		w.because("It has failed: %s: %s", job.Failure.Group, screen.Shorten(job.Failure.Message, 300))
		w.because("`oarlock job retry %s` puts it into %s again.", screen.InShell(job.JID), job.Queue)
		w.mends(RetryJob, job.JID)
	case "running":
		return w.running(ctx)
	case "depends":
		return w.dependencies(ctx)
	default:
		return w.waits(ctx)
	}
	return nil
}

// running says who has the job, and whether that still lives, as far as can be seen. A lock that ran
// out holds until somebody sees that.
func (w *why) running(ctx context.Context) error {
	w.because("It is running on %s, whose lock %s.", w.job.Worker, LockWords(w.q.Now(), w.job.Expires))
	says, lives, err := w.worker(ctx, &w.job)
	if err == nil {
		w.because("%s", says)
		if !lives {
			w.mends(TakeBack, w.job.JID)
		}
	}
	return err
}

// waits says in which of its places a job is that waits: its state alone does not tell.
func (w *why) waits(ctx context.Context) error {
	at, err := w.q.Whereabouts(ctx, w.job.Queue, w.job.JID)
	if err != nil {
		return err
	}
	switch at.Place {
	case "ready":
		return w.ready(ctx, at.Before)
	case "scheduled":
		if w.job.Row == "parked" {
			w.because("It waits for an answer to %s, until %s: then it has waited in vain, and that counts as a failure.", screen.InShell(w.job.Kept.Correlation), DueWords(w.q.Now(), at.Due))
			w.because("`oarlock respond %s %s DATA` answers it, with --error TEXT if there is no answer.", screen.InShell(w.job.Klass), screen.InShell(w.job.Kept.Correlation))
			return nil
		}
		w.because("It is scheduled for %s.", DueWords(w.q.Now(), at.Due))
	case "throttled":
		return w.throttles(ctx)
	default:
		w.because("It is %s, but in no place of %s from which it could be taken: unless it was retried into another queue, `oarlock doctor --fix` puts it back.", w.job.State, w.job.Queue)
	}
	return nil
}

// before says what became of the last attempt, if this is not the first.
func (w *why) before() {
	told := History(w.job)
	for i := len(told) - 1; i >= 0 && told[i].What != "put"; i-- {
		if what := told[i].What; what != "timed-out" && what != "retried" {
			continue
		}
		w.because("Its last attempt, %s ago: %s. Retries left: %d of %d.", screen.Ago(told[i].When, w.q.Now()), told[i].Says, max(w.job.Remaining, 0), w.job.Retries)
		return
	}
}

// unknown says that programs which took the job did not know its class, and that the
// command of one could not be run.
func (w *why) unknown() {
	kept, now := w.job.Kept, w.q.Now()
	if kept.Queue != w.job.Queue {
		return
	}
	if u := kept.Unknown; u.Count > 0 {
		w.because("No program that was asked knows its class %s: %s times since %s (%s ago), last of %s. It is offered again until the unknown_for of its pool is over, and fails then.",
			w.job.Klass, screen.Count(u.Count), screen.Moment(u.First), screen.Ago(u.First, now), strings.Join(u.Names, ", "))
	}
	if u := kept.Unstarted; u.Count > 0 {
		w.because("The command that works it could not be run %s times since %s (%s ago): %s", screen.Count(u.Count), screen.Moment(u.First), screen.Ago(u.First, now), screen.Shorten(w.job.Failure.Message, 200))
	}
}

// suspicion says what it means that supervisors died while they had the job.
func (w *why) suspicion() {
	if kept := w.job.Kept; kept.Queue == w.job.Queue && kept.Deaths >= queue.SuspectDeaths {
		w.because("Supervisors died %d times while they had it. So each runs at most one such job at a time, and this one may have to wait for its turn.", kept.Deaths)
	}
}

func (w *why) dependencies(ctx context.Context) error {
	jobs, err := w.q.GetMany(ctx, w.job.Dependencies...)
	if err != nil {
		return err
	}
	there := make(map[string]bool)
	for _, on := range jobs {
		there[on.JID] = true
		if on.State == "complete" {
			// Where very many waited for it they are freed in slices.
			if freeing, err := w.q.Freeing(ctx, on.JID); err != nil {
				return err
			} else if freeing {
				w.because("It waited for %s (%s), which is complete; those that did are being freed.", on.JID, on.Klass)
				continue
			}
			w.because("It waits for %s (%s), which is complete and will not free it; `oarlock doctor --fix` does.", on.JID, on.Klass)
			continue
		}
		if on.State == "failed" {
			w.because("It waits for %s (%s), which has failed in %s: `oarlock job why %s` tells of what, and `oarlock job retry %s` puts it there again.", on.JID, on.Klass, on.Queue, screen.InShell(on.JID), screen.InShell(on.JID))
			w.mends(LookAtJob, on.JID)
			continue
		}
		w.because("It waits for %s (%s), which is %s in %s.", on.JID, on.Klass, on.State, on.Queue)
		w.mends(LookAtJob, on.JID)
	}
	for _, jid := range w.job.Dependencies {
		if !there[jid] {
			w.because("It waits for %s, which is gone and will not free it; `oarlock doctor --fix` does.", jid)
		}
	}
	if len(w.job.Dependencies) == 0 {
		w.because("It waits for other jobs, but there are none; `oarlock doctor --fix` frees it.")
	}
	return nil
}

func (w *why) throttles(ctx context.Context) error {
	for _, id := range w.job.Throttles {
		limit, err := w.q.Throttle(ctx, id)
		if err != nil {
			return err
		}
		holders, err := w.q.ThrottleHolders(ctx, id)
		if err != nil {
			return err
		}
		if limit.Maximum == 0 || len(holders) < limit.Maximum {
			continue
		}
		w.because("Throttle %s is full: %d of %d, held by %s.", id, len(holders), limit.Maximum, strings.Join(holders[:min(len(holders), shownHolders)], " "))
		w.mends(SeeThrottle, id)
		idle, err := w.Idle(ctx, holders)
		if err != nil {
			return err
		}
		w.reasons = append(w.reasons, idle...)
	}
	if len(w.reasons) == 0 {
		w.because("It is told to wait for a throttle, and none of its throttles (%s) is full; the next job that gives one back lets it on.", strings.Join(w.job.Throttles, " "))
	}
	return nil
}

// ready looks for what keeps a job that waits for a worker from being handed out.
//
//	before   how many jobs of its queue come before it
func (w *why) ready(ctx context.Context, before int) error {
	counts, err := w.q.Queue(ctx, w.job.Queue)
	if err != nil {
		return err
	}
	if counts.Paused {
		w.because("The queue %s is paused; `oarlock queue resume %s` ends that.", w.job.Queue, screen.InShell(w.job.Queue))
		w.mends(ResumeQueue, w.job.Queue)
	}
	setting, err := w.q.Setting(ctx, w.job.Queue+"-max-concurrency")
	if err != nil {
		return err
	}
	if limit, err := strconv.Atoi(setting); err == nil && limit > 0 && counts.Running >= limit {
		w.because("The queue %s may run %d jobs at a time, and %d are running.", w.job.Queue, limit, counts.Running)
	}
	switch before {
	case 0:
		w.because("It is the next of its queue.")
	case 1:
		w.because("1 job of its queue comes before it.")
	default:
		w.because("%s jobs of its queue come before it.", screen.Count(before))
	}
	return nil
}

// listeners looks at the supervisor of this machine: does any pool listen to the queue,
// and can it take anything?
func (w *why) listeners(ctx context.Context) error {
	shot, err := w.Supervisor(ctx)
	if err != nil {
		w.because("Whether anybody listens to %s cannot be seen from here: %s.", w.job.Queue, strings.ReplaceAll(err.Error(), "\n  ", "; "))
		return nil
	}
	listens := false
	for _, pool := range shot.Pools {
		if !queue.MatchAny(pool.Queues, w.job.Queue) {
			continue
		}
		listens = true
		w.pool(pool)
	}
	if !listens {
		w.because("No pool of the supervisor here (pid %d) listens to %s: unless one of another host does, name it in the queues of a pool.", shot.PID, w.job.Queue)
	}
	if shot.Short != "" && w.job.State != "running" {
		w.because("The supervisor here starts children one by one, as there is room: %s.", shot.Short)
	}
	if what, why := shot.RedisTrouble(); what != "" {
		w.because("The supervisor here finds that Redis %s: %s.", what, why)
	}
	return nil
}

// childText names the child of a slot; one that has yet to start has no pid.
func childText(slot supervisor.SlotSnapshot) string {
	if slot.PID == 0 {
		return fmt.Sprintf("child %d, which is starting,", slot.Slot)
	}
	return fmt.Sprintf("child %d (pid %d)", slot.Slot, slot.PID)
}

// afterColon sets a text off from what stands before it, or ends that.
func afterColon(text string) string {
	if text == "" {
		return "."
	}
	return ": " + text
}

func (w *why) pool(pool supervisor.PoolSnapshot) {
	busy, waits, blocked, next := 0, 0, 0, 0.0
	for _, slot := range pool.Slots {
		if slot.State == "blocked" {
			blocked++
		}
		if slot.State == "backoff" {
			waits++
			next = max(next, slot.Next)
		}
		for _, run := range slot.Runs {
			if run.JID == w.job.JID {
				w.because("It is on %s of pool %s for %s%s", childText(slot), pool.Name, screen.Seconds(run.Age), afterColon(progressText(run.Percent, run.Progress)))
			}
		}
		if len(slot.Runs) > 0 {
			busy++
		}
	}
	switch {
	case w.job.State == "running":
	case pool.Barren != "":
		w.because("Pool %s takes nothing: %s. When that is mended, `oarlock recycle %s` tries at once.", pool.Name, pool.Barren, screen.InShell(pool.Name))
		w.mends(RecyclePool, pool.Name)
	case pool.Breaker != "":
		w.because("Pool %s goes slowly, one job at a time and ten a second, until one ends well: %s. When that is mended, `oarlock recycle %s` begins anew.", pool.Name, pool.Breaker, screen.InShell(pool.Name))
		w.mends(RecyclePool, pool.Name)
	case pool.Quiet || pool.Draining:
		w.because("Pool %s is quiet or draining; `oarlock resume` ends quiet.", pool.Name)
		switch {
		case pool.Draining:
		case pool.QuietAlone:
			w.mends(ResumePool, pool.Name)
		default:
			w.mends(ResumeAll, "")
		}
	case pool.Children == 0:
		w.because("Pool %s has no children; `oarlock scale %s 1` gives it one.", pool.Name, screen.InShell(pool.Name))
		w.mends(GiveChildren, pool.Name)
	case waits >= pool.Children:
		w.because("All %d children of pool %s wait for a start after others failed: the next is tried in %s; `oarlock recycle %s` tries at once.",
			waits, pool.Name, screen.Seconds(next), screen.InShell(pool.Name))
		w.mends(RecyclePool, pool.Name)
	case waits > 0 && busy+waits >= pool.Children:
		w.because("Of %d children of pool %s %d are busy, and %d wait for a start after others failed.", pool.Children, pool.Name, busy, waits)
	case blocked > 0 && busy+blocked >= pool.Children:
		w.because("Of %d children of pool %s %d are busy, and the places of %d wait until the child before, and all that it started, is gone (replace = \"after\").",
			pool.Children, pool.Name, busy, blocked)
	case busy >= pool.Children:
		w.because("All %d children of pool %s are busy.", busy, pool.Name)
	}
}
