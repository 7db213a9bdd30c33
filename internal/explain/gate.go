package explain

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"oarlock/internal/accord"
	"oarlock/internal/rules"
	"oarlock/internal/screen"
	"oarlock/queue"
)

// damagedRules tells of rules that cannot be read: of what they concern nothing is taken until they can.
func (w *why) damagedRules(ctx context.Context) error {
	if !w.ruled {
		return nil
	}
	damaged, err := w.q.DamagedRules(ctx, w.job.Queue)
	for _, d := range damaged {
		w.because("Nothing of %s that they concern is taken, for %s; `oarlock rules apply` writes them anew.", screen.InShell(w.job.Queue), d)
		w.is(DamagedRules)
	}
	return err
}

// gate tells what keeps a job of a ruled queue from starting: all that would, in the order in which a take asks. at is where it
// stands; of its other throttles those are told that have no room for it.
func (w *why) gate(ctx context.Context, at *queue.WaitsFor) error {
	counts, err := w.paused(ctx)
	if err != nil {
		return err
	}
	if err := w.atMost(ctx, counts); err != nil {
		return err
	}
	if err := w.outside(ctx); err != nil {
		return err
	}
	if at.Turn {
		w.inTurn(at)
		return w.alsoFull(ctx, at)
	}
	if isFull(at) {
		if err := w.waitsAt(ctx, at); err != nil {
			return err
		}
		return w.alsoFull(ctx, at)
	}
	if err := w.alsoFull(ctx, at); err != nil {
		return err
	}
	return w.waitsAt(ctx, at)
}

// isFull reports whether a throttle has no room for the job, beside all questions of shares and turns.
func isFull(at *queue.WaitsFor) bool {
	return !at.Over && at.Maximum > 0 && at.Used+min(at.Places, at.Maximum) > at.Maximum
}

// alsoFull tells of the other throttles of the job that have no room for it.
func (w *why) alsoFull(ctx context.Context, at *queue.WaitsFor) error {
	needs := map[string]int{}
	for _, id := range w.job.Throttles {
		needs[id]++
	}
	set, _, err := accord.ReadSet(ctx, w.q)
	if err != nil {
		return nil // damagedRules tells of what cannot be read
	}
	all := rules.Compile(set).Throttles
	for _, id := range slices.Compact(slices.Clone(w.job.Throttles)) {
		n := needs[id]
		delete(needs, id)
		if n == 0 || id == at.Throttle {
			continue
		}
		if err := w.full(ctx, all, id, n); err != nil {
			return err
		}
	}
	return nil
}

// full tells of a throttle that has no room for so many places more, unless the job has some of it; all are those of the rules.
func (w *why) full(ctx context.Context, all map[string]rules.CompiledThrottle, id string, n int) error {
	limit, err := LimitOf(ctx, w.q, all, id)
	if err != nil || limit.Maximum < 1 || limit.Used+min(n, limit.Maximum) <= limit.Maximum {
		return err
	}
	held, err := w.q.ThrottlePlaces(ctx, id)
	if err != nil || slices.ContainsFunc(held, func(h queue.Holder) bool { return h.JID == w.job.JID }) {
		return err
	}
	w.because("Throttle %s is full: %d of %s, held by %s; it needs %s.", screen.InShell(id), limit.Used, places(limit.Maximum), heldWords(held), needWords(n, limit.Maximum))
	w.is(Throttled)
	w.mends(SeeThrottle, id)
	return nil
}

// noRoom tells which throttles have no room for a job of a ruled queue that no take has looked at: of a queue that is at its limit none looks at any.
func (w *why) noRoom(ctx context.Context) error {
	if !w.ruled {
		return nil
	}
	set, _, err := accord.ReadSet(ctx, w.q)
	if err != nil {
		return nil // damagedRules tells of what cannot be read
	}
	job := w.asks()
	job.Data, job.Tags, job.Throttles, job.Weight = w.job.Data, w.job.Tags, w.job.Throttles, w.job.Kept.Wanted.Weight
	needs, all := set.Needs(job), rules.Compile(set).Throttles
	if !needs.Ruled || needs.Bypass {
		return nil
	}
	own, err := w.q.RuledQueueLimit(ctx, w.job.Queue)
	if err != nil {
		return err
	}
	var told []string
	for _, place := range append(needs.Places, rules.Place{ID: own.ID}) {
		if slices.Contains(told, place.ID) {
			continue
		}
		told = append(told, place.ID)
		if err := w.full(ctx, all, place.ID, needs.Weight); err != nil {
			return err
		}
	}
	return nil
}

// needWords say how many of so many places a job needs: who needs more than there are runs alone.
func needWords(n, maximum int) string {
	if n > maximum {
		return fmt.Sprintf("%d, so all of them", n)
	}
	return fmt.Sprint(n)
}

// inTurn tells when the turn of the job's value comes.
func (w *why) inTurn(at *queue.WaitsFor) {
	value := partyWord(at.Party)
	words := fmt.Sprintf("%s of %s runs", screen.Some(at.Has, "job"), value)
	if at.Has != 1 {
		words = fmt.Sprintf("%s of %s run", screen.Some(at.Has, "job"), value)
	}
	if at.Before > 0 {
		words += fmt.Sprintf("; %s of %s before it", screen.Some(at.Before, "job"), value)
	}
	if at.Ahead > 0 {
		words += fmt.Sprintf("; %s before the next turn of %s", screen.Some(at.Ahead, "other turn"), value)
	} else {
		words += fmt.Sprintf("; %s has the next turn", value)
	}
	w.because("It waits for a free child and its turn: values of queue %s take turns, and its value is %s (%s).", screen.InShell(w.job.Queue), value, words)
	w.is(InLine)
}

// waitsAt tells of the throttle in whose waitlist the job stands.
func (w *why) waitsAt(ctx context.Context, at *queue.WaitsFor) error {
	now := w.q.Now()
	if at.Asks != "" {
		return w.undecided(ctx, at)
	}
	switch {
	case at.Over:
		w.because("%s=%s has %s, its share is %d, and %s.", screen.InShell(at.Throttle), partyWord(at.Party), places(at.Has), at.Share, lentWords(at, w.keptOf(ctx, at.Throttle)))
	case isFull(at):
		w.because("Throttle %s is full: %d of %s, held by %s; it needs %s%s.", screen.InShell(at.Throttle), at.Used, places(at.Maximum), heldWords(at.Held), needWords(at.Places, at.Maximum), aheadWords(at))
	case at.Rate > 0 && at.Opens > now:
		w.because("Throttle %s starts %d in %s; the next token comes in %s%s.", screen.InShell(at.Throttle), at.Rate, screen.Seconds(at.Period), screen.Seconds(at.Opens-now), aheadWords(at))
	case isKept(at):
		w.because("Throttle %s has room for it, %d of %d are taken, but keeps %s for a job of %s%s.", screen.InShell(at.Throttle), at.Used, at.Maximum, places(at.Kept), screen.InShell(at.KeptFor), passedWords(at))
		if at.Passed != "" {
			w.mends(SeeThrottle, at.Passed)
		}
	case at.Maximum < 1:
		w.because("Throttle %s keeps it no more; the next take of the queue %s starts it%s.", screen.InShell(at.Throttle), screen.InShell(w.job.Queue), aheadWords(at))
	default:
		w.because("Throttle %s has a place free, %d of %d are taken; the next take of the queue %s looks whether it may have it%s.", screen.InShell(at.Throttle), at.Used, at.Maximum, screen.InShell(w.job.Queue), aheadWords(at))
	}
	w.is(Throttled)
	w.mends(SeeThrottle, at.Throttle)
	return w.idleHolders(ctx, at.Throttle, at.Held)
}

// undecided tells of the command that decides whether the job may start.
func (w *why) undecided(ctx context.Context, at *queue.WaitsFor) error {
	d, err := w.q.Decider(ctx, at.Throttle)
	if err != nil {
		return err
	}
	said, err := w.q.Undecided(ctx, w.job.JID)
	if err != nil {
		return err
	}
	name, now := screen.InShell(at.Throttle), w.q.Now()
	switch {
	case d.Seen+queue.DeciderMissed.Seconds() <= now:
		w.because("Throttle %s asks a command who may start, and no supervisor that runs has it%s; it is %s meanwhile.", name, agoWords(d.Seen, now), at.Asks)
	case d.Trouble != "":
		w.because("The command of throttle %s decides nothing: %s; it is %s meanwhile, and asked again %s.", name, d.Trouble, at.Asks, againWords(now, d.Next))
	case said != nil && said.Throttle == at.Throttle:
		w.because("The command of throttle %s holds it for another %s%s.", name, screen.Seconds(said.Until-now), saidWords(said.Why))
	case d.Next > now:
		w.because("The command of throttle %s has not decided about it yet; it is asked again %s%s.", name, DueWords(now, d.Next), aheadWords(at))
	default:
		w.because("The command of throttle %s has not decided about it yet%s.", name, aheadWords(at))
	}
	w.is(Throttled)
	w.mends(SeeThrottle, at.Throttle)
	return nil
}

// putOff tells that the command of a throttle put the job off.
func (w *why) putOff(ctx context.Context) error {
	if !w.ruled {
		return nil
	}
	said, err := w.q.Undecided(ctx, w.job.JID)
	if err == nil && said != nil {
		w.because("The command of throttle %s has put it off%s.", screen.InShell(said.Throttle), saidWords(said.Why))
		w.is(Throttled)
		w.mends(SeeThrottle, said.Throttle)
	}
	return err
}

// againWords says when a command that failed is asked again. Where the time has come a supervisor does, or is at it.
func againWords(now, next float64) string {
	if next <= now {
		return "now"
	}
	return DueWords(now, next)
}

func agoWords(seen, now float64) string {
	if seen == 0 {
		return ""
	}
	return " for " + screen.Ago(seen, now)
}

// saidWords is the reason that a command gave, in quotes: it is its own word.
func saidWords(why string) string {
	if why == "" {
		return ""
	}
	return fmt.Sprintf(": %q", why)
}

func places(n int) string {
	if n == 1 {
		return "1 place"
	}
	return fmt.Sprintf("%d places", n)
}

// heldWords names holders, each with how many places it has where that is more than one.
func heldWords(held []queue.Holder) string {
	var words []string
	for _, holder := range held[:min(len(held), shownHolders)] {
		word := screen.InShell(holder.JID)
		if holder.Places > 1 {
			word += fmt.Sprintf(" (%d)", holder.Places)
		}
		words = append(words, word)
	}
	if len(words) == 0 {
		return "nobody"
	}
	return strings.Join(words, " ")
}

// partyWord is whose turn it is at a throttle, a value or a queue, in a sentence: a value that is missing is '-'.
func partyWord(party string) string { return strings.TrimPrefix(screen.InShell(party), "-- ") }

// aheadWords says who comes before the job.
func aheadWords(at *queue.WaitsFor) string {
	var words string
	switch at.Before {
	case 0:
	case 1:
		words = "; 1 job of its waitlist is before it"
	default:
		words = fmt.Sprintf("; %s jobs of its waitlist are before it", screen.Count(at.Before))
	}
	if at.Next != "" {
		words += fmt.Sprintf("; %s has the next turn", partyWord(at.Next))
	}
	return words
}

// isKept reports whether of a throttle all room is kept for a job that has waited for longer.
func isKept(at *queue.WaitsFor) bool {
	return at.Maximum > 0 && at.Kept > 0 && at.Used+at.Kept+min(at.Places, at.Maximum) > at.Maximum
}

// passedWords says why a job for which places are kept has not begun.
func passedWords(at *queue.WaitsFor) string {
	if at.Passed == "" {
		return ", which has waited for longer"
	}
	return fmt.Sprintf(", which has waited for longer, and waits for throttle %s", screen.InShell(at.Passed))
}

// lentWords says why what others leave is not lent; kept is how many places never are.
func lentWords(at *queue.WaitsFor, kept int) string {
	if at.Next != "" {
		return partyWord(at.Next) + " waits within its own"
	}
	words := fmt.Sprintf("%d of %s are taken", at.Used, places(at.Maximum))
	switch {
	case kept == 1:
		words += "; 1 is never lent"
	case kept > 1:
		words += fmt.Sprintf("; %d are never lent", kept)
	}
	return words
}

// keptOf is how many places of a throttle are never lent.
func (w *why) keptOf(ctx context.Context, id string) int {
	set, _, err := accord.ReadSet(ctx, w.q)
	if err != nil {
		return 0 // damagedRules tells of what cannot be read
	}
	return set.Throttles[id].Keep
}
