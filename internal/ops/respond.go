package ops

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"oarlock/queue"
)

// Answered is what became of an answer.
type Answered struct {
	Word queue.ResponseWord `json:"word"`
	JID  string             `json:"jid,omitempty"` // of the job; none if there is none yet, or no more
}

// Respond answers a job that waits for it, or will.
func Respond(ctx context.Context, q *queue.Client, r queue.Response) (Answered, error) {
	switch {
	case r.Klass == "":
		return Answered{}, wrong("the class is empty: an answer names the class of the job, and its correlation")
	case r.Correlation == "":
		return Answered{}, wrong("the correlation is empty: an answer names what the job said that it waits for")
	case len(r.Correlation) > mostCorrelation:
		return Answered{}, wrong("the correlation is longer than %d bytes", mostCorrelation)
	case r.Error != "" && r.Data != nil:
		return Answered{}, wrong("give data or an error, not both")
	}
	result, err := q.Respond(ctx, r)
	var refusal *queue.ScriptError
	if errors.As(err, &refusal) {
		return Answered{}, refusedAnswer(scriptMark.ReplaceAllString(refusal.Message, ""))
	}
	return Answered{result.Word, result.JID}, err
}

// Why an answer is refused that is none of what is wrong with it. Respond wraps them.
var (
	ErrAnswersFull = errors.New("too many wait") // of its class wait for their jobs
	ErrAnswerLong  = errors.New("too large")     // than park.max_response
	ErrNobodyWaits = errors.New("nobody waits")  // and park.keep_early keeps none
)

// answerRefusals are the words with which the script begins to refuse.
var answerRefusals = map[string]error{"full": ErrAnswersFull, "too large": ErrAnswerLong, "none": ErrNobodyWaits}

// refusedAnswer is why an answer is refused: a *Wrong, which is one of the errors above, too.
func refusedAnswer(why string) error {
	word, _, _ := strings.Cut(why, ": ")
	if kind := answerRefusals[word]; kind != nil {
		return answerError{wrong("%s", why), kind}
	}
	return wrong("%s", why)
}

// answerError is a sentence and its kind.
type answerError struct{ sentence, kind error }

func (e answerError) Error() string   { return e.sentence.Error() }
func (e answerError) Unwrap() []error { return []error{e.sentence, e.kind} }

// Parked lists the jobs of queues that wait for an answer, those whose time is over first; at most limit of each, among the
// scheduled ones, of which no more than 10,000 are looked at, or limit. more says that not all were.
func Parked(ctx context.Context, q *queue.Client, queues []string, limit int) (all []Job, more bool, err error) {
	if len(queues) == 0 {
		if queues, err = q.QueueNames(ctx); err != nil {
			return nil, false, err
		}
	}
	all = []Job{}
	for _, name := range queues {
		shelf, looked := queue.Shelf{Kind: queue.ShelfScheduled, Name: name}, 0
		found, left := 0, false
		for cursor := ""; ; {
			l, err := q.List(ctx, shelf, cursor, 500, queue.Detail{Cut: 400, Most: 64 << 10}, queue.Words{})
			if err != nil {
				return nil, false, err
			}
			looked += l.LookedAt
			for _, job := range l.Jobs {
				switch {
				case job.Row != "parked":
				case found < limit:
					found++
					all = append(all, View(job.Job))
				default:
					left = true
				}
			}
			if cursor = l.Next; cursor == "" {
				break
			}
			if left = left || found >= limit || looked >= max(mostLooked, limit); left {
				break
			}
		}
		more = more || left
	}
	slices.SortStableFunc(all, func(a, b Job) int { return cmp.Compare(a.Due, b.Due) })
	return all, more, nil
}

// The bounds of a call of ParkedIn: how many jobs, and how many times, it looks.
const (
	parkedJobs  = 4_000
	parkedCalls = 20
)

// ParkedIn looks for the jobs of queues that wait for an answer, queue by queue in the order of their names, in each those whose
// time is over first. scheduled is how many jobs stand in each of the queues among which the parked ones are. It looks at
// a few thousand of them in a call; where Found.Next is not "" there is more to be looked at, whether anything was found or
// not.
func ParkedIn(ctx context.Context, q *queue.Client, scheduled map[string]int, w Window) (Found, error) {
	found, total := Found{Part: Part[Job]{Items: []Job{}, AsOf: q.Now()}}, 0
	var shelves []queue.Shelf
	for _, name := range slices.Sorted(maps.Keys(scheduled)) {
		if scheduled[name] > 0 {
			shelves = append(shelves, queue.Shelf{Kind: queue.ShelfScheduled, Name: name})
			total += scheduled[name]
		}
	}
	s, err := Filter{State: "parked"}.scanOn(q, shelves, total, w.Cursor)
	if err != nil {
		return found, err
	}
	for calls := 0; s.more && len(found.Items) < w.limit() && s.lookedAt < parkedJobs && calls < parkedCalls; calls++ {
		jobs, err := s.next(ctx, w.limit()-len(found.Items))
		if err != nil {
			return found, err
		}
		for _, job := range jobs {
			found.Items = append(found.Items, ViewGlance(job))
		}
	}
	found.Next, found.Total, found.LookedAt = s.cursor(), total, s.lookedAt
	return found, nil
}

// mostLooked is how many scheduled jobs of a queue are looked at for those that are parked.
const mostLooked = 10_000
