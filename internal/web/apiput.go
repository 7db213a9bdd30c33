package web

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"

	"oarlock/internal/ops"
	"oarlock/queue"
)

// How long the bodies of puts may be, in bytes, and how many jobs one may have.
const (
	mostPutBody = 32 << 20
	mostJob     = 16 << 20
	mostPuts    = 50_000
)

// putRoutes put jobs. A job that is there is left alone unless a put says otherwise, so that each may be sent again
// when its answer was lost.
func (a *App) putRoutes() []Route {
	return []Route{
		{Method: "POST", Path: "/queues/{queue}/jobs", Right: Put, Body: mostPutBody, Does: "put", Do: a.apiPutMany},
		{Method: "PUT", Path: "/jobs/{jid}", Right: Put, Body: mostPutBody, Does: "put", Do: a.apiPutOne},
	}
}

// apiPutOne puts a job under its jid, once, however often it is sent.
func (a *App) apiPutOne(c *Call) error {
	text, err := io.ReadAll(c.R.Body)
	if err != nil {
		return err
	}
	p, err := parsePut(queue.Put{Klass: "job", Trace: traceOf(c)}, text)
	if err != nil {
		return err
	}
	jid := c.Name("jid")
	c.Did(jid, 1)
	switch {
	case p.JID != "" && p.JID != jid:
		return badField("jid", "it is another one than that of the path")
	case jid == "":
		return badField("jid", "it is empty; give it a name")
	case p.IfExists != "" && p.IfExists != queue.Never:
		return badField("if_exists", "PUT leaves a job alone that is there; POST it to its queue instead")
	case p.Queue == "":
		return badField("queue", `name one, such as {"queue": "mail"}`)
	}
	p.JID, p.IfExists = jid, queue.Never
	done, err := a.apiPut(c, p)
	if err != nil {
		return err
	}
	if !done.Existed {
		return c.JSON(http.StatusCreated, done)
	}
	if err := a.apiSame(c.R.Context(), p); err != nil {
		return err
	}
	return c.JSON(http.StatusOK, done)
}

// traceOf is the trace of a request, by the headers of W3C trace context.
func traceOf(c *Call) queue.Trace {
	parents := c.R.Header.Values("Traceparent")
	if len(parents) != 1 {
		return queue.Trace{}
	}
	return queue.ReadTrace(parents[0], strings.Join(c.R.Header.Values("Tracestate"), ","))
}

// apiSame refuses a put of which another job has the jid already and has not begun: somebody means two things by one name.
func (a *App) apiSame(ctx context.Context, p queue.Put) error {
	job, err := a.o.Redis.Get(ctx, p.JID)
	if errors.Is(err, queue.ErrNoJob) {
		return nil // it ended, and is pruned
	}
	if err != nil {
		return err
	}
	begun := job.State == "running" || job.State == "complete" || job.State == "failed" ||
		slices.ContainsFunc(job.History, func(e queue.Entry) bool { return e.What == "popped" })
	if begun || job.Klass == p.Klass && job.Queue == p.Queue && bytes.Equal(job.Data, p.Data) {
		return nil
	}
	return problem(http.StatusConflict, "differs", "there is a job %s with another klass, queue or data, which has not begun; it was left alone. To replace it, POST to its queue with if_exists: replace", shown(p.JID))
}

// apiPut puts one job, if its caller may.
func (a *App) apiPut(c *Call, p queue.Put) (putDone, error) {
	if !c.Who.MayPut(p.Queue) {
		return putDone{}, mayNotPut(c, p.Queue)
	}
	if err := checkPut(c, p); err != nil {
		return putDone{}, err
	}
	if err := ops.CheckDepends(c.R.Context(), a.o.Redis, p.Depends, c.sure()); err != nil {
		return putDone{}, err
	}
	puts := []queue.Put{p}
	theirs, err := a.theirs(c, puts)
	if err != nil {
		return putDone{}, err
	}
	if theirs[0] != nil {
		return putDone{}, theirs[0]
	}
	put, err := ops.PutOne(c.R.Context(), a.o.Redis, puts[0])
	var few *queue.ReplicaError
	if err != nil && !errors.As(err, &few) {
		return putDone{}, err
	}
	if put.Existed && !put.Replaced {
		c.deed.Count = 0
	}
	a.merged(put.Merged)
	return putDone{JID: put.JID, Existed: put.Existed, Replaced: put.Replaced, Merged: put.Merged, State: put.State, Few: textOf(few)}, nil
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
	there, err := a.o.Redis.Glances(c.R.Context(), queue.Detail{}, jids...)
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
		if job.Queue == "" || c.Who.MayPut(job.Queue) {
			continue // none, or one that is over and in no queue
		}
		for _, i := range at[job.JID] {
			problems[i] = problem(http.StatusForbidden, "no_right", "%s may %s, and there is a job %s in another queue, which was left alone", c.Who.Name, c.Who.Rights(), shown(job.JID))
		}
	}
	return problems, nil
}

// merged counts a put that made no job; word is "" of any other.
func (a *App) merged(word queue.Merged) {
	if n := a.o.Monitor.Counts; n != nil && word != "" {
		n.Merged(string(word))
	}
}

// putDone is what became of a put.
type putDone struct {
	JID      string       `json:"jid"`
	Existed  bool         `json:"existed"`            // one of that jid was there: it was left alone, or replaced
	Replaced bool         `json:"replaced,omitempty"` // it was
	Merged   queue.Merged `json:"merged,omitempty"`   // it made no job, and jid is the one that it merged with: merged, equal, replaced or kept
	State    string       `json:"state,omitempty"`    // of the one that existed, before
	Few      string       `json:"few,omitempty"`      // it was put, but too few replicas have it
}

// putLine is what became of one of many.
type putLine struct {
	*putDone
	Line    int      `json:"line"`
	Problem *Problem `json:"problem,omitempty"`
}

func textOf(few *queue.ReplicaError) string {
	if few == nil {
		return ""
	}
	return few.Error()
}

func mayNotPut(c *Call, name string) *Problem {
	return problem(http.StatusForbidden, "no_right", "%s may %s, and so put no job into %s", c.Who.Name, c.Who.Rights(), shown(name))
}

// parsePut reads a job.
func parsePut(like queue.Put, text []byte) (queue.Put, error) {
	if len(text) > mostJob {
		return queue.Put{}, problem(http.StatusRequestEntityTooLarge, "too_large", "a job is longer than %d bytes; leave a name in it where the rest can be found", mostJob)
	}
	if deeper(text, mostDepth) {
		return queue.Put{}, problem(http.StatusBadRequest, "bad_request", "the JSON is nested more than %d deep", mostDepth)
	}
	p, err := ops.ParsePut(like, text)
	var wrong *ops.Wrong
	if err != nil && !errors.As(err, &wrong) {
		err = problem(http.StatusBadRequest, "bad_request", "not a job in JSON: %v", err)
	}
	return p, err
}

// checkPut refuses what nobody can mean, and what is odd and not forced.
func checkPut(c *Call, p queue.Put) error {
	if p.IfExists != queue.Replace && p.IfExists != queue.Final && p.IfExists != queue.Never {
		return badField("if_exists", "%s is none of replace, final, never", shown(string(p.IfExists)))
	}
	if p.Merge != "" && p.Merge != queue.MergeNone && c.R.Header.Get("Idempotency-Key") != "" {
		return badField("merge", "and an Idempotency-Key exclude each other: what merges makes no job that has a name")
	}
	return ops.CheckPut(p, c.sure())
}

// apiPutMany puts a job, all of a list, or one for each line.
func (a *App) apiPutMany(c *Call) error {
	name := c.Name("queue")
	if !c.Who.MayPut(name) {
		return mayNotPut(c, name)
	}
	like := queue.Put{Queue: name, Klass: "job", IfExists: queue.Never, Trace: traceOf(c)}
	kind, _, _ := mime.ParseMediaType(c.R.Header.Get("Content-Type"))
	body := bufio.NewReader(c.R.Body)
	if foreignTypes[kind] {
		return problem(http.StatusUnsupportedMediaType, "media_type", "%s is not understood here; send application/json or application/x-ndjson", shown(kind))
	}
	lines := kind == "application/x-ndjson" || kind == "application/jsonl"
	if !lines && first(body) == '[' {
		return a.apiPutList(c, like, body)
	}
	if lines {
		return a.apiPutLines(c, like, body)
	}
	text, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	p, err := parsePut(like, text)
	if err != nil {
		return err
	}
	if p.Queue != name {
		return errOtherQueue
	}
	p.JID = keyed(c, p, 0)
	c.Did(name, 1)
	done, err := a.apiPut(c, p)
	if err != nil {
		return err
	}
	if done.Existed || done.Merged != "" {
		return c.JSON(http.StatusOK, done)
	}
	return c.JSON(http.StatusCreated, done)
}

// errOtherQueue is what a put is answered that names another queue than the path, alone or as one of many.
var errOtherQueue = badField("queue", "it is another one than that of the path")

// first is the first byte of a text that is no blank; 0 if there is none near its beginning.
func first(text *bufio.Reader) byte {
	begins, _ := text.Peek(512) // what there is
	if begins = bytes.TrimLeft(begins, " \t\r\n"); len(begins) > 0 {
		return begins[0]
	}
	return 0
}

// keyed is the jid of a put: its own, or one that follows from the request's Idempotency-Key, so that the request may be
// sent again; "" if it has neither. Of many, each has its number.
func keyed(c *Call, p queue.Put, number int) string {
	key := c.R.Header.Get("Idempotency-Key")
	if p.JID != "" || key == "" {
		return p.JID
	}
	text := p.Queue + "\x00" + key
	if number > 0 {
		text += fmt.Sprintf("\x00%d", number)
	}
	sum := sha256.Sum256([]byte(text))
	return fmt.Sprintf("%x", sum[:16])
}

// apiPutList puts all jobs of a list.
func (a *App) apiPutList(c *Call, like queue.Put, body io.Reader) error {
	decoder := json.NewDecoder(body)
	if _, err := decoder.Token(); err != nil {
		return err
	}
	batch := putBatch{app: a, call: c, like: like}
	for decoder.More() {
		var text json.RawMessage
		if err := decoder.Decode(&text); err != nil {
			return batch.end(problem(http.StatusBadRequest, "bad_request", "the list stops being JSON: %v; the jobs before were put", err))
		}
		if !batch.add(text) {
			break
		}
	}
	return batch.end(nil)
}

// apiPutLines puts a job for each line that is not blank.
func (a *App) apiPutLines(c *Call, like queue.Put, body *bufio.Reader) error {
	batch := putBatch{app: a, call: c, like: like}
	for {
		line, err := body.ReadBytes('\n')
		if text := bytes.TrimSpace(line); len(text) > 0 && !batch.add(text) {
			return batch.end(nil)
		}
		if errors.Is(err, io.EOF) {
			return batch.end(nil)
		}
		if err != nil {
			return batch.end(err)
		}
	}
}

// putBatch puts many jobs, and gathers what becomes of each. The answer is sent when all were read: a client that sends first
// and reads then would otherwise wait for us, and we for it.
type putBatch struct {
	app  *App
	call *Call
	like queue.Put

	puts    []queue.Put
	lines   []int // of puts
	bytes   int
	read    int // jobs
	put     int
	answers []putLine
	failed  error // from here on nothing is put
}

// Of how many jobs, and of how much data, a batch is.
const batchBytes = 4 << 20

// add puts one more, by and by. It reports whether more may follow.
func (b *putBatch) add(text []byte) bool {
	b.read++
	if b.read > mostPuts {
		b.refuse(b.read, problem(http.StatusRequestEntityTooLarge, "too_large", "a request has at most %d jobs; this one and those behind it were not put", mostPuts))
		return false
	}
	p, err := parsePut(b.like, text)
	if err == nil && p.JID == "" {
		p.JID = keyed(b.call, p, b.read)
	}
	if err == nil && p.Queue != b.like.Queue {
		err = errOtherQueue
	}
	if err == nil {
		err = checkPut(b.call, p)
	}
	if err != nil {
		b.refuse(b.read, err)
		return true
	}
	p.Data = bytes.Clone(p.Data)
	b.puts, b.lines, b.bytes = append(b.puts, p), append(b.lines, b.read), b.bytes+len(p.Data)
	if len(b.puts) == queue.PutChunk || b.bytes > batchBytes {
		b.send()
	}
	return true
}

func (b *putBatch) refuse(line int, err error) {
	b.answers = append(b.answers, putLine{Line: line, Problem: problemOf(err)})
}

// send puts what was gathered.
func (b *putBatch) send() {
	ctx := b.call.R.Context()
	if b.failed == nil {
		b.failed = b.dependsOnNothing(ctx)
	}
	if b.failed == nil {
		b.failed = b.replacesTheirs()
	}
	var results []queue.PutResult
	var few *queue.ReplicaError
	if b.failed == nil && len(b.puts) > 0 {
		results, b.failed = b.app.o.Redis.PutAll(ctx, b.puts)
		if errors.As(b.failed, &few) {
			b.failed = nil
		}
	}
	for i, line := range b.lines {
		switch {
		case i >= len(results):
			b.refuse(line, b.failed)
		case results[i].Err != nil:
			b.refuse(line, results[i].Err)
		default:
			r := results[i]
			if !r.Existed {
				b.put++
			}
			b.app.merged(r.Merged)
			b.answers = append(b.answers, putLine{&putDone{JID: r.JID, Existed: r.Existed || r.Replaced, Replaced: r.Replaced, Merged: r.Merged, State: r.State, Few: textOf(few)}, line, nil})
		}
	}
	b.puts, b.lines, b.bytes = nil, nil, 0
}

// dependsOnNothing refuses jobs of the batch that depend on one that is neither in Redis nor put before it.
func (b *putBatch) dependsOnNothing(ctx context.Context) error {
	ours := map[string]bool{}
	var kept []queue.Put
	var lines []int
	for i, p := range b.puts {
		others := slices.DeleteFunc(slices.Clone(p.Depends), func(jid string) bool { return ours[jid] })
		err := ops.CheckDepends(ctx, b.app.o.Redis, others, b.call.sure())
		var doubt *ops.Doubt
		switch {
		case errors.As(err, &doubt):
			b.refuse(b.lines[i], err)
			continue
		case err != nil:
			return err
		}
		ours[p.JID] = true
		kept, lines = append(kept, p), append(lines, b.lines[i])
	}
	b.puts, b.lines = kept, lines
	return nil
}

// replacesTheirs refuses jobs of the batch that would replace one of a queue into which the caller may put none.
func (b *putBatch) replacesTheirs() error {
	theirs, err := b.app.theirs(b.call, b.puts)
	if err != nil {
		return err
	}
	var kept []queue.Put
	var lines []int
	for i, p := range b.puts {
		if theirs[i] != nil {
			b.refuse(b.lines[i], theirs[i])
			continue
		}
		kept, lines = append(kept, p), append(lines, b.lines[i])
	}
	b.puts, b.lines = kept, lines
	return nil
}

// end answers, a line for each job in the order of the request; err is what ended the reading.
func (b *putBatch) end(err error) error {
	b.send()
	b.call.Did(b.like.Queue, b.put)
	if b.read == 0 {
		if err != nil {
			return err
		}
		return problem(http.StatusBadRequest, "bad_request", "there is no job in the body")
	}
	if err != nil {
		b.refuse(b.read+1, err)
	}
	slices.SortStableFunc(b.answers, func(x, y putLine) int { return x.Line - y.Line })
	if !slices.ContainsFunc(b.answers, func(one putLine) bool { return one.Problem == nil }) {
		b.call.deed.Result = b.answers[0].Problem.Code // for the audit: none was put, though all were answered
	}
	b.call.W.Header().Set("Content-Type", "application/x-ndjson")
	b.call.W.WriteHeader(http.StatusOK)
	for _, one := range b.answers {
		text, err := marshal(one)
		if err != nil {
			return err
		}
		if _, err := b.call.W.Write(text); err != nil {
			return nil // the other side is gone
		}
	}
	return nil
}
