package explain

import (
	"context"
	"fmt"
	"slices"
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
	Codes   []Code   `json:"codes"`   // of each of them what it is about
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
	w := why{Sources: s, q: s.Client, job: *job, reasons: []string{}, codes: []Code{}}
	if err := w.find(ctx); err != nil {
		return Hold{}, err
	}
	w.pad()
	return Hold{JID: jid, Queue: w.job.Queue, Reasons: w.reasons, Codes: w.codes, State: w.job.State, Remedies: w.remedies}, nil
}

// why collects the reasons.
type why struct {
	Sources
	q       *queue.Client
	job     queue.Job
	reasons []string
	codes   []Code // of the reasons; of the last ones perhaps none yet

	remedies []Remedy
	ruled    bool // there are rules in the key space, or were
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
		w.reasons, w.codes, w.remedies = []string{}, []Code{}, nil
		if err := w.look(ctx); err != nil {
			return err
		}
		same, err := w.stays(ctx)
		if err != nil {
			return err
		}
		if same || try == whyTries {
			break
		}
		now, err := w.q.Get(ctx, w.job.JID)
		if err != nil {
			return err
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
	w.merges()
	return w.listeners(ctx)
}

// stays reports whether the job is where it was when it was read; one that is gone is not.
func (w *why) stays(ctx context.Context) (bool, error) {
	found, err := w.q.Glances(ctx, queue.Detail{}, w.job.JID) // nothing that is long
	if err != nil {
		return false, err
	}
	now := &found[0].Job
	return now.State == w.job.State && now.Mark == w.job.Mark && now.Queue == w.job.Queue, nil
}

// standstill says of a job that is interrupted again and again that it comes to no end.
func (w *why) standstill() {
	if n := w.job.Kept.Standstill; n >= supervisor.Standstill && w.job.Kept.Queue == w.job.Queue {
		w.because("It was interrupted %d times without a new checkpoint, to begin each time where it was: it needs a longer drain_timeout, or to keep checkpoints (job.step of the helpers).", n)
		w.is(Standstill)
	}
}

// merges says of a job into which puts have merged how many that were.
func (w *why) merges() {
	if n := len(w.job.Kept.Scores); n > 1 {
		w.because("It has %s payloads: what was put with its key while it waited merged into it (%s), and one attempt does all of them; `oarlock job show %s` lists them.",
			screen.Count(n), w.job.Kept.Merge, screen.InShell(w.job.JID))
		w.is(Merges)
	}
}

// whyTries is how often a job that moves is looked at again.
const whyTries = 3

// look says where the job is.
func (w *why) look(ctx context.Context) error {
	job := w.job
	words, err := w.q.Needs(ctx)
	w.ruled = err != nil || slices.Contains(words, queue.NeedRules)
	if unknown := queue.Unknown(words); err == nil && len(unknown) > 0 && job.State != "complete" && job.State != "failed" {
		w.because("This version does not know what the key space needs (%s), so it takes no job from it: upgrade its supervisors.", strings.Join(unknown, ", "))
		w.is(Outdated)
	}
	if job.Damage != "" {
		w.because("Its keys hold what cannot be read: %s. Mend them or put the job again.", job.Damage)
		w.is(Damaged)
	}
	switch job.State {
	case "complete":
		w.because("It is complete; nothing holds it.")
		w.is(Complete)
	case "failed":
		w.because("It has failed: %s: %s", job.Failure.Group, screen.Shorten(job.Failure.Message, 300))
		w.is(Failed)
		if words := shellWords(job.Failure.Group); words != "" {
			w.because("%s", words)
			w.is(Advice)
		}
		w.because("`oarlock job retry %s` puts it into %s again.", screen.InShell(job.JID), job.Queue)
		w.is(Advice)
		w.mends(RetryJob, job.JID)
		return w.keepsTurn(ctx)
	case "running":
		return w.running(ctx)
	case "depends":
		return w.dependencies(ctx)
	default:
		return w.waits(ctx)
	}
	return nil
}

// behind says for whom a job waits that stands behind others of its key.
func (w *why) behind(ctx context.Context) error {
	at, err := w.q.InLane(ctx, w.job.JID)
	if err != nil {
		return err
	}
	key, then := screen.InShell(at.Key), placeWords(at.Place)
	switch {
	case at.Place == 0:
		w.because("It stood behind others of its key until this moment, and has the turn now.")
		w.is(Behind)
	case at.Until > w.q.Now():
		w.because("It stands behind others of key %s, whose turn waits for the end of a run that was taken from its worker; it goes on %s at the latest.%s",
			key, DueWords(w.q.Now(), at.Until), then)
		w.is(Behind)
	case at.Holder == "":
		w.because("It stands behind others of key %s; nobody has the turn, and the next look of a supervisor gives it on.%s", key, then)
		w.is(Behind)
	default:
		w.because("It stands behind others of key %s, one of which runs at a time: %s has the turn; `oarlock job why %s` says what that waits for.%s",
			key, at.Holder, screen.InShell(at.Holder), then)
		w.is(Behind)
		w.mends(LookAtJob, at.Holder)
		return w.heldUp(ctx, at.Holder)
	}
	return nil
}

// keepsTurn tells of the key that waits for a job which failed, where the queue says after_fail = "hold".
func (w *why) keepsTurn(ctx context.Context) error {
	at, err := w.q.InLane(ctx, w.job.JID)
	if err != nil || at.Key == "" || at.Holder != w.job.JID {
		return err
	}
	key := screen.InShell(at.Key)
	w.because("It keeps the turn of key %s meanwhile (%s behind it): `oarlock key pass %s %s` lets the key go on without it.", key, screen.Some(at.Behind, "job"), screen.InShell(w.job.Queue), key)
	w.is(KeepsTurn)
	return nil
}

// placeWords says when it is the turn of a job that stands behind others of its key, in a sentence that follows another; "" of one that does not.
func placeWords(place int) string {
	switch {
	case place == 1:
		return " It is the next."
	case place == queue.FarPlace:
		return " More than a thousand others come before it."
	case place == 2:
		return " 1 other comes before it."
	case place > 2:
		return fmt.Sprintf(" %s others come before it.", screen.Count(place-1))
	}
	return ""
}

// running says who has the job, and whether that still lives, as far as can be seen. A lock that ran
// out holds until somebody sees that.
func (w *why) running(ctx context.Context) error {
	w.because("It is running on %s, whose lock %s.", w.job.Worker, LockWords(w.q.Now(), w.job.Expires))
	w.is(Running)
	says, lives, err := w.worker(ctx, &w.job)
	if err == nil {
		w.because("%s", says)
		w.is(Worker)
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
	if at.Place == "ready" || at.Place == "throttled" {
		if err := w.damagedRules(ctx); err != nil {
			return err
		}
	}
	switch at.Place {
	case "ready":
		return w.ready(ctx, at.Before)
	case "scheduled":
		if w.job.Row == "parked" {
			w.because("It waits for an answer to %s, until %s: then it has waited in vain, and that counts as a failure.", screen.InShell(w.job.Kept.Correlation), DueWords(w.q.Now(), at.Due))
			w.is(Parked)
			w.because("`oarlock respond %s %s DATA` answers it, with --error TEXT if there is no answer; `oarlock park extend %s --timeout 2h` lets it wait longer.",
				screen.InShell(w.job.Klass), screen.InShell(w.job.Kept.Correlation), screen.InShell(w.job.JID))
			w.is(Advice)
			return w.holdsUp(ctx)
		}
		if at.Window {
			return w.window(ctx, at.Due)
		}
		if at.Due <= w.q.Now() && w.parked() {
			w.because("It waited for an answer to %s, in vain since %s ago: the next take of %s finds that, and it counts as a failure. Until then an answer lets it go on.",
				screen.InShell(w.job.Kept.Correlation), screen.Ago(at.Due, w.q.Now()), screen.InShell(w.job.Queue))
			w.is(Parked)
			_, err := w.paused(ctx)
			return err
		}
		w.because("It is scheduled for %s.", DueWords(w.q.Now(), at.Due))
		w.is(Scheduled)
		if at.Due > w.q.Now() {
			if err := w.outsideAt(ctx, at.Due); err != nil {
				return err
			}
		}
		return w.putOff(ctx)
	case "behind":
		return w.behind(ctx)
	case "throttled":
		return w.throttles(ctx)
	default:
		w.because("It is %s, but in no place of %s from which it could be taken: unless it was retried into another queue, `oarlock doctor --fix` puts it back.", w.job.State, w.job.Queue)
		w.is(Misplaced)
	}
	return nil
}

// parked reports whether the last that happened to the job is that it parked.
func (w *why) parked() bool {
	told := History(w.job)
	return len(told) > 0 && told[len(told)-1].What == "parked"
}

// before says what became of the last attempt, if this is not the first.
func (w *why) before() {
	told := History(w.job)
	for i := len(told) - 1; i >= 0 && told[i].What != "put"; i-- {
		if what := told[i].What; what != "timed-out" && what != "retried" {
			continue
		}
		w.because("Its last attempt, %s ago: %s. Retries left: %d of %d.", screen.Ago(told[i].When, w.q.Now()), told[i].Says, max(w.job.Remaining, 0), w.job.Retries)
		w.is(LastAttempt)
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
		w.because("No program that was asked knows its class %s: %s times since %s (%s ago), last of %s. It is offered again until the unknown_for of its pool is over (four times as long while another pool of its queue was not asked), and fails then.",
			w.job.Klass, screen.Count(u.Count), screen.Moment(u.First), screen.Ago(u.First, now), strings.Join(u.Names[max(len(u.Names)-8, 0):], ", "))
		w.is(UnknownKlass)
	}
	if u := kept.Unstarted; u.Count > 0 {
		w.because("The command that works it could not be run %s times since %s (%s ago): %s", screen.Count(u.Count), screen.Moment(u.First), screen.Ago(u.First, now), screen.Shorten(w.job.Failure.Message, 200))
		w.is(Unstarted)
		if words := shellWords(w.job.Failure.Group); words != "" {
			w.because("%s", words)
			w.is(Advice)
		}
	}
}

// suspicion says what it means that supervisors died while they had the job.
func (w *why) suspicion() {
	if kept := w.job.Kept; kept.Queue == w.job.Queue && kept.Deaths >= queue.SuspectDeaths {
		w.because("Supervisors died %d times while they had it. So each runs at most one such job at a time, and this one may have to wait for its turn.", kept.Deaths)
		w.is(Suspect)
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
				w.is(Freeing)
				continue
			}
			w.because("It waits for %s (%s), which is complete and will not free it; `oarlock doctor --fix` does.", on.JID, on.Klass)
			w.is(Unfreed)
			continue
		}
		if on.State == "failed" {
			w.because("It waits for %s (%s), which has failed in %s: `oarlock job why %s` tells of what, and `oarlock job retry %s` puts it there again.", on.JID, on.Klass, on.Queue, screen.InShell(on.JID), screen.InShell(on.JID))
			w.is(DependsFailed)
			w.mends(LookAtJob, on.JID)
			continue
		}
		w.because("It waits for %s (%s), which is %s in %s.", on.JID, on.Klass, on.Row, on.Queue)
		w.is(Depends)
		w.mends(LookAtJob, on.JID)
	}
	for _, jid := range w.job.Dependencies {
		if !there[jid] {
			w.because("It waits for %s, which is gone and will not free it; `oarlock doctor --fix` does.", jid)
			w.is(Unfreed)
		}
	}
	if len(w.job.Dependencies) == 0 {
		w.because("It waits for other jobs, but there are none; `oarlock doctor --fix` frees it.")
		w.is(Unfreed)
	}
	return nil
}

func (w *why) throttles(ctx context.Context) error {
	waits, err := w.q.WaitsFor(ctx, w.job.JID)
	if err != nil {
		return err
	}
	if waits != nil {
		return w.gate(ctx, waits)
	}
	for _, id := range w.job.Throttles {
		limit, err := w.q.Throttle(ctx, id)
		if err != nil {
			return err
		}
		holders, err := w.q.ThrottlePlaces(ctx, id)
		if err != nil {
			return err
		}
		if limit.Maximum == 0 || len(holders) < limit.Maximum {
			continue
		}
		w.because("Throttle %s is full: %d of %d, held by %s.", id, len(holders), limit.Maximum, heldWords(holders))
		w.is(Throttled)
		w.mends(SeeThrottle, id)
		if err := w.idleHolders(ctx, id, holders); err != nil {
			return err
		}
	}
	if len(w.reasons) == 0 {
		w.because("It is told to wait for a throttle, and none of its throttles (%s) is full; the next job that gives one back lets it on.", strings.Join(w.job.Throttles, " "))
		w.is(Throttled)
	}
	return nil
}

// idleHolders tells of those that hold a throttle and are at no work.
func (w *why) idleHolders(ctx context.Context, throttle string, holders []queue.Holder) error {
	idle, err := w.Idle(ctx, throttle, holders)
	for _, says := range idle {
		w.because("%s", says)
		w.is(Worker)
	}
	return err
}

// paused tells whether the queue is, and returns what is in it.
func (w *why) paused(ctx context.Context) (queue.QueueCounts, error) {
	counts, err := w.q.Queue(ctx, w.job.Queue)
	if err == nil && counts.Paused {
		w.because("The queue %s is paused; `oarlock queue resume %s` ends that.", w.job.Queue, screen.InShell(w.job.Queue))
		w.is(Paused)
		w.mends(ResumeQueue, w.job.Queue)
	}
	return counts, err
}

// ready looks for what keeps a job that waits for a worker from being handed out.
//
//	before   how many jobs of its queue come before it
func (w *why) ready(ctx context.Context, before int) error {
	counts, err := w.paused(ctx)
	if err != nil {
		return err
	}
	if w.job.Kept.Answered == "came" {
		nothing := "nothing"
		if counts.Paused {
			nothing = "nothing else"
		}
		w.because("It was answered; %s holds it but free children.", nothing)
		w.is(Answered)
	} else if err := w.outside(ctx); err != nil {
		return err
	}
	if err := w.atMost(ctx, counts); err != nil {
		return err
	}
	if w.job.Kept.Answered != "came" {
		if err := w.noRoom(ctx); err != nil {
			return err
		}
	}
	switch before {
	case 0:
		w.because("It is the next of its queue.")
		w.is(InLine)
	case 1:
		w.because("1 job of its queue comes before it.")
		w.is(InLine)
	default:
		w.because("%s jobs of its queue come before it.", screen.Count(before))
		w.is(InLine)
	}
	return nil
}

// atMost tells whether as many jobs of the queue run as its setting lets, whatever else is free.
func (w *why) atMost(ctx context.Context, counts queue.QueueCounts) error {
	setting, err := w.q.Setting(ctx, w.job.Queue+"-max-concurrency")
	if err != nil {
		return err
	}
	if limit, err := strconv.Atoi(setting); err == nil && limit > 0 && counts.Running >= limit {
		w.because("The queue %s may run %s at a time, and has %s running.", screen.InShell(w.job.Queue), screen.Some(limit, "job"), screen.Count(counts.Running))
		w.is(Limited)
	}
	return nil
}

// listeners looks at the supervisor of this machine: does any pool listen to the queue,
// and can it take anything?
func (w *why) listeners(ctx context.Context) error {
	shot, err := w.Supervisor(ctx)
	if err != nil {
		w.elsewhere(ctx, err)
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
	switch {
	case listens:
	case len(shot.Stuck) > 0:
		w.because("Whether a pool here listens to %s cannot be told: %s.", w.job.Queue, supervisor.StuckWords(strings.Join(shot.Stuck, ", ")))
		w.is(Unseen)
	default:
		here := fmt.Sprintf("No pool of the supervisor here (pid %d) listens to %s", shot.PID, w.job.Queue)
		switch served, err := w.q.Served(ctx, w.job.Queue); {
		case err == nil && served.Seen > 0:
			w.because("%s; %s.", here, elsewhereWords(served, w.q.Now()))
			w.is(NoListener)
		case err == nil && served.Nobody():
			w.because("%s, and no other supervisor does: name it in the queues of a pool.", here)
			w.is(NoListener)
		default:
			w.because("%s: unless one of another host does, name it in the queues of a pool.", here)
			w.is(NoListener)
		}
	}
	if shot.Short != "" && w.job.State != "running" {
		w.because("The supervisor here starts children one by one, as there is room: %s.", shot.Short)
		w.is(Short)
	}
	if what, why := shot.RedisTrouble(); what != "" {
		w.because("The supervisor here finds that Redis %s: %s.", what, strings.TrimSuffix(why, "."))
		w.is(RedisTrouble)
	}
	return nil
}

// elsewhere tells of listeners where no supervisor of this machine can be asked, for err.
func (w *why) elsewhere(ctx context.Context, err error) {
	served, unknown := w.q.Served(ctx, w.job.Queue)
	first, others, _ := strings.Cut(err.Error(), "\n")
	switch {
	case unknown == nil && served.Nobody():
		w.because("No supervisor works queue %s: name it in the queues of a pool.", screen.InShell(w.job.Queue))
		w.is(NoListener)
		return
	case unknown == nil && served.Seen > 0:
		w.because("What works %s cannot be seen from here (%s); %s.", w.job.Queue, first, elsewhereWords(served, w.q.Now()))
		w.is(Unseen)
	default:
		w.because("Whether anybody listens to %s cannot be seen from here: %s.", w.job.Queue, first)
		w.is(Unseen)
	}
	if others != "" {
		w.because("Other supervisors run on this host: `oarlock status` names them, and --pid chooses one.")
	}
	w.is(Unseen)
}

// elsewhereWords say that a supervisor worked a queue lately, and how to see whether it still does.
func elsewhereWords(served queue.Served, now float64) string {
	return fmt.Sprintf("a supervisor said %s ago that it works this queue; `oarlock status --all` shows whether it still does", screen.Ago(served.Seen, now))
}

// childText names the child of a slot; one that has yet to start has no pid.
func childText(slot supervisor.SlotSnapshot) string {
	if slot.PID == 0 {
		return fmt.Sprintf("child %d, which is starting,", slot.Slot)
	}
	return fmt.Sprintf("child %d (pid %d)", slot.Slot, slot.PID)
}

// keptText says where a job is that is kept ready for the child of a slot.
func keptText(pool supervisor.PoolSnapshot, slot supervisor.SlotSnapshot) string {
	first := slot.Runs[0]
	return fmt.Sprintf("It was taken and has not begun: it is kept ready for %s of pool %s, which has been at work on %s for %s, and goes to the first child that has nothing to do.",
		childText(slot), pool.Name, first.JID, screen.Seconds(first.Age))
}

// afterColon sets a text off from what stands before it, or ends that.
func afterColon(text string) string {
	if text == "" {
		return "."
	}
	return ": " + text
}

// badJobs says by how much the bad jobs of a pool delay those behind them.
func badJobs(pool supervisor.PoolSnapshot) string {
	n, noun := pool.BadJobs, "jobs that ended badly delay"
	if n == 1 {
		noun = "job that ended badly delays"
	}
	return fmt.Sprintf("The %d %s the jobs behind by 2 × %d × 0.1s = %s at most, or by more if they run for longer than 0.1s.",
		n, noun, n, screen.Seconds(pool.Delays))
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
			switch {
			case run.JID != w.job.JID:
			case run.Kept:
				w.because("%s", keptText(pool, slot))
				w.is(Child)
			default:
				w.because("It is on %s of pool %s for %s%s", childText(slot), pool.Name, screen.Seconds(run.Age), afterColon(progressText(run.Percent, run.Progress)))
				w.is(Child)
			}
		}
		if len(slot.Runs) > 0 {
			busy++
		}
	}
	switch {
	case w.job.State == "running":
	case pool.Abstains != "" && slices.Contains(w.codes, Outdated): // that is said
	case pool.Abstains != "":
		w.because("Pool %s takes no jobs: %s.", pool.Name, pool.Abstains)
		w.is(Abstains)
	case pool.Barren != "":
		w.because("Pool %s takes nothing: %s. When that is mended, `oarlock recycle %s` tries at once.", pool.Name, pool.Barren, screen.InShell(pool.Name))
		w.is(Barren)
		w.mends(RecyclePool, pool.Name)
	case pool.Breaker != "":
		w.because("Pool %s goes slowly, one job at a time and ten a second, until one ends well: %s. %s When that is mended, `oarlock recycle %s` begins anew.",
			pool.Name, pool.Breaker, badJobs(pool), screen.InShell(pool.Name))
		w.is(BreakerOpen)
		w.mends(RecyclePool, pool.Name)
	case pool.Quiet || pool.Draining:
		w.because("Pool %s is quiet or draining; `oarlock resume` ends quiet.", pool.Name)
		w.is(Quiet)
		switch {
		case pool.Draining:
		case pool.QuietAlone:
			w.mends(ResumePool, pool.Name)
		default:
			w.mends(ResumeAll, "")
		}
	case pool.Children == 0:
		w.because("Pool %s has no children; `oarlock scale %s 1` gives it one.", pool.Name, screen.InShell(pool.Name))
		w.is(NoChildren)
		w.mends(GiveChildren, pool.Name)
	case waits >= pool.Children:
		w.because("All %d children of pool %s wait for a start after others failed: the next is tried in %s; `oarlock recycle %s` tries at once.",
			waits, pool.Name, screen.Seconds(next), screen.InShell(pool.Name))
		w.is(Backoff)
		w.mends(RecyclePool, pool.Name)
	case waits > 0 && busy+waits >= pool.Children:
		w.because("Of %d children of pool %s %d are busy, and %d wait for a start after others failed.", pool.Children, pool.Name, busy, waits)
		w.is(Backoff)
	case blocked > 0 && busy+blocked >= pool.Children:
		w.because("Of %d children of pool %s %d are busy, and the places of %d wait until the child before, and all that it started, is gone (replace = \"after\").",
			pool.Children, pool.Name, busy, blocked)
		w.is(Blocked)
	case busy >= pool.Children:
		w.because("All %d children of pool %s are busy.", busy, pool.Name)
		w.is(Busy)
	}
}
