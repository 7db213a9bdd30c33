package queue

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// RulesDamage says that compiled rules in Redis are not what InstallRules wrote. Nothing is taken from a queue whose rules cannot be
// read, nor from one whose next job needs a throttle whose rules cannot be: a limit that nobody can read is none that may be passed.
type RulesDamage struct {
	Queue    string // whose rules; "" if they are not a queue's
	Throttle string // whose rules; "" if they are not a throttle's
	Puts     bool   // what rules say of new jobs; these are put as if nothing were said. With none of the three it is the key of all rules, and of all queues nothing is taken
	Text     string // what stands there, cut, or the error of Redis
}

func (d RulesDamage) String() string {
	switch {
	case d.Queue != "":
		return fmt.Sprintf("the rules of queue %s cannot be read, they are %s", d.Queue, d.Text)
	case d.Throttle != "":
		return fmt.Sprintf("the rules of throttle %s cannot be read, they are %s", d.Throttle, d.Text)
	}
	if d.Puts {
		return "what rules say of new jobs cannot be read, it is " + d.Text
	}
	return "the key of all rules cannot be read: " + d.Text
}

// compiledThrottle and compiledQueue are what the scripts need of compiled rules; see BATCH.md.
type compiledThrottle struct {
	Rate                         []float64
	Sliding, Borrow              bool
	Patience, Others, Each, Keep float64
	By                           []string
	Shares                       map[string]float64
}

type compiledKlass struct {
	Weight    float64
	Throttles []string
	Bypass    bool
	Windows   []compiledWindow
}

type compiledWindow struct {
	Spec   string
	Margin float64
}

type compiledQueue struct {
	Shape     string
	Limited   bool
	Throttles []string
	By        map[string][]string
	Windows   []compiledWindow
	Klass     map[string]compiledKlass
	Globs     []struct {
		Glob  string
		Klass compiledKlass
	}
	Slice, Ageing float64
}

type compiledPut struct {
	Priority, Retries string
	Correlation       []string
	Existing          bool
}

type compiledPuts struct {
	Klass map[string]compiledPut
	Globs []struct {
		Glob  string
		Klass compiledPut
	}
}

// needs reports whether jobs of the queue may need a throttle by its rules.
func (q *compiledQueue) needs(throttle string) bool {
	if slices.Contains(q.Throttles, throttle) {
		return true
	}
	for _, k := range q.Klass {
		if slices.Contains(k.Throttles, throttle) {
			return true
		}
	}
	for _, g := range q.Globs {
		if slices.Contains(g.Klass.Throttles, throttle) {
			return true
		}
	}
	return false
}

// DamagedRules tells which rules cannot be read, those of queues first; with a queue given, only those for which nothing, or nothing
// that needs a throttle, is taken from that. It changes nothing.
func (c *Client) DamagedRules(ctx context.Context, queue string) ([]RulesDamage, error) {
	fields, err := c.redis.HGetAll(ctx, c.ns+"oarlock:rules").Result()
	if err != nil {
		if strings.Contains(err.Error(), "WRONGTYPE") {
			return []RulesDamage{{Text: c.ns + "oarlock:rules is no hash; rename or delete it"}}, nil
		}
		return nil, harmless(classify("hgetall", err))
	}
	var damaged []RulesDamage
	var of compiledQueue
	for field, text := range fields {
		kind, name, _ := strings.Cut(field, ":")
		switch {
		case kind == "q" && (queue == "" || name == queue):
			if of = (compiledQueue{}); notRules(text, &of) {
				damaged = append(damaged, RulesDamage{Queue: name, Text: quoted(text)})
			}
		case field == "puts" && queue == "" && notRules(text, &compiledPuts{}):
			damaged = append(damaged, RulesDamage{Puts: true, Text: quoted(text)})
		case kind == "t" && notRules(text, &compiledThrottle{}):
			damaged = append(damaged, RulesDamage{Throttle: name, Text: quoted(text)})
		}
	}
	if queue != "" {
		damaged = slices.DeleteFunc(damaged, func(d RulesDamage) bool { return d.Throttle != "" && !of.needs(d.Throttle) })
	}
	slices.SortFunc(damaged, func(a, b RulesDamage) int {
		return cmp.Or(cmp.Compare(b.Queue, a.Queue), cmp.Compare(a.Throttle, b.Throttle))
	})
	return damaged, nil
}

// notRules reports whether a text is not what a script expects.
func notRules(text string, into any) bool {
	return json.Unmarshal([]byte(text), into) != nil || !strings.HasPrefix(text, "{")
}

// quoted is the beginning of a text.
func quoted(text string) string {
	if len(text) > 40 {
		return fmt.Sprintf("%.40q…", text)
	}
	return fmt.Sprintf("%q", text)
}
