package ops

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"oarlock/queue"
)

// Put is what became of a job that was put.
type Put struct {
	Existed bool   `json:"existed,omitempty"` // one of its jid was there, and was left alone
	JID     string `json:"jid"`
	Queue   string `json:"queue"`
	State   string `json:"state,omitempty"` // of the one that existed
}

// CheckPut refuses what nobody can mean by a put, and is in doubt about names that are hard to name again.
func CheckPut(p queue.Put, sure Sure) error {
	switch {
	case p.Retries != nil && *p.Retries < 0:
		return &Wrong{"retries", "is negative; 0 means that it is tried once"}
	case p.Delay < 0:
		return &Wrong{"delay", "is negative; without it the job may run at once"}
	case p.Timeout < 0:
		return &Wrong{"timeout", "must be more than 0; without it that of the pool holds"}
	case p.WaitReplicas < 0:
		return &Wrong{"wait-replicas", "is negative"}
	}
	if p.Priority != nil {
		if err := soundPriority(*p.Priority); err != nil {
			return err
		}
	}
	if err := NewName("queue", p.Queue, sure); err != nil {
		return err
	}
	if err := NewName("klass", p.Klass, sure); err != nil {
		return err
	}
	if p.JID != "" { // else it gets one
		if err := NewName("jid", p.JID, sure); err != nil {
			return err
		}
	}
	if err := newNames("tag", p.Tags, sure); err != nil {
		return err
	}
	if err := newNames("jid in --depends", p.Depends, sure); err != nil {
		return err
	}
	return newNames("throttle", p.Throttles, sure)
}

// CheckJSON says where text stops being JSON.
func CheckJSON(text []byte) error {
	var any json.RawMessage
	return json.Unmarshal(text, &any)
}

// noSuchJob is a sentence about a jid, or several.
const noSuchJob = "There is no job %s, so nothing would be waited for: it may be complete and pruned, or never have been."

// CheckDepends is in doubt about jobs to depend on that are not there: nothing would be waited for.
func CheckDepends(ctx context.Context, q *queue.Client, depends []string, sure Sure) error {
	if len(depends) == 0 {
		return nil
	}
	gone, err := notInRedis(ctx, q, depends)
	if err != nil || len(gone) == 0 {
		return err
	}
	return sure.of(noSuchJob, strings.Join(gone, ", "))
}

// notInRedis are those of jids that no job has.
func notInRedis(ctx context.Context, q *queue.Client, jids []string) ([]string, error) {
	jobs, err := q.GetMany(ctx, jids...)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(jids), func(jid string) bool {
		return slices.ContainsFunc(jobs, func(job queue.Job) bool { return job.JID == jid })
	}), nil
}

// PutOne puts a job that CheckPut has nothing against. One of its jid that is there and stays is an error, but where
// p says so itself; a *queue.ReplicaError comes with the answer: the job was put.
func PutOne(ctx context.Context, q *queue.Client, p queue.Put) (Put, error) {
	results, err := q.PutAll(ctx, []queue.Put{p})
	var few *queue.ReplicaError
	if err != nil && !errors.As(err, &few) {
		return Put{}, err
	}
	r := results[0]
	switch {
	case r.Err != nil:
		return Put{}, r.Err
	case r.Existed && p.IfExists != queue.Never:
		return Put{}, fmt.Errorf("job %s exists and is %s: it was left alone", r.JID, r.State)
	}
	put := Put{JID: r.JID, Queue: p.Queue}
	if r.Existed {
		put.Existed, put.State = true, r.State
	}
	return put, err
}
