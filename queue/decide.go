package queue

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"oarlock/queue/internal/wire"
)

// Question is what the command of a throttle is to decide about.
type Question struct {
	Number     int     // for Decide; 0: there is nothing to ask now
	Again      float64 // when to look again, of the server's time; 0: that depends on others
	Candidates []Candidate
	Running    []Running // a thousand at most
	More       int       // jobs beside those that have places
	Places     int       // that are taken
}

// Candidate is a job of which nothing but the command keeps that it starts.
type Candidate struct {
	JID, Queue, Klass string
	Data              []byte // JSON; nil above 4 KiB
	Size              int    // of Data, in bytes
	Priority          float64
	Tags              []string
	Attempt           int // from 1 on
	Put               float64
	Places            int // that it takes
}

// Running is a job that has places of a throttle.
type Running struct {
	JID, Queue, Klass string
	Data              []byte // JSON; nil above 4 KiB
	Size              int    // of Data, in bytes
	Priority          float64
	Tags              []string
	Places            int
	Since             float64 // when it was popped; 0: it may start, and has not yet
}

// Verdict is what was decided about a candidate.
type Verdict struct {
	JID, Queue string
	Verb       string        // VerdictStart, VerdictHold or VerdictDelay
	For        time.Duration // how long it may start; is not asked about; is put off
	Why        string        // to be shown to people; may be empty
}

// What can be decided about a candidate.
const (
	VerdictStart = "start"
	VerdictHold  = "hold"
	VerdictDelay = "delay"
)

// Decision is the answer to a question.
type Decision struct {
	Verdicts []Verdict
	Pause    time.Duration // nobody asks again for so long
	Open     time.Duration // nobody need be asked for so long, where the rules say so of a command that fails
	Trouble  string        // why there is no answer, or what was wrong with it
}

// ErrNotAsked says that a decision came too late: another was asked meanwhile, or the question is answered.
var ErrNotAsked = errors.New("the question is no longer open")

// AskDecider takes the turn of asking what the command of a throttle decides, in the name of asker. One at a time has it, until Decide or
// for lease. It tells Redis besides that somebody has the command.
func (c *Client) AskDecider(ctx context.Context, throttle, asker string, lease time.Duration) (Question, error) {
	raw, err := c.call(ctx, Batch, "decider.look", throttle, asker, wire.Number(lease.Seconds()))
	if err != nil {
		return Question{}, err
	}
	q, err := readQuestion(raw)
	if err != nil || q.Number == 0 {
		return q, err
	}
	for some := range slices.Chunk(q.Running, runningChunk) {
		if err := c.lookAtRunning(ctx, some); err != nil {
			return q, err
		}
	}
	q.Running = slices.DeleteFunc(q.Running, func(r Running) bool { return r.Places == 0 })
	low, err := c.lowFirst(ctx)
	for i := range q.Candidates {
		if slices.Contains(low, q.Candidates[i].Queue) {
			q.Candidates[i].Priority = -q.Candidates[i].Priority
		}
	}
	for i := range q.Running {
		if slices.Contains(low, q.Running[i].Queue) {
			q.Running[i].Priority = -q.Running[i].Priority
		}
	}
	return q, err
}

// runningChunk is how many running jobs are read in one call.
const runningChunk = 100

// lookAtRunning reads jobs that have places. Those that are over by now have none.
func (c *Client) lookAtRunning(ctx context.Context, running []Running) error {
	jids := make([]string, len(running))
	for i := range running {
		jids[i] = running[i].JID
	}
	raw, err := c.read(ctx, "decider.running", wire.Args(jids)...)
	if err != nil {
		return err
	}
	return readRunning(raw, running)
}

func readRunning(raw any, running []Running) error {
	list := wire.Read(raw)
	in := &wire.Fields{Reader: list}
	for i := range running {
		r := &running[i]
		state := in.Text()
		r.Queue, r.Klass, r.Since, r.Priority, r.Tags = in.Text(), in.Text(), in.Number("time"), in.Number("priority"), wire.Tags(in.Text())
		r.Size, r.Data = in.Int(), in.Bytes()
		switch state {
		case "running":
		case "", "complete":
			r.Places = 0
			fallthrough
		default:
			r.Since = 0
		}
	}
	return in.Err
}

func readQuestion(raw any) (Question, error) {
	in := wire.Read(raw)
	q := Question{Number: in.Int(), Again: in.Float()}
	if q.Number == 0 {
		return q, in.Err
	}
	candidates, running := wire.Reader{Items: in.List()}, wire.Reader{Items: in.List()}
	q.Places, q.More = in.Int(), in.Int()
	for len(candidates.Items) > 0 && candidates.Err == nil {
		q.Candidates = append(q.Candidates, readCandidate(&candidates))
	}
	for len(running.Items) > 0 && running.Err == nil {
		q.Running = append(q.Running, Running{JID: running.Text(), Places: running.Int()})
	}
	return q, errors.Join(in.Err, candidates.Err, running.Err)
}

func readCandidate(in *wire.Reader) Candidate {
	c := Candidate{JID: in.Text(), Queue: in.Text(), Klass: in.Text()}
	c.Data = []byte(in.Text())
	c.Size, c.Priority, c.Tags = in.Int(), in.Float(), wire.Tags(in.Text())
	if c.Size > 0 && len(c.Data) == 0 {
		c.Data = nil
	}
	retries, remaining, crashes := in.Int(), in.Int(), in.Int()
	c.Attempt = 1 + retries - remaining + crashes
	c.Put, c.Places = in.Float(), in.Int()
	return c
}

// Decide says what was decided of a question, and tells of each verdict whether its job still waited. The error is ErrNotAsked if
// somebody else asks by now; nothing is changed then.
func (c *Client) Decide(ctx context.Context, throttle string, number int, d Decision) (done []bool, err error) {
	raw, err := c.call(ctx, Batch, "decider.rule", decisionArgs(throttle, number, d)...)
	if err != nil {
		return nil, err
	}
	in := wire.Read(raw)
	if word := in.Text(); word != "done" {
		return nil, errors.Join(ErrNotAsked, in.Err)
	}
	for len(in.Items) > 0 {
		done = append(done, in.Text() == "done")
	}
	return done, in.Err
}

func decisionArgs(throttle string, number int, d Decision) []any {
	args := []any{throttle, number, wire.Number(d.Pause.Seconds()), wire.Number(d.Open.Seconds()), d.Trouble}
	for _, v := range d.Verdicts {
		args = append(args, v.JID, v.Queue, v.Verb, wire.Number(v.For.Seconds()), v.Why)
	}
	return args
}

// Decider is how it stands with the command of a throttle.
type Decider struct {
	Seen    float64 // when somebody looked who has it; 0: nobody did lately
	By      string  // who asked last
	Asking  bool    // somebody does
	Next    float64 // nobody asks before
	Open    float64 // until then nobody need be asked
	Trouble string  // what was wrong with the last answer; "" if nothing was
	At      float64 // when that came
	Held    int     // jobs that it holds, or held until just now
}

// Decider tells how it stands with the command of a throttle.
func (c *Client) Decider(ctx context.Context, throttle string) (Decider, error) {
	pipe := c.redis.Pipeline()
	fields := pipe.HMGet(ctx, c.ns+"oarlock:asker:"+throttle, "seen", "by", "until", "next", "open", "trouble", "at")
	held := pipe.ZCard(ctx, c.ns+"oarlock:asked:"+throttle)
	if _, err := pipe.Exec(ctx); err != nil {
		return Decider{}, classify("hmget", err)
	}
	in := wire.Reader{Items: fields.Val()}
	d := Decider{Seen: in.Float(), By: in.Text(), Asking: in.Float() > c.Now(), Next: in.Float(), Open: in.Float(), Trouble: in.Text(), At: in.Float(), Held: int(held.Val())}
	return d, in.Err
}

// DeciderMissed is how long after somebody looked who has the command of a throttle nobody has it.
const DeciderMissed = 10 * time.Second

// Undecided is what the command of a throttle said of a job that does not start yet.
type Undecided struct {
	Throttle string
	Until    float64 // it is not asked about the job before
	Why      string  // "" if it said nothing
}

// Undecided tells what was said last of a job that a command holds or has put off; nil if nothing was, or it is over.
func (c *Client) Undecided(ctx context.Context, jid string) (*Undecided, error) {
	text, err := c.redis.HGet(ctx, c.ns+"j:"+jid, "oarlock-asked").Result()
	if errors.Is(err, redis.Nil) {
		return nil, nil
	}
	if err = classify("hget", err); err != nil {
		return nil, err
	}
	when, rest, _ := strings.Cut(text, " ")
	length, rest, _ := strings.Cut(rest, ":")
	until, wrong := strconv.ParseFloat(when, 64)
	n, unread := strconv.Atoi(length)
	if wrong != nil || unread != nil || n < 0 || n > len(rest) || until <= c.Now() {
		return nil, nil
	}
	return &Undecided{rest[:n], until, rest[n:]}, nil
}

// AskingThrottles are the throttles of the rules that a command decides about, for which somebody waits, by name.
func (c *Client) AskingThrottles(ctx context.Context) (names []string, err error) {
	waited, err := c.redis.SMembers(ctx, c.ns+"oarlock:waited").Result()
	if err = classify("smembers", err); err != nil || len(waited) == 0 {
		return nil, err
	}
	fields := make([]string, len(waited))
	for i, name := range waited {
		fields[i] = "t:" + name
	}
	found, err := c.redis.HMGet(ctx, c.ns+"oarlock:rules", fields...).Result()
	if err = classify("hmget", err); err != nil {
		return nil, err
	}
	for i := range found {
		var rule struct{ Asks string }
		text, _ := found[i].(string)
		if json.Unmarshal([]byte(text), &rule) == nil && rule.Asks != "" {
			names = append(names, waited[i])
		}
	}
	slices.Sort(names)
	return names, nil
}
