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
	done, err := a.apiPut(c, p, "")
	if err != nil {
		return err
	}
	if !done.Existed {
		return c.JSON(http.StatusCreated, done)
	}
	if err := a.sameData(c.R.Context(), p); err != nil {
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

// apiPut puts one job, if its caller may. earlier is as keyed gives it.
func (a *App) apiPut(c *Call, p queue.Put, earlier string) (putDone, error) {
	if !c.Who.MayPut(p.Queue) {
		return putDone{}, mayNotPut(c, p.Queue)
	}
	if err := checkPut(c, p); err != nil {
		return putDone{}, err
	}
	if err := a.waitsFor(c.R.Context(), c, p.Depends); err != nil {
		return putDone{}, err
	}
	puts := []queue.Put{p}
	if err := a.before(c, puts, []string{earlier}); err != nil {
		return putDone{}, err
	}
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
	a.merged(put.Merged)
	done := putDone{JID: put.JID, Existed: put.Existed, Replaced: put.Replaced, Merged: put.Merged, State: put.State, Few: textOf(few)}
	if put.Existed && !put.Replaced {
		c.deed.Count = 0
		problems, hidden, err := a.taken(c, []took{{p, put.JID, put.Held}})
		if err != nil {
			return putDone{}, err
		}
		if problems[0] != nil {
			return putDone{}, problems[0]
		}
		if hidden[0] {
			done.JID, done.State = "", ""
		}
	}
	return done, nil
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
	var earlier string
	p.JID, earlier = keyed(c, p, 0)
	c.Did(name, 1)
	done, err := a.apiPut(c, p, earlier)
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
// sent again; "" if it has neither. Of many, each has its number. Two callers that have names use each their own keys. Earlier is
// the jid that the version before made, "" if that is the same.
func keyed(c *Call, p queue.Put, number int) (jid, earlier string) {
	key := c.R.Header.Get("Idempotency-Key")
	if p.JID != "" || key == "" {
		return p.JID, ""
	}
	text := p.Queue + "\x00" + key
	if number > 0 {
		text += fmt.Sprintf("\x00%d", number)
	}
	hashed := func(text string) string {
		sum := sha256.Sum256([]byte(text))
		return fmt.Sprintf("%x", sum[:16])
	}
	if !c.Who.named {
		return hashed(text), ""
	}
	return hashed("\x01" + c.Who.Name + "\x00" + text), hashed(text)
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
	lines   []int    // of puts
	earlier []string // of puts, as keyed gives them
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
	var earlier string
	if err == nil {
		p.JID, earlier = keyed(b.call, p, b.read)
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
	b.puts, b.lines, b.earlier, b.bytes = append(b.puts, p), append(b.lines, b.read), append(b.earlier, earlier), b.bytes+len(p.Data)
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
		b.failed = b.app.before(b.call, b.puts, b.earlier)
	}
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
	there := make([]took, len(results))
	for i, r := range results {
		if r.Err == nil && r.Existed {
			there[i] = took{b.puts[i], r.JID, r.Held}
		}
	}
	problems, hidden, err := b.app.taken(b.call, there)
	if err != nil {
		b.failed, results = err, nil // their outcome is unknown
	}
	for i, line := range b.lines {
		switch {
		case i >= len(results):
			b.refuse(line, b.failed)
		case results[i].Err != nil:
			b.refuse(line, results[i].Err)
		case problems[i] != nil:
			b.refuse(line, problems[i])
		default:
			r := results[i]
			if hidden[i] {
				r.JID, r.State = "", ""
			}
			if !r.Existed {
				b.put++
			}
			b.app.merged(r.Merged)
			b.answers = append(b.answers, putLine{&putDone{JID: r.JID, Existed: r.Existed || r.Replaced, Replaced: r.Replaced, Merged: r.Merged, State: r.State, Few: textOf(few)}, line, nil})
		}
	}
	b.puts, b.lines, b.earlier, b.bytes = nil, nil, nil, 0
}

// dependsOnNothing refuses jobs of the batch that depend on one that is neither in Redis nor put before it.
func (b *putBatch) dependsOnNothing(ctx context.Context) error {
	ours := map[string]bool{}
	var kept []queue.Put
	var lines []int
	for i, p := range b.puts {
		others := slices.DeleteFunc(slices.Clone(p.Depends), func(jid string) bool { return ours[jid] })
		err := b.app.waitsFor(ctx, b.call, others)
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
