package web

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"slices"

	"oarlock/internal/ops"
	"oarlock/queue"
)

// This file decides what a caller with only the right to put learns about existing jobs. Of a job of another queue it learns that
// the jid is taken, and nothing else. That one bit cannot be hidden from a caller who chooses jids.

// putInto is the queue into which a job was first put; its present queue if the history does not say.
func putInto(job *queue.Job) string {
	if len(job.History) > 0 && job.History[0].What == "put" && job.History[0].Queue != "" {
		return job.History[0].Queue
	}
	return job.Queue
}

// mayKnow reports whether the caller may hear of a job.
func (c *Call) mayKnow(job *queue.Job) bool {
	return c.Who.May(Read) || c.Who.MayPut(putInto(job))
}

// took is what a put was answered by Redis that did not make a job.
type took struct {
	put  queue.Put
	jid  string // of the job that is there
	held bool   // it stands for the put by its correlation
}

// taken says of each put that left a job alone, in their order, why that is not what was meant: the job was put into another queue
// or as another class, so what was sent now will never run. Jobs that were put by other doors are hidden, which others says: of
// them jid and state are not told.
func (a *App) taken(c *Call, all []took) (problems []*Problem, hidden []bool, err error) {
	problems, hidden = make([]*Problem, len(all)), make([]bool, len(all))
	var jids []string
	for _, one := range all {
		if one.jid != "" {
			jids = append(jids, one.jid)
		}
	}
	if len(jids) == 0 {
		return problems, hidden, nil
	}
	slices.Sort(jids)
	there, err := a.o.Redis.Glances(c.R.Context(), queue.Detail{Entries: 1}, slices.Compact(jids)...)
	if err != nil {
		return nil, nil, err
	}
	for i, one := range all {
		at := slices.IndexFunc(there, func(job queue.Glance) bool { return job.JID == one.jid })
		if one.jid == "" || at < 0 || there[at].Row == queue.RowGone { // it made one, or that ended and is pruned
			continue
		}
		job := &there[at].Job
		hidden[i] = !c.mayKnow(job)
		// A job that was put again by if_exists is in the queue of that put, whatever its first one was.
		if one.held || job.Klass == one.put.Klass && (putInto(job) == one.put.Queue || job.Queue == one.put.Queue) {
			continue
		}
		problems[i] = differs(job, hidden[i])
	}
	return problems, hidden, nil
}

// differs says that a jid is that of another job.
func differs(job *queue.Job, hidden bool) *Problem {
	if hidden {
		return problem(http.StatusConflict, "differs", "the jid %s is taken by another job, so this one was not put; choose another jid", shown(job.JID))
	}
	return problem(http.StatusConflict, "differs", "there is a job %s already, put into queue %s as class %s, so this one was not put; choose another jid. To replace it, POST to its queue with if_exists: replace",
		shown(job.JID), shown(putInto(job)), shown(job.Klass))
}

// sameData refuses a put if a job that has not begun has the same jid and other data: two different jobs got one name.
func (a *App) sameData(ctx context.Context, p queue.Put) error {
	job, err := a.o.Redis.Get(ctx, p.JID)
	if errors.Is(err, queue.ErrNoJob) {
		return nil // it ended, and is pruned
	}
	if err != nil || hasBegun(job) || bytes.Equal(job.Data, p.Data) {
		return err
	}
	return problem(http.StatusConflict, "differs", "there is a job %s with other data, which has not begun; it was left alone. To replace it, POST to its queue with if_exists: replace", shown(p.JID))
}

// hasBegun reports whether a job runs, or ever did.
func hasBegun(job *queue.Job) bool {
	return job.State == "running" || job.State == "complete" || job.State == "failed" ||
		slices.ContainsFunc(job.History, func(e queue.Entry) bool { return e.What == "popped" })
}

// theirs says of each put, in their order, why its caller may not put it: it would replace a job of a queue into which the
// caller may put none. A right to put is none to take jobs out of other queues. The others are told where that job was found, for
// it may be moved before they get there.
func (a *App) theirs(c *Call, puts []queue.Put) ([]*Problem, error) {
	problems := make([]*Problem, len(puts))
	at := map[string][]int{}
	var jids []string
	for i, p := range puts {
		if p.IfExists == queue.Never || p.JID == "" || c.Who.Write {
			continue
		}
		if at[p.JID] == nil {
			jids = append(jids, p.JID)
		}
		at[p.JID] = append(at[p.JID], i)
	}
	if len(jids) == 0 {
		return problems, nil
	}
	there, err := a.o.Redis.Glances(c.R.Context(), queue.Detail{Entries: 1}, jids...)
	if err != nil {
		return nil, err
	}
	in := map[string][]string{} // by jid: the queues in which a job may be replaced, the one where one of these puts leaves it, too
	for jid, all := range at {
		for _, i := range all {
			in[jid] = append(in[jid], puts[i].Queue)
		}
	}
	for _, job := range there {
		in[job.JID] = append(in[job.JID], job.Queue)
	}
	for jid, all := range at {
		for _, i := range all {
			puts[i].ReplaceIn = in[jid]
		}
	}
	for _, job := range there {
		where := job.Queue
		if where == "" { // it is over, and in none
			where = putInto(&job.Job)
		}
		if job.Row == queue.RowGone || where == "" || c.Who.MayPut(where) {
			continue
		}
		for _, i := range at[job.JID] {
			problems[i] = problem(http.StatusForbidden, "no_right", "%s may %s, and there is a job %s in another queue, which was left alone", c.Who.Name, c.Who.Rights(), shown(job.JID))
		}
	}
	return problems, nil
}

// waitsFor asks for confirmation if a job to depend on does not exist. It treats jobs that the caller may not know as missing.
func (a *App) waitsFor(ctx context.Context, c *Call, depends []string) error {
	if c.Who.May(Read) {
		return ops.CheckDepends(ctx, a.o.Redis, depends, c.sure())
	}
	return ops.CheckOwnDepends(ctx, a.o.Redis, depends, c.mayKnow, c.sure())
}

// before looks whether puts whose jid follows from an Idempotency-Key were put by a supervisor of the version before, which made
// another jid of it: the same for all callers. These get that one. It is for one version.
func (a *App) before(c *Call, puts []queue.Put, earlier []string) error {
	jids := slices.DeleteFunc(slices.Clone(earlier), func(jid string) bool { return jid == "" })
	if len(jids) == 0 {
		return nil
	}
	there, err := a.o.Redis.GetMany(c.R.Context(), jids...)
	if err != nil {
		return err
	}
	for i := range puts {
		p := &puts[i]
		if earlier[i] != "" && slices.ContainsFunc(there, func(job queue.Job) bool {
			return job.JID == earlier[i] && job.Klass == p.Klass && putInto(&job) == p.Queue && (hasBegun(&job) || bytes.Equal(job.Data, p.Data))
		}) {
			p.JID = earlier[i]
		}
	}
	return nil
}
