package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"oarlock/internal/config"
	"oarlock/internal/control"
	"oarlock/internal/explain"
	"oarlock/internal/ops"
	"oarlock/internal/redact"
	"oarlock/internal/rollcall"
	"oarlock/internal/service"
	"oarlock/internal/show"
	"oarlock/internal/top"
	"oarlock/queue"
	"oarlock/supervisor"
)

// topSource asks the supervisor over its socket, and Redis by a client of its own. It is safe for concurrent use.
type topSource struct {
	cfg    config.Config
	pid    string // of the supervisor that is meant; "" is the only one
	redis  *queue.Client
	caller *rollcall.Caller

	secrets *redact.Redactor // of what jobs and children said
	looks   ops.Looks        // at all queues, for their outlooks

	mu sync.Mutex
	at *control.Client // the supervisor that answered last; nil if none did
}

// supervisor finds the one that is watched, which may have been replaced by another.
func (s *topSource) supervisor(ctx context.Context) (*control.Client, error) {
	s.mu.Lock()
	at := s.at
	s.mu.Unlock()
	if at != nil {
		return at, nil
	}
	at, err := control.Find(ctx, s.cfg.Supervisor.StatePath(), s.pid)
	if errors.Is(err, control.ErrNone) {
		return nil, top.ErrNoSupervisor
	}
	if err == nil {
		s.mu.Lock()
		s.at = at
		s.mu.Unlock()
	}
	return at, err
}

func (s *topSource) Status(ctx context.Context) (*service.Status, error) {
	at, err := s.supervisor(ctx)
	if err != nil {
		return nil, err
	}
	var status service.Status
	if err := at.Status(ctx, &status); err != nil {
		s.mu.Lock()
		s.at = nil // another may have its place by the next look
		s.mu.Unlock()
		return nil, err
	}
	return &status, nil
}

func (s *topSource) Queues(ctx context.Context) ([]ops.Queue, error) {
	names, err := s.redis.QueueNames(ctx)
	if err != nil {
		return nil, err
	}
	census, now, err := s.redis.Census(ctx, names)
	if err != nil {
		return nil, err
	}
	s.looks.Add(census, now)
	views := make([]ops.Queue, len(census))
	for i, n := range census {
		views[i] = ops.ViewQueue(n, now)
		outlook := s.looks.Outlook(n.Name, "")
		views[i].Outlook = &outlook
	}
	return views, nil
}

func (s *topSource) Groups(ctx context.Context) (map[string]int, error) {
	return s.redis.FailedGroups(ctx)
}

// newestFailed is how many jobs of a group top shows.
const newestFailed = 50

func (s *topSource) Failed(ctx context.Context, group string) ([]ops.Job, error) {
	part, err := ops.JobsOn(ctx, s.redis, queue.Shelf{Kind: queue.ShelfFailed, Name: group}, ops.Window{Limit: newestFailed})
	for i := range part.Items {
		if failure := part.Items[i].Failure; failure != nil {
			failure.Message = s.blanked(failure.Message)
		}
	}
	return part.Items, err
}

// blanked is a text without what is secret in it, as the pages show it.
func (s *topSource) blanked(text string) string {
	told, _ := s.secrets.Lines(text)
	return told
}

func (s *topSource) Why(ctx context.Context, jid string) ([]string, error) {
	hold, err := explain.Sources{Client: s.redis, Host: s.cfg.Supervisor.HostName, Supervisor: s.shot}.Why(ctx, jid)
	for i := range hold.Reasons {
		hold.Reasons[i] = s.blanked(hold.Reasons[i])
	}
	return hold.Reasons, ops.Worded(jid, err)
}

// shot is what the supervisor says of itself.
func (s *topSource) shot(ctx context.Context) (shot supervisor.Snapshot, err error) {
	at, err := s.supervisor(ctx)
	if err == nil {
		err = at.Status(ctx, &shot)
	}
	return shot, err
}

func (s *topSource) Words(ctx context.Context, jid string) (string, error) {
	view, err := ops.Glance(ctx, s.redis, jid)
	if err != nil {
		return "", ops.Worded(jid, err)
	}
	var text bytes.Buffer
	if show.Record(&text, view.Record); text.Len() == 0 {
		return "No attempt of it left last words here: none ended badly, or it is in another queue since.", nil
	}
	return s.blanked(strings.TrimPrefix(text.String(), "\n")), nil
}

// topLines is how much of what a child printed top shows.
const topLines = 200

func (s *topSource) Log(ctx context.Context, of rollcall.Who, pool string, slot int) ([]rollcall.Line, error) {
	tail, err := s.caller.Tail(ctx, of, pool, slot, topLines)
	if err == nil && tail.Refused != "" {
		err = errors.New(tail.Refused)
	}
	return tail.Lines, err
}

func (s *topSource) Roll(ctx context.Context) (rollcall.Roll, error) {
	roll, err := s.caller.Call(ctx)
	if err != nil {
		return roll, err
	}
	if workers, err := s.redis.Workers(ctx); err == nil {
		roll.NoteUnheard(workers)
	}
	return roll, nil
}

// steer does something to the supervisor as it is now.
func (s *topSource) steer(ctx context.Context, do func(*control.Client, *service.Status) (string, error)) (string, error) {
	at, err := s.supervisor(ctx)
	if err != nil {
		return "", err
	}
	status, err := s.Status(ctx)
	if err != nil {
		return "", err
	}
	return do(at, status)
}

func (s *topSource) Quiet(ctx context.Context, quiet bool) (string, error) {
	return s.steer(ctx, func(at *control.Client, status *service.Status) (string, error) {
		if quiet {
			return ops.Quiet(ctx, at, status.Snapshot)
		}
		return ops.ResumeTaking(ctx, at, status.Snapshot)
	})
}

func (s *topSource) Scale(ctx context.Context, pool string, children int) (string, error) {
	return s.steer(ctx, func(at *control.Client, status *service.Status) (string, error) {
		return ops.Scale(ctx, at, status.Snapshot, pool, children)
	})
}

func (s *topSource) Recycle(ctx context.Context, pool string) (string, error) {
	return s.steer(ctx, func(at *control.Client, status *service.Status) (string, error) {
		return ops.Recycle(ctx, at, status.Snapshot, pool)
	})
}

func (s *topSource) Pause(ctx context.Context, name string, pause bool) (string, error) {
	if pause {
		return "paused " + name, ops.Pause(ctx, s.redis, []string{name}, ops.Always)
	}
	return name + " is handed out again", ops.Resume(ctx, s.redis, []string{name})
}

func (s *topSource) QuietPool(ctx context.Context, pool string, quiet bool) (string, error) {
	return s.post(ctx, map[bool]string{true: "quiet", false: "resume"}[quiet], "pools", pool)
}

func (s *topSource) AbandonRoll(ctx context.Context, pool string) (string, error) {
	return s.post(ctx, "abandon", "pools", pool)
}

func (s *topSource) RecycleSlot(ctx context.Context, pool string, slot int) (string, error) {
	return s.post(ctx, "recycle", "pools", pool, "slots", strconv.Itoa(slot))
}

func (s *topSource) StopRun(ctx context.Context, pool string, slot int, run string) (string, error) {
	return s.post(ctx, "stop?run="+url.QueryEscape(run), "pools", pool, "slots", strconv.Itoa(slot))
}

// post asks the API of the supervisor for a deed to what a path names, and gives what it says that was done.
func (s *topSource) post(ctx context.Context, verb string, path ...string) (string, error) {
	at, err := s.supervisor(ctx)
	if err != nil {
		return "", err
	}
	target := "http://oarlock/api/v1"
	for _, name := range path {
		target += "/" + url.PathEscape(name)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, target+"/"+verb, nil)
	if err != nil {
		return "", err
	}
	reply, err := (&http.Client{Transport: at.Transport()}).Do(request)
	if err != nil {
		return "", fmt.Errorf("the supervisor does not answer, and may have done it: %w", errors.Unwrap(err))
	}
	defer reply.Body.Close()
	var told struct{ Done, Detail string }
	if err := json.NewDecoder(io.LimitReader(reply.Body, 1<<20)).Decode(&told); err != nil {
		return "", err
	}
	if reply.StatusCode >= http.StatusBadRequest {
		return "", errors.New(told.Detail)
	}
	return told.Done, nil
}

func (s *topSource) Retry(ctx context.Context, jid string) (string, error) {
	in, err := ops.Retry(ctx, s.redis, jid)
	return jid + " is in " + in, ops.Worded(jid, err)
}

func (s *topSource) RetryGroup(ctx context.Context, group string) (string, error) {
	return amendedWords(ops.FailedJobs{Group: group}.Retry(ctx, s.redis))
}

// amendedWords says on one line what became of jobs.
func amendedWords(a ops.Amended, err error) (string, error) {
	if err == nil {
		err = a.Refusal()
	}
	var text bytes.Buffer
	show.Amended(&text, a)
	return strings.ReplaceAll(strings.TrimSpace(text.String()), "\n", "; "), err
}
