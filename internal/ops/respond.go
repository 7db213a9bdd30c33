package ops

import (
	"context"
	"errors"
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
	case r.Error != "" && r.Data != nil:
		return Answered{}, wrong("give data or an error, not both")
	}
	result, err := q.Respond(ctx, r)
	var refusal *queue.ScriptError
	if errors.As(err, &refusal) {
		return Answered{}, wrong("%s", scriptMark.ReplaceAllString(refusal.Message, ""))
	}
	return Answered{result.Word, result.JID}, err
}

// TooManyAnswers reports whether Respond refused an answer because too many of its class wait for their jobs.
func TooManyAnswers(err error) bool {
	var refused *Wrong
	return errors.As(err, &refused) && strings.HasPrefix(refused.Why, "full: ")
}

// Parked lists the jobs of queues that wait for an answer, those whose time is over first; at most limit of each, among the
// scheduled ones, of which no more than 10,000 are looked at.
func Parked(ctx context.Context, q *queue.Client, queues []string, limit int) ([]Job, error) {
	if len(queues) == 0 {
		var err error
		if queues, err = q.QueueNames(ctx); err != nil {
			return nil, err
		}
	}
	all := []Job{}
	for _, name := range queues {
		shelf, looked := queue.Shelf{Kind: queue.ShelfScheduled, Name: name}, 0
		found := 0
		for cursor := ""; found < limit && looked < mostLooked; {
			l, err := q.List(ctx, shelf, cursor, 500, queue.Detail{Cut: 400, Most: 64 << 10}, queue.Words{})
			if err != nil {
				return nil, err
			}
			looked += l.LookedAt
			for _, job := range l.Jobs {
				if job.Row == "parked" && found < limit {
					found++
					all = append(all, View(job.Job))
				}
			}
			if cursor = l.Next; cursor == "" {
				break
			}
		}
	}
	return all, nil
}

// mostLooked is how many scheduled jobs of a queue are looked at for those that are parked.
const mostLooked = 10_000
