package ops

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"oarlock/internal/putline"
	"oarlock/internal/screen"
	"oarlock/queue"
)

// Put is what became of a job that was put.
type Put struct {
	Existed  bool         `json:"existed,omitempty"` // one of its jid was there: it was left alone, unless it was replaced
	Held     bool         `json:"held,omitempty"`    // another has its correlation, and stands for it: JID is that job's
	JID      string       `json:"jid"`               // of the job, or of the one that it merged with
	Merged   queue.Merged `json:"merged,omitempty"`  // it made no job: merged, equal, replaced or kept
	Queue    string       `json:"queue"`
	Replaced bool         `json:"replaced,omitempty"` // it was put in the place of one of its jid
	State    string       `json:"state,omitempty"`    // of the one that existed, before
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
	if n := len(p.Correlation); n > mostCorrelation {
		return &Wrong{"correlation", fmt.Sprintf("must have 1 to %d bytes: it has %d", mostCorrelation, n)}
	}
	if err := p.CheckBounds(); err != nil {
		return &Wrong{Why: err.Error()}
	}
	if err := p.Trace.Check(); err != nil {
		name, why, _ := strings.Cut(err.Error(), " ")
		return &Wrong{name, why}
	}
	if err := checkKey(p.Key); err != nil {
		return err
	}
	if err := checkMerge(p); err != nil {
		return err
	}
	if err := p.Wants.Check(); err != nil {
		return &Wrong{Why: err.Error()}
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
		if err := queue.CheckJID(p.JID); err != nil && !p.AnyName {
			if err := sure.of("The %v.", err); err != nil {
				return err
			}
		}
	}
	if err := newNames("tag", p.Tags, sure); err != nil {
		return err
	}
	if err := newNames("jid in --depends", p.Depends, sure); err != nil {
		return err
	}
	if err := newNames("throttle", p.Throttles, sure); err != nil || p.AnyName {
		return err
	}
	return freeKeys(p.Throttles, sure)
}

// freeKey is in doubt about the name of a throttle that is the key of another.
func freeKey(id string, sure Sure) error {
	if err := queue.CheckThrottle(id); err != nil {
		return sure.of("The %v.", err)
	}
	return nil
}

// freeKeys is freeKey for several.
func freeKeys(ids []string, sure Sure) error {
	for _, id := range ids {
		if err := freeKey(id, sure); err != nil {
			return err
		}
	}
	return nil
}

// PlanPut says when a job is to run: text is a time such as 2026-07-01T12:00:00Z, or so long from now as 90s. A time that is past is kept: the job comes by it.
func PlanPut(p *queue.Put, text string) error {
	if err := putline.Plan(p, text); err != nil {
		return &Wrong{"at", err.Error()}
	}
	return nil
}

// How long a key and a correlation may be, in bytes, as queue has it.
const (
	mostKey         = 512
	mostCorrelation = 1024
)

// checkKey refuses what is no key; "" is none.
func checkKey(key string) error {
	switch {
	case len(key) > mostKey:
		return &Wrong{"key", fmt.Sprintf("must have 1 to %d bytes: it has %d", mostKey, len(key))}
	case !utf8.ValidString(key):
		return &Wrong{"key", fmt.Sprintf("is not UTF-8: %+.40q", key)}
	}
	return nil
}

// checkMerge refuses what nobody can mean by merging.
func checkMerge(p queue.Put) error {
	switch {
	case p.Merge != "" && !slices.Contains(queue.MergeWords, string(p.Merge)):
		return &Wrong{"merge", fmt.Sprintf("must be none, all, last, first or set: %+q", string(p.Merge))}
	case p.Score != nil && (math.IsNaN(*p.Score) || math.IsInf(*p.Score, 0)):
		return &Wrong{"score", fmt.Sprintf("must be a finite number: %v", *p.Score)}
	case p.JID != "" && p.Merge != "" && p.Merge != queue.MergeNone:
		return &Wrong{"merge", "and a jid exclude each other: what merges makes no job"}
	}
	return NeedsKey(p)
}

// NeedsKey refuses a put that is to merge and has no key.
func NeedsKey(p queue.Put) error {
	switch {
	case p.Key != "" || p.KeyFrom != "":
		return nil
	case p.Merge != "":
		return &Wrong{"merge", "needs a key: of what has none nothing merges"}
	case p.Score != nil:
		return &Wrong{"score", "needs a key: it orders what merges"}
	}
	return nil
}

// Unserved says that no supervisor works a queue, with the nearest name that one works; "" if one does, if a
// worker of another kind took from it lately, or if that cannot be told.
func Unserved(ctx context.Context, q *queue.Client, name string) string {
	served, err := q.Served(ctx, name)
	if err != nil || !served.Nobody() {
		return ""
	}
	names := slices.DeleteFunc(served.Known, queue.IsGlob)
	return fmt.Sprintf("No supervisor works queue %s%s", screen.InShell(name), cmp.Or(Nearest(name, names), "."))
}

// CheckJSON says where text stops being JSON, which is UTF-8.
func CheckJSON(text []byte) error {
	if !utf8.Valid(text) {
		at := 0
		for r, size := utf8.DecodeRune(text); r != utf8.RuneError || size != 1; r, size = utf8.DecodeRune(text[at:]) {
			at += size
		}
		return fmt.Errorf("it is not UTF-8 from byte %d on", at)
	}
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

// CheckOwnDepends is CheckDepends for a caller who may know only some jobs: it does not reveal whether others exist.
func CheckOwnDepends(ctx context.Context, q *queue.Client, depends []string, mayKnow func(*queue.Job) bool, sure Sure) error {
	if len(depends) == 0 {
		return nil
	}
	jobs, err := q.GetMany(ctx, depends...)
	if err != nil {
		return err
	}
	unknown := slices.DeleteFunc(slices.Clone(depends), func(jid string) bool {
		return slices.ContainsFunc(jobs, func(job queue.Job) bool { return job.JID == jid && mayKnow(&job) })
	})
	if len(unknown) == 0 {
		return nil
	}
	return sure.of("There is no job %s that you may see. A put does not wait for jobs that do not exist.", strings.Join(unknown, ", "))
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

// noRule is in the refusal of a put that names what rules do not have.
var noRule = regexp.MustCompile(`count where a queue has rules|the rules have no window`)

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
	case r.Err != nil && noRule.MatchString(r.Err.Error()):
		return Put{}, &Missing{Text: strings.TrimPrefix(r.Err.Error(), "put: ")}
	case r.Err != nil:
		return Put{}, r.Err
	case r.Existed && !r.Held && p.IfExists != queue.Never:
		return Put{}, fmt.Errorf("job %s exists and is %s: it was left alone", r.JID, r.State)
	}
	return Put{JID: r.JID, Queue: p.Queue, Merged: r.Merged, Existed: r.Existed || r.Replaced, Replaced: r.Replaced, Held: r.Held, State: r.State}, err
}
