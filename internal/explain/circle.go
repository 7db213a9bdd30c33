package explain

import (
	"context"
	"fmt"
	"slices"

	"oarlock/internal/screen"
	"oarlock/queue"
)

// circle says of a job that is parked what becomes of it and of those that wait for what it has, if one of these is to answer
// it: whom its answer comes from, nobody knows but those who wrote both.
func circle(now float64, parked *queue.Job, those string) string {
	correlation := screen.InShell(parked.Kept.Correlation)
	return fmt.Sprintf("%s waits for an answer to %s until %s: if that is to come from %s, they wait for each other in a circle until then; `oarlock respond %s %s DATA` ends it.",
		screen.InShell(parked.JID), correlation, DueWords(now, parked.Moment), those, screen.InShell(parked.Klass), correlation)
}

// heldUp tells of the circle in which a job stands that waits for what another has, if that one is parked.
func (w *why) heldUp(ctx context.Context, holder string) error {
	found, err := w.q.GetMany(ctx, holder)
	if err == nil && len(found) == 1 && found[0].Row == "parked" {
		w.because("%s", circle(w.q.Now(), &found[0], "this job, or from another behind it"))
		w.is(Circle)
	}
	return err
}

// holdsUp tells of the circle in which a parked job stands whose turn or places others wait for.
func (w *why) holdsUp(ctx context.Context) error {
	at, err := w.q.InLane(ctx, w.job.JID)
	if err != nil {
		return err
	}
	if at.Key != "" && at.Holder == w.job.JID && at.Behind > 0 {
		w.because("It has the turn of key %s meanwhile. %s", screen.InShell(at.Key), circle(w.q.Now(), &w.job, "one that stands behind it ("+screen.Some(at.Behind, "job")+")"))
		w.is(Circle)
	}
	ids := slices.Compact(slices.Sorted(slices.Values(w.job.Throttles)))
	counts, err := w.q.CountThrottles(ctx, ids[:min(len(ids), shownHolders)])
	if err != nil {
		return err
	}
	for _, t := range counts {
		if t.Waiters == 0 {
			continue
		}
		held, err := w.q.ThrottlePlaces(ctx, t.ID)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(held, func(h queue.Holder) bool { return h.JID == w.job.JID }) {
			continue // it gave them back
		}
		w.because("It holds %s meanwhile. %s", screen.InShell(t.ID), circle(w.q.Now(), &w.job, "one that waits for its places ("+screen.Some(t.Waiters, "job")+")"))
		w.is(Circle)
		w.mends(SeeThrottle, t.ID)
	}
	return nil
}
