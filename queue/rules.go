package queue

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/redis/go-redis/v9"

	"oarlock/queue/internal/wire"
)

// Rules are the rules of a key space, as they stand in Redis.
type Rules struct {
	Version string  // what they are told apart by; "" if there are none
	At      float64 // when they were installed, by the server's time in seconds
	Doc     string  // what package rules made of them; "" if there are none
}

// NewRules is what Redis is told of rules.
type NewRules struct {
	Doc       string
	Queues    []RuledQueue
	Throttles []RuledThrottle
	LowFirst  []string          // queues whose priorities are stored negated
	Windows   map[string]string // by spec: see window.Window.Table
	Named     map[string]string // JSON of windows by their names, which jobs may name themselves; BATCH.md says of what
	Puts      string            // JSON: what holds for new jobs of classes; "" if nothing does
	Answers   AnswerRules
}

// AnswerRules are what rules say of answers to parked jobs; nil is what is usual.
type AnswerRules struct {
	Early *float64 // seconds for which an answer waits for its job; 0: not at all
	Done  *float64 // seconds for which it is known that a correlation is over
	Most  *int64   // bytes that an answer may have, up to MaxResponse
}

// RuledQueue is a queue that rules concern.
type RuledQueue struct {
	Queue string
	Rules string // JSON; BATCH.md says of what
	Limit int    // of its own throttle; 0 means none
}

// RuledThrottle is a throttle with rules.
type RuledThrottle struct {
	Name  string
	Rules string         // JSON; BATCH.md says of what
	Limit int            // 0 means none
	Caps  map[string]int // value → how many of its places that may have at most
}

// ErrRulesChanged says that the rules are not those that the caller has seen: read them again.
var ErrRulesChanged = errors.New("the rules in Redis were changed meanwhile")

// PolarityError says that the order of a queue's priorities cannot be turned round while it has jobs.
type PolarityError struct {
	Queue string
	Jobs  int
}

func (e *PolarityError) Error() string {
	return fmt.Sprintf("queue %s has jobs (%d), whose priorities would mean the opposite: let them be worked, or cancel them, and change it then; nothing was changed", e.Queue, e.Jobs)
}

// Rules reads the rules.
func (c *Client) Rules(ctx context.Context) (Rules, error) {
	fields, err := c.redis.HMGet(ctx, c.ns+"oarlock:rules", "version", "at", "doc").Result()
	if err = classify("hmget", err); err != nil {
		return Rules{}, err
	}
	in := wire.Reader{Items: fields}
	r := Rules{Version: in.Text(), At: in.Float(), Doc: in.Text()}
	return r, in.Err
}

// InstallRules puts rules in place of those of the version that the caller has seen, and returns their version. All supervisors
// obey them from then on. The error is ErrRulesChanged if there are others, and a *PolarityError if a queue has jobs that it must not have; nothing
// is changed then.
func (c *Client) InstallRules(ctx context.Context, version string, r NewRules) (string, error) {
	args := []any{version, r.Doc, r.Puts, len(r.Queues)}
	for _, q := range r.Queues {
		args = append(args, q.Queue, q.Rules, q.Limit)
	}
	args = append(args, len(r.Throttles))
	for _, t := range r.Throttles {
		args = append(args, t.Name, t.Rules, t.Limit, len(t.Caps))
		for _, value := range slices.Sorted(maps.Keys(t.Caps)) {
			args = append(args, value, t.Caps[value])
		}
	}
	args = append(wire.Args(r.LowFirst, append(args, len(r.LowFirst))...), len(r.Windows))
	for _, spec := range slices.Sorted(maps.Keys(r.Windows)) {
		args = append(args, spec, r.Windows[spec])
	}
	args = append(args, len(r.Named))
	for _, name := range slices.Sorted(maps.Keys(r.Named)) {
		args = append(args, name, r.Named[name])
	}
	args = append(args, r.Answers.words()...)
	reply, err := c.call(ctx, Batch, "install", args...)
	if err != nil {
		return "", err
	}
	refusal, refused := reply.([]any)
	if !refused {
		in := wire.Reader{Items: []any{reply}}
		return in.Text(), in.Err
	}
	in := wire.Reader{Items: refusal}
	if word := in.Text(); word == "busy" {
		return "", errors.Join(&PolarityError{in.Text(), in.Int()}, in.Err)
	}
	return "", ErrRulesChanged
}

func (r AnswerRules) words() []any {
	words := []any{"", "", ""}
	if r.Early != nil {
		words[0] = wire.Number(*r.Early)
	}
	if r.Done != nil {
		words[1] = wire.Number(*r.Done)
	}
	if r.Most != nil {
		words[2] = *r.Most
	}
	return words
}

// NeedRules says in Redis that whoever works this key space has to know of rules. It returns since when that is said, by the server's
// time in seconds: those who know none may take a moment to hear of it.
func (c *Client) NeedRules(ctx context.Context) (since float64, err error) {
	if err := c.clock.Fresh(ctx); err != nil {
		return 0, err
	}
	pipe, key := c.redis.Pipeline(), c.ns+"oarlock:tended"
	pipe.SAdd(ctx, c.ns+"oarlock:needs", NeedRules)
	pipe.HSetNX(ctx, key, rulesSince, wire.Number(c.clock.Now()))
	said := pipe.HMGet(ctx, key, rulesSince)
	if _, err := pipe.Exec(ctx); err != nil {
		return 0, classify("sadd", err)
	}
	in := wire.Reader{Items: said.Val()}
	return in.Float(), in.Err
}

// rulesSince is the field of oarlock:tended that says since when rules are needed.
const rulesSince = "rules-since"

// RuledLimit is the limit of a throttle that rules may name.
type RuledLimit struct {
	ID      string
	Maximum int     // what counts; 0 means no limit
	Used    int     // places that are taken
	Set     bool    // somebody set Maximum; false: the rules did, or nobody
	Rule    *int    // what the rules say; nil if they say nothing
	ByHand  bool    // somebody set Maximum in place of that
	Full    float64 // of one with a rate that is not sliding: when all its starts may come at once again; 0 if it was not used
}

// RuledLimit reads the limit of a throttle.
func (c *Client) RuledLimit(ctx context.Context, id string) (RuledLimit, error) {
	limits, err := c.RuledLimits(ctx, id)
	if err != nil {
		return RuledLimit{}, err
	}
	return limits[0], nil
}

// RuledLimits reads the limits of throttles, in one round trip.
func (c *Client) RuledLimits(ctx context.Context, ids ...string) ([]RuledLimit, error) {
	pipe := c.redis.Pipeline()
	asked := make([]limitAsked, len(ids))
	for i, id := range ids {
		asked[i] = c.askLimit(ctx, pipe, id)
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, classify("hmget", err)
	}
	limits := make([]RuledLimit, len(ids))
	for i, id := range ids {
		var err error
		if limits[i], err = asked[i].read(id); err != nil {
			return nil, err
		}
	}
	return limits, nil
}

// limitAsked is what a pipeline was asked of the limit of one throttle.
type limitAsked struct {
	fields *redis.SliceCmd
	used   *redis.IntCmd
}

func (c *Client) askLimit(ctx context.Context, pipe redis.Pipeliner, id string) limitAsked {
	key := c.ns + "th:" + id
	return limitAsked{pipe.HMGet(ctx, key, limitFields...), pipe.ZCard(ctx, key+"-locks")}
}

// read is the answer.
func (a *limitAsked) read(id string) (RuledLimit, error) {
	for _, cmd := range []redis.Cmder{a.fields, a.used} {
		if err := cmd.Err(); err != nil {
			return RuledLimit{ID: id}, classify(cmd.Name(), err)
		}
	}
	return readLimit(id, a.fields.Val(), int(a.used.Val()))
}

// limitFields are those of a throttle that readLimit reads.
var limitFields = []string{"maximum", "oarlock-limit", "oarlock-tat"}

func readLimit(id string, fields []any, used int) (RuledLimit, error) {
	in := wire.Reader{Items: fields}
	limit := RuledLimit{ID: id, Maximum: max(0, in.Int()), Used: used}
	rule := max(0, in.Int())
	_, limit.Set = fields[0].(string)
	if _, ruled := fields[1].(string); ruled {
		limit.Rule, limit.ByHand = &rule, rule != limit.Maximum
		limit.Set = limit.ByHand
	}
	limit.Full = in.Float()
	return limit, in.Err
}

// RuledQueueLimit reads the limit that the jobs of a queue share.
func (c *Client) RuledQueueLimit(ctx context.Context, queue string) (RuledLimit, error) {
	return c.RuledLimit(ctx, c.ns+"q:"+queue)
}
