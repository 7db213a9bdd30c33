package queue

// lookEvery is how often, in seconds, a take looks after locks and what is due though its queue has jobs enough.
const lookEvery = 0.01

// look is what an Exchange saw that did not hurry.
type look struct {
	queue string  // the first that it served
	at    float64 // on the server's clock
	due   float64 // Reply.NextDue
}

// mayHurry says whether a call may leave undone what one of moments ago has done: of the queue that is served first, for it is the
// script that sees when another's turn comes.
func (s *Session) mayHurry(take Take, now float64) bool {
	last := s.lastLook.Load()
	return last != nil && take.Count > 0 && !take.Spare && len(take.Passes) == 0 && len(take.Queues) > 0 && last.queue == take.Queues[0] && takesFirst(take) &&
		now >= last.at && now < last.at+lookEvery
}

// mayBePlain says whether a call that hurries is to ask whether it is plain: at most one asks in vain between two that do not hurry.
func (s *Session) mayBePlain() bool { return s.lastLook.Load() != s.special.Load() }

// takesFirst reports whether a take serves its first queue as long as that has jobs.
func takesFirst(take Take) bool {
	return take.Order == "" || take.Order == Ordered || len(take.Queues) == 1 && take.Order != Oldest
}

// looked notes what a call saw. One that hurried knows of nothing that is due, so it is told what the one before it saw.
func (s *Session) looked(take Take, now float64, reply *Reply) {
	switch {
	case reply.Rest || reply.More || s.ruledBy.Load() != nil || len(take.Queues) == 0 || take.Count == 0:
		s.lastLook.Store(nil)
	case !take.hurries:
		s.lastLook.Store(&look{take.Queues[0], now, reply.NextDue})
	default:
		last := s.lastLook.Load()
		if last != nil && reply.NextDue == 0 {
			reply.NextDue = last.due
		}
		if take.plain != "" && !reply.plain {
			s.special.Store(last)
		}
	}
}
