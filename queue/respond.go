package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"oarlock/queue/internal/script"
	"oarlock/queue/internal/wire"
)

// MaxResponse is the longest data, or error, of an answer, in bytes.
const MaxResponse = 1 << 20

// AnswerEnd says what becomes of a job by its answer.
type AnswerEnd string

const (
	GoesOn       AnswerEnd = ""         // its next attempt is told
	EndsComplete AnswerEnd = "complete" // it is complete, and no child sees the answer
	EndsFailed   AnswerEnd = "fail"     // it fails, likewise
)

// Response is an answer to a job that has parked, or will.
type Response struct {
	Klass, Correlation string // of the job
	// JID is the job for which it is meant; "" for whichever has the correlation. Where another has it by now,
	// the answer is late.
	JID string
	// Data is JSON text in UTF-8, kept byte for byte; nil means null. MaxResponse at most.
	Data []byte
	// Error, if not "", is told instead of Data: there will be no answer. MaxResponse at most.
	Error string
	End   AnswerEnd
}

// ResponseWord says what became of a Response.
type ResponseWord string

const (
	Resumed ResponseWord = "resumed" // the job waited for it, and is the next of its queue
	KeptFor ResponseWord = "kept"    // for when the job parks, for its next attempt, or for the first job of that correlation
	Again   ResponseWord = "again"   // there was an answer already; the first counts
	Late    ResponseWord = "late"    // the job is complete, failed or gone, or another has the correlation
)

// ResponseResult answers one Response.
type ResponseResult struct {
	Word ResponseWord
	JID  string // of the job that it is about; "" if there is none yet, or no more
	Err  error  // a *ScriptError: nothing was changed
}

// Answer is what a taken job is told.
type Answer struct {
	Correlation string
	Data        []byte // JSON text; nil with Failed
	Failed      bool   // Error is told instead of data
	Error       string
	At          float64 // when it came, on the server's clock
	End         AnswerEnd
}

// Respond answers a job, and wakes whoever may take it. It may be repeated after an outcome in doubt: then the
// word may be Again where the first call resumed the job. Safe for concurrent use.
func (c *Client) Respond(ctx context.Context, r Response) (ResponseResult, error) {
	results, err := c.RespondAll(ctx, []Response{r})
	if err != nil {
		return ResponseResult{}, err
	}
	return results[0], results[0].Err
}

// respondBytes is how much is answered in one call, unless it is one answer; respondChunk how many.
const (
	respondBytes = 4 << 20
	respondChunk = 50
)

// RespondAll answers many jobs, and tells what became of each. After an error it is unknown what became of those
// that have no result, and they may be sent again.
func (c *Client) RespondAll(ctx context.Context, responses []Response) ([]ResponseResult, error) {
	results := make([]ResponseResult, 0, len(responses))
	for len(responses) > 0 {
		some, sent, err := c.respond(ctx, responses)
		if err != nil {
			return results, err
		}
		results, responses = append(results, some...), responses[sent:]
	}
	return results, nil
}

// respond sends as many as go into one call.
func (c *Client) respond(ctx context.Context, responses []Response) (results []ResponseResult, sent int, err error) {
	var args []any
	bytes := 0
	for _, r := range responses {
		if sent == respondChunk || bytes > 0 && bytes+len(r.Data) > respondBytes {
			break
		}
		bytes += len(r.Data) + len(r.Error)
		sent++
		answer := ResponseResult{Err: r.check()}
		results = append(results, answer)
		if answer.Err == nil {
			args = append(args, r.words()...)
		}
	}
	if len(args) == 0 {
		return results, sent, nil
	}
	if err := c.clock.Fresh(ctx); err != nil {
		return nil, 0, err
	}
	raw, err := c.run(ctx, c.redis, script.Name{Dialect: Batch, Command: "respond"}, c.clock.Now(), args...)
	if err != nil {
		return nil, 0, err
	}
	in := wire.Read(raw)
	for i := range results {
		if r := &results[i]; r.Err == nil {
			word, about := in.Text(), in.Text()
			if word == "refused" {
				r.Err = refusal("respond", about)
				continue
			}
			r.Word, r.JID = ResponseWord(word), about
		}
	}
	return results, sent, in.Err
}

// deepestResponse is how deep an answer may be nested: a child reads it as a part of its job, and some readers, such as
// Python's, give up at a thousand. The scripts say the same.
const deepestResponse = 500

// check finds what the script would not look at.
func (r *Response) check() error {
	refused := func(format string, args ...any) error {
		return &ScriptError{Command: "respond", Message: fmt.Sprintf(format, args...)}
	}
	switch r.End {
	case GoesOn, EndsComplete, EndsFailed:
	default:
		return refused("bad end: it is complete or fail, not %.40q", string(r.End))
	}
	if max(len(r.Data), len(r.Error)) > MaxResponse {
		return refused("too large: an answer has at most %d bytes", MaxResponse)
	}
	if r.Data != nil {
		if err := wire.CheckEntry(r.Data); err != nil { // a child that cannot read it fails its job
			return refused("%v", err)
		}
		if depth := wire.Nesting(r.Data); depth > deepestResponse {
			return refused("the data is nested %d deep, more than %d", depth, deepestResponse)
		}
	}
	return nil
}

func (r *Response) words() []any {
	kind, text := "data", r.Data
	switch {
	case r.Error != "":
		kind, text = "error", []byte(r.Error)
	case text == nil:
		text = []byte("null")
	}
	return []any{r.Klass, r.Correlation, r.JID, kind, text, string(r.End)}
}

// Correlated returns the job that has a correlation, whether it is parked or not (Job.Row). The error is ErrNoJob where none that
// may go on has it.
func (c *Client) Correlated(ctx context.Context, klass, correlation string) (*Job, error) {
	entry, err := c.redis.HGet(ctx, c.ns+"oarlock:correlations:"+klass, correlation).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return nil, classify("hget", err)
	}
	if jid, live := strings.CutPrefix(entry, "j"); live {
		job, err := c.Get(ctx, jid)
		if err != nil && !errors.Is(err, ErrNoJob) {
			return nil, err
		}
		if err == nil && job.Klass == klass && job.Kept.Correlation == correlation && job.State != "complete" && job.State != "failed" {
			return job, nil
		}
	}
	return nil, ErrNoJob
}

// Correlations is how many correlations are known: of jobs that may be answered, of answers that came before their job, and of
// what is over for less than a day, or as the rules say. It changes nothing.
func (c *Client) Correlations(ctx context.Context) (int, error) {
	n, err := c.redis.ZCard(ctx, c.ns+"oarlock:correlations-due").Result()
	return int(n), harmless(classify("zcard", err))
}

// inboxChunk is how many pushed answers are taken in by one call.
const inboxChunk = 50

// ResponseLists are the keys of the lists of RespondInbox: to which answers are pushed, and in which those that are none are set aside.
func (c *Client) ResponseLists() (pushed, broken string) {
	return c.ns + "oarlock:responses", c.ns + "oarlock:responses-broken"
}

// RespondInbox takes in the answers that somebody pushed to the list oarlock:responses of the namespace, each of
// three lines: class, correlation, JSON. What is none is set aside in oarlock:responses-broken, the last thousand
// of it. It returns how many were read, and how many of them set aside.
func (c *Client) RespondInbox(ctx context.Context) (read, broken int, err error) {
	list, _ := c.ResponseLists()
	pushed, err := c.redis.LLen(ctx, list).Result()
	if err != nil || pushed == 0 { // as nearly always
		return 0, 0, harmless(classify("llen", err))
	}
	for left := 1; left > 0 && err == nil; {
		var raw any
		if raw, err = c.call(ctx, Batch, "respond.inbox", inboxChunk); err != nil {
			return read, broken, harmless(err)
		}
		in := wire.Read(raw)
		n := in.Int()
		read, broken, left = read+n, broken+in.Int(), in.Int()
		if err = in.Err; n == 0 {
			break
		}
	}
	return read, broken, err
}

// readAnswer reads the field of a job.
func readAnswer(text []byte) (*Answer, error) {
	var told struct {
		Correlation string
		At          float64
		Data        json.RawMessage
		Error       *string
		End         AnswerEnd
	}
	if err := json.Unmarshal(text, &told); err != nil {
		return nil, err
	}
	a := &Answer{Correlation: told.Correlation, At: told.At, Data: told.Data, End: told.End}
	if told.Error != nil {
		a.Failed, a.Error = true, *told.Error
	}
	return a, nil
}
