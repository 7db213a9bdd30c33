package rules

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
	"unicode"

	"oarlock/internal/schedule"
	"oarlock/internal/window"
)

// Problem is one thing that is wrong with a set.
type Problem struct {
	Key string // with its tables: throttles.erp.limit
	Why string
}

func (p Problem) String() string { return p.Key + ": " + p.Why }

// checker notes what is wrong with a set.
type checker struct {
	Set
	nearest  func(word string, known []string) string
	problems []Problem
}

// Check tells everything that is wrong with a set, in the order of its tables; nil if nothing is. nearest gives the
// known word that was probably meant, or "".
func Check(s Set, nearest func(word string, known []string) string) []Problem {
	c := &checker{Set: s, nearest: nearest}
	for _, name := range slices.Sorted(maps.Keys(s.Throttles)) {
		c.throttle(kindThrottle+name, name, s.Throttles[name])
	}
	for _, name := range slices.Sorted(maps.Keys(s.Windows)) {
		c.window(kindWindow+name, name, s.Windows[name])
	}
	for _, name := range slices.Sorted(maps.Keys(s.Queues)) {
		c.queue(kindQueue+name, name, s.Queues[name])
	}
	for _, name := range slices.Sorted(maps.Keys(s.Klass)) {
		c.klass(kindKlass+name, name, s.Klass[name])
	}
	if s.Answers != nil {
		c.answers(*s.Answers)
	}
	return c.problems
}

func (c *checker) bad(key, why string, args ...any) {
	c.problems = append(c.problems, Problem{key, fmt.Sprintf(why, args...)})
}

// answers checks what is said of answers to parked jobs.
func (c *checker) answers(a Answers) {
	if most := DefaultAnswers().Most; a.Most < 1 || a.Most > most {
		c.bad(kindPark+"max_response", "must be between 1B and %dMiB: an answer is kept with its job", most>>20)
	}
	for key, kept := range map[string]float64{"keep_early": a.Early, "keep_done": a.Done} {
		if kept < 0 {
			c.bad(kindPark+key, "is negative; 0s keeps nothing")
		}
	}
}

// name checks the name of a throttle or a window, which becomes part of keys and of sentences.
func (c *checker) name(key, name string) {
	odd := func(r rune) bool {
		return r == '=' || r == unicode.ReplacementChar || !unicode.IsGraphic(r) || unicode.IsSpace(r)
	}
	switch {
	case name == "" || len(name) > 128:
		c.bad(key, "a name has 1 to 128 bytes")
	case strings.ContainsFunc(name, odd):
		c.bad(key, "a name has no blanks, no = and nothing that cannot be seen")
	case strings.Contains(name, ":q:"):
		c.bad(key, "a name with :q: is that of a queue's own limit; write [queues.NAME] limit")
	case isPart(name):
		c.bad(key, "a name does not end in -locks or -pending, which are keys of the throttle without that")
	}
}

// isPart reports whether a throttle of that name has a key of another.
func isPart(name string) bool {
	return strings.HasSuffix(name, "-locks") || strings.HasSuffix(name, "-pending")
}

func (c *checker) throttle(key, name string, t Throttle) {
	c.name(key, name)
	c.between(key+".limit", t.Limit, mostPlaces)
	c.rate(key, t)
	c.choice(key+".parked", t.Parked, Parkings)
	c.seconds(key+".patience", t.Patience, time.Second, 24*time.Hour)
	c.decider(key, t)
	c.between(key+".each", t.Each, mostPlaces)
	if t.By == "" {
		for name, set := range map[string]bool{"shares": len(t.Shares) > 0, "others": t.Others != "", "each": t.Each != 0, "borrow": t.Borrow, "keep": t.Keep != 0} {
			if set {
				c.bad(key+"."+name, `is about values; say what a value is, such as by = "/region"`)
			}
		}
		return
	}
	if _, err := parseBy(t.By); err != nil {
		c.bad(key+".by", "%v", err)
	}
	if t.Limit < 1 && t.Rate == "" && t.Each < 1 && len(t.Shares) == 0 {
		c.bad(key+".by", "there is nothing that values could be limited to; say limit, rate or each, or write fair_by in [queues.NAME] if they are to take turns only")
	}
	c.shares(key, t)
}

// decider checks what is said of a command that decides: it does so alone.
func (c *checker) decider(key string, t Throttle) {
	if !t.Asks {
		return
	}
	c.choice(key+".on_failure", t.OnFailure, OnFailures)
	for _, other := range []struct {
		name string
		set  bool
	}{{"limit", t.Limit > 0}, {"rate", t.Rate != ""}, {"by", t.By != ""}} {
		if other.set {
			c.bad(key+"."+other.name, "the command of a throttle decides alone; write %s in another throttle, and let the queue or class name both", other.name)
		}
	}
}

func (c *checker) rate(key string, t Throttle) {
	if t.Rate == "" {
		if t.Burst != 0 || t.Sliding {
			c.bad(key+".rate", `burst and sliding are of a rate; write one, such as rate = "100/10s"`)
		}
		return
	}
	r, err := parseRate(t.Rate)
	switch {
	case err != nil:
		c.bad(key+".rate", "%v", err)
	case t.Burst < 0 || t.Burst > mostPlaces:
		c.bad(key+".burst", "must be a whole number from 1; without it as many as the rate has may start at once")
	case t.Sliding && t.Burst != 0:
		c.bad(key+".burst", "a sliding rate has none: never more than %s starts in any %s", strings.Split(t.Rate, "/")[0], duration(r.period))
	case t.Sliding && r.starts > mostStarts:
		c.bad(key+".rate", "a sliding rate remembers each start, and has %d at most", mostStarts)
	}
}

// shares checks what values may have of a limit.
func (c *checker) shares(key string, t Throttle) {
	total := 0.0
	for _, value := range slices.Sorted(maps.Keys(t.Shares)) {
		share, err := parseShare(t.Shares[value])
		switch {
		case err != nil:
			c.bad(key+".shares."+value, "%v", err)
		case value == "" || len(value) > 64 || strings.ContainsRune(value, 0):
			c.bad(key+".shares", "a value has 1 to 64 bytes")
		case isPart(value):
			c.bad(key+".shares."+value, "a value with a share does not end in -locks or -pending, which are keys of the value without that")
		}
		total += share
	}
	others, err := parseShare(t.Others)
	if t.Others != "" && err != nil {
		c.bad(key+".others", "%v", err)
	}
	total += others
	switch {
	case len(t.Shares) == 0 && t.Others != "":
		c.bad(key+".others", "is what shares leave; there are none")
	case len(t.Shares) > 0 && t.Limit < 1:
		c.bad(key+".shares", "need a limit to be shares of")
	case len(t.Shares) > 0 && t.Each > 0:
		c.bad(key+".each", "is the same for every value, and shares are not; write one of them")
	case total > 1+1e-9:
		c.bad(key+".shares", "add up to %.4g%%, more than there is", 100*total)
	case t.Borrow && len(t.Shares) == 0 && t.Each < 1:
		c.bad(key+".borrow", "needs shares, or each, of which something can be lent")
	case t.Borrow && t.Limit < 1:
		c.bad(key+".borrow", "needs a limit, of which is lent what nobody uses")
	case t.Keep != 0 && !t.Borrow:
		c.bad(key+".keep", "are places that are never lent; write borrow = true, or leave it out")
	case t.Keep < 0 || t.Keep > 0 && t.Keep >= t.Limit:
		c.bad(key+".keep", "must be from 0 to below the limit, %d", t.Limit)
	}
}

func (c *checker) window(key, name string, w Window) {
	c.name(key, name)
	c.choice(key+".on_close", w.OnClose, Closings)
	if _, err := schedule.Zone(w.Zone); err != nil {
		c.bad(key+".zone", "%v", err)
		return
	}
	problems := len(c.problems)
	if len(w.Open) == 0 {
		c.bad(key+".open", `it is never open; write when, such as ["Mon-Fri 22:00-06:00"]`)
	}
	for _, span := range w.Open {
		if _, err := window.Parse(window.Spec{Open: []string{span}}); err != nil {
			c.bad(key+".open", "%v", err)
		}
	}
	for _, date := range w.Except {
		if _, err := time.Parse(time.DateOnly, date); err != nil {
			c.bad(key+".except", "%q is no date as 2026-12-24", date)
		}
	}
	c.seconds(key+".margin", w.Margin, 0, 24*time.Hour)
	if len(c.problems) > problems {
		return
	}
	if open, err := window.Parse(w.Spec()); err == nil && w.Margin > 0 && w.Margin >= open.Longest().Seconds() {
		c.bad(key+".margin", "nothing would ever start: it is never open for longer than %s", duration(open.Longest().Seconds()))
	}
}

func (c *checker) queue(key, name string, q Queue) {
	c.queueName(key, name)
	c.between(key+".limit", q.Limit, mostPlaces)
	if q.Limit > 0 && isPart(name) {
		c.bad(key+".limit", "the limit of a queue whose name ends in -locks or -pending has the key of the queue without that; "+
			"write a [throttles.NAME] with the limit, and throttles = [\"NAME\"] here")
	}
	known(c, key+".throttles", "throttles", q.Throttles, c.Throttles)
	known(c, key+".windows", "windows", q.Windows, c.Windows)
	c.choice(key+".priority", q.Priority, Priorities)
	c.choice(key+".first", q.First, Firsts)
	c.fair(key, name, q)
	if q.First == Firsts[1] {
		c.seconds(key+".slice", q.Slice, time.Second, 24*time.Hour)
		if q.Ageing != 0 {
			c.bad(key+".ageing", `is for first = "priority"; where time is first, priority makes nobody wait`)
		}
		return
	}
	if q.Slice != DefaultQueue().Slice {
		c.bad(key+".slice", `is for first = "time"`)
	}
	if q.Ageing != 0 {
		c.seconds(key+".ageing", q.Ageing, time.Second, longest)
	}
}

// fair checks what is said of turns.
func (c *checker) fair(key, name string, q Queue) {
	if q.FairBy == "" {
		if len(q.FairWeights) > 0 {
			c.bad(key+".fair_weights", `are weights of values; say what a value is, such as fair_by = "/tenant"`)
		}
		return
	}
	if _, err := parseBy(q.FairBy); err != nil {
		c.bad(key+".fair_by", "%v", err)
	}
	if _, is := c.Throttles[fairThrottle(name)]; is {
		c.bad(key+".fair_by", "takes the name %s for itself; call [throttles.%q] otherwise", fairThrottle(name), fairThrottle(name))
	}
	for _, value := range slices.Sorted(maps.Keys(q.FairWeights)) {
		switch weight := q.FairWeights[value]; {
		case weight < 1 || weight > mostWeight:
			c.bad(key+".fair_weights."+value, "must be a whole number from 1 to %d: how many jobs of the value start while a value of weight 1 has one start", mostWeight)
		case value == "" || len(value) > longestValue || strings.ContainsRune(value, 0):
			c.bad(key+".fair_weights", "a value has 1 to 64 bytes")
		case isPart(value):
			c.bad(key+".fair_weights."+value, "a value with a weight does not end in -locks or -pending, which are keys of the value without that")
		}
	}
}

// mostWeight is the largest weight of a value in a fair queue.
const mostWeight = 100

// queueName checks the name of a queue. What is ruled is found by the name, byte for byte.
func (c *checker) queueName(key, name string) {
	switch {
	case name == "" || strings.ContainsRune(name, 0):
		c.bad(key, "%q is no name of a queue", name)
	case isGlob(name):
		c.bad(key, "rules are of one queue each, by its name; %q is a glob", name)
	}
}

func (c *checker) klass(key, name string, k Klass) {
	if name == "" {
		c.bad(key, "a class has a name")
	}
	if strings.Count(name, "*") > 2 {
		c.bad(key, "a glob of classes has two * at most: it is tried for every class of jobs, in Redis")
	}
	for _, queue := range k.Queues {
		c.queueName(key+".queues", queue)
	}
	known(c, key+".throttles", "throttles", k.Throttles, c.Throttles)
	known(c, key+".windows", "windows", k.Windows, c.Windows)
	switch {
	case k.Weight < 1 || k.Weight > 100:
		c.bad(key+".weight", "from 1 to 100; for jobs that do not count write bypass = true")
	case k.Bypass && (k.Weight > 1 || len(k.Throttles) > 0):
		c.bad(key+".bypass", "such jobs count nowhere; leave out weight and throttles")
	case k.gated() && len(k.Queues) == 0:
		c.bad(key+".queues", `say where weight, throttles, bypass and windows count, such as queues = ["mail"]`)
	}
	c.fits(key, k)
	c.puts(key, k)
}

// puts checks what is said to those who put jobs of a class.
func (c *checker) puts(key string, k Klass) {
	if !(math.Abs(k.Priority) <= mostPriority) { // nor nan
		c.bad(key+".priority", "must be between -%d and %d", mostPriority, mostPriority)
	}
	if k.Retries < 0 || k.Retries > mostRetries {
		c.bad(key+".retries", "must be between 0 and %d", mostRetries)
	}
	c.choice(key+".on_live_correlation", k.OnLive, OnLives)
	if k.Correlation == "" {
		return
	}
	if at, err := parseBy(k.Correlation); err != nil || at[0] != "path" {
		c.bad(key+".correlation", `%q is no JSON pointer; write where in the data it stands, as "/order_id"`, k.Correlation)
	}
}

const (
	mostPriority = 1_000_000_000
	mostRetries  = 1_000_000
)

// fits checks that a job of the class finds as many places as it takes.
func (c *checker) fits(key string, k Klass) {
	heavy := func(what string, limit int) {
		if limit > 0 && k.Weight > limit && k.Weight <= 100 {
			c.bad(key+".weight", "is more than the %d places of %s: it would run alone; lower it or raise the limit", limit, what)
		}
	}
	throttle := func(name string) {
		t := c.Throttles[name]
		heavy(kindThrottle+name, t.Limit)
		r, err := parseRate(t.Rate)
		if err != nil {
			return
		}
		atOnce, raised := r.starts, "burst"
		if t.Burst > 0 {
			atOnce = t.Burst
		}
		if t.Sliding {
			raised = "rate"
		}
		if k.Weight > atOnce && k.Weight <= 100 {
			c.bad(key+".weight", "is more than the %d that %s lets start at once: it would wait until that is unused, and go beyond it then; lower it or raise the %s",
				atOnce, kindThrottle+name, raised)
		}
	}
	for _, name := range k.Throttles {
		throttle(name)
	}
	for _, queue := range k.Queues {
		heavy(kindQueue+queue, c.Queues[queue].Limit)
		for _, name := range c.Queues[queue].Throttles {
			if !slices.Contains(k.Throttles, name) {
				throttle(name)
			}
		}
	}
}

// known checks that names are those of tables, each once.
func known[T any](c *checker, key, kind string, names []string, tables map[string]T) {
	for i, name := range names {
		if _, ok := tables[name]; !ok {
			why := fmt.Sprintf("there is no [%s.%s]", kind, name)
			if near := c.nearest(name, slices.Sorted(maps.Keys(tables))); near != "" {
				why += fmt.Sprintf("; did you mean %q?", near)
			}
			c.bad(key, "%s", why)
		} else if slices.Contains(names[:i], name) {
			c.bad(key, "%q is there twice; for more places of it write weight in a [klass] table", name)
		}
	}
}

func (c *checker) choice(key, word string, allowed []string) {
	if !slices.Contains(allowed, word) {
		c.bad(key, "%q is none of %s", word, strings.Join(allowed, ", "))
	}
}

func (c *checker) between(key string, n, most int) {
	if n > most {
		c.bad(key, "must be %d at most", most)
	}
}

func (c *checker) seconds(key string, n float64, least, most time.Duration) {
	if !(n >= least.Seconds() && n <= most.Seconds()) {
		c.bad(key, "must be between %s and %s", duration(least.Seconds()), duration(most.Seconds()))
	}
}

// duration writes seconds as people do.
func duration(seconds float64) string {
	text := time.Duration(seconds * float64(time.Second)).String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, zero) {
			text = strings.TrimSuffix(text, zero[1:])
		}
	}
	return text
}
