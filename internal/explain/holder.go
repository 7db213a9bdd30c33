package explain

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"oarlock/internal/screen"
	"oarlock/queue"
)

// lateShare is the share of a lock after which its worker is late: ours renew after a third.
const lateShare = 0.6

// worker tells of the worker of a job that runs whether it still lives, as far as can be seen from here.
//
//	says   what is known of it, in sentences
//	lives  whether it seems to
func (s Sources) worker(ctx context.Context, job *queue.Job) (says string, lives bool, err error) {
	now := s.Client.Now()
	seen, err := s.Client.WorkerSeen(ctx, job.Worker)
	if err != nil {
		return "", false, err
	}
	lock, err := s.Client.LockTime(ctx, job.Queue)
	if err != nil {
		return "", false, err
	}
	heard := ""
	if ahead := screen.Ahead(seen, now); ahead != "" {
		heard = fmt.Sprintf("The clock of that worker is %s, so nobody can say when it was last heard of", ahead)
	} else {
		if !endless(job.Expires, now) { // that it was granted so long tells of a renewal, too
			seen = min(max(seen, job.Expires-lock.Seconds()), now)
		}
		heard = heardWords(seen, now)
	}
	switch pid := s.process(job.Worker); {
	case job.Expires <= now:
		return heard + ". Unless it renews the lock, the next sweep or pop takes the job back, which costs a retry.", false, nil
	case endless(job.Expires, now):
		return fmt.Sprintf("%s. No lock lasts so long, so somebody wrote that: if the worker renews it, it ends as others do; if it is dead, nobody takes the job back, and `oarlock job timeout %s` does.",
			heard, screen.InShell(job.JID)), false, nil
	case pid != 0 && !alive(pid):
		gone := "gone from this host"
		if now-seen <= lateShare*lock.Seconds() {
			gone += ", or in a container of its own, and if it is gone"
		}
		return fmt.Sprintf("%s, and its process %d is %s: the job waits for the end of the lock, or for a supervisor here that finds what the old one left; `oarlock job timeout %s` gives it back at once.",
			heard, pid, gone, screen.InShell(job.JID)), false, nil
	case now-seen > lateShare*lock.Seconds():
		return fmt.Sprintf("%s, though it should renew a lock of %s several times in that time: it is likely dead or out of reach, and the job waits for the end of the lock; if it is dead, `oarlock job timeout %s` gives the job back at once.",
			heard, screen.Span(lock), screen.InShell(job.JID)), false, nil
	}
	return heard + ".", true, nil
}

// heardWords says when a worker was heard of last; at 0 or before nobody knows.
func heardWords(seen, now float64) string {
	if seen <= 0 {
		return "When that worker was last heard of, nobody knows"
	}
	return fmt.Sprintf("That worker was last heard of %s ago", screen.Ago(seen, now))
}

// process is the process id in the name of a worker, if it is one of a supervisor on this host,
// else 0.
func (s Sources) process(worker string) int {
	host := s.Host()
	if host == "" {
		return 0
	}
	rest, ours := strings.CutPrefix(worker, host+"-")
	text, _, more := strings.Cut(rest, "-")
	pid, err := strconv.Atoi(text)
	if !ours || !more || err != nil || pid <= 0 {
		return 0
	}
	return pid
}

// alive reports whether there is a process of that id.
func alive(pid int) bool { return !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }

// shownHolders is how many holders of a throttle are looked at.
const shownHolders = 20

// Idle tells of those jobs that hold a throttle and are at no work, a sentence each: they do not run,
// or on a worker that is likely dead. Of many holders it looks at the first. The error is one of Redis.
func (s Sources) Idle(ctx context.Context, throttle string, holders []queue.Holder) ([]string, error) {
	holders = holders[:min(len(holders), shownHolders)]
	told, strays, err := s.idlers(ctx, holders)
	if err != nil || !strays {
		return told, err
	}
	// The holders were read before their jobs: one that ended in between looks like one that does not give its places back.
	held, err := s.Client.ThrottlePlaces(ctx, throttle)
	if err != nil {
		return nil, err
	}
	still := make([]queue.Holder, 0, len(holders))
	for _, holder := range holders {
		if slices.ContainsFunc(held, func(h queue.Holder) bool { return h.JID == holder.JID }) {
			still = append(still, holder)
		}
	}
	told, _, err = s.idlers(ctx, still)
	return told, err
}

// idlers is Idle of holders that were just read; strays tells whether one does not run and is not about to.
func (s Sources) idlers(ctx context.Context, holders []queue.Holder) (told []string, strays bool, err error) {
	jids := make([]string, len(holders))
	for i, holder := range holders {
		jids[i] = holder.JID
	}
	jobs, err := s.Client.GetMany(ctx, jids...)
	if err != nil {
		return nil, false, err
	}
	there := make(map[string]*queue.Job)
	for i := range jobs {
		there[jobs[i].JID] = &jobs[i]
	}
	for _, holder := range holders {
		job := there[holder.JID]
		says, err := s.idle(ctx, holder, job)
		if err != nil {
			return nil, false, err
		}
		if says != "" {
			told = append(told, says)
			strays = strays || job == nil || job.State != "running"
		}
	}
	return told, strays, nil
}

// idle says of one holder why it is at no work; "" if it is. job is nil if it is gone.
func (s Sources) idle(ctx context.Context, holder queue.Holder, job *queue.Job) (string, error) {
	name := screen.InShell(holder.JID)
	switch {
	case holder.Leaving > 0:
		return name + " was taken from its worker, and holds it until that attempt is over, or its lock would have ended: its child may live on.", nil
	case job != nil && job.Row == "parked":
		return name + " holds it meanwhile. " + circle(s.Client.Now(), job, "a job that waits for its places"), nil
	case job != nil && job.State != "running" && job.Kept.Answered == "came":
		return name + " was answered and holds it still; it goes on as soon as a child of its queue is free.", nil
	case job == nil || job.State != "running":
		return name + " holds it, but does not run and will not give it back; `oarlock doctor --fix` takes it away.", nil
	}
	says, lives, err := s.worker(ctx, job)
	if err != nil || lives {
		return "", err
	}
	return fmt.Sprintf("%s holds it, and runs on %s, whose lock %s. %s", name, job.Worker, LockWords(s.Client.Now(), job.Expires), says), nil
}
