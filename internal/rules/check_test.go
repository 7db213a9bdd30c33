package rules

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

// exampleSet is rules with all that one can say.
func exampleSet() Set {
	erp, region, night := DefaultThrottle(), DefaultThrottle(), DefaultWindow()
	erp.Limit, erp.Rate, erp.Burst, erp.Parked = 10, "100/10s", 20, "free"
	region.Limit, region.By, region.Others, region.Borrow, region.Keep = 100, "/to/region", "0%", true, 2
	region.Shares = map[string]string{"east": "40%", "north": "30%", "west": "30%"}
	night.Zone, night.Open, night.Except, night.Margin, night.OnClose = "Europe/Berlin", []string{"Mon-Fri 22:00-06:00"}, []string{"2026-12-24"}, 600, "stop"
	mail, pay, images := DefaultQueue(), DefaultKlass(), DefaultKlass()
	mail.Limit, mail.Throttles, mail.Windows, mail.First, mail.Slice = 10, []string{"region"}, []string{"night"}, "time", 60
	pay.Queues, pay.Weight, pay.Throttles = []string{"mail"}, 2, []string{"erp"}
	images.Queues, images.Bypass = []string{"mail", "images"}, true
	return Set{
		Throttles: map[string]Throttle{"erp": erp, "region": region}, Windows: map[string]Window{"night": night},
		Queues: map[string]Queue{"mail": mail}, Klass: map[string]Klass{"Pay": pay, "Image*": images},
	}
}

func nearest(word string, known []string) string {
	for _, k := range known {
		if len(k) == len(word) {
			return k
		}
	}
	return ""
}

func TestWhatMayBeSaid(t *testing.T) {
	if problems := Check(exampleSet(), nearest); problems != nil {
		t.Errorf("%v", problems)
	}
	if problems := Check(Set{}, nearest); problems != nil {
		t.Errorf("of nothing: %v", problems)
	}
}

func TestWhatMayNotBeSaid(t *testing.T) {
	throttle := func(change func(*Throttle)) func(*Set) {
		return func(s *Set) { r := s.Throttles["region"]; change(&r); s.Throttles["region"] = r }
	}
	erp := func(change func(*Throttle)) func(*Set) {
		return func(s *Set) { r := s.Throttles["erp"]; change(&r); s.Throttles["erp"] = r }
	}
	night := func(change func(*Window)) func(*Set) {
		return func(s *Set) { w := s.Windows["night"]; change(&w); s.Windows["night"] = w }
	}
	mail := func(change func(*Queue)) func(*Set) {
		return func(s *Set) { q := s.Queues["mail"]; change(&q); s.Queues["mail"] = q }
	}
	pay := func(change func(*Klass)) func(*Set) {
		return func(s *Set) { k := s.Klass["Pay"]; change(&k); s.Klass["Pay"] = k }
	}
	for _, tt := range []struct {
		change func(*Set)
		want   string
	}{
		{throttle(func(r *Throttle) { r.Shares["west"] = "40%" }), "throttles.region.shares: add up to 110%, more than there is"},
		{throttle(func(r *Throttle) { r.Others = "1%" }), "throttles.region.shares: add up to 101%, more than there is"},
		{throttle(func(r *Throttle) { r.Limit = 0 }), "throttles.region.shares: need a limit to be shares of"},
		{throttle(func(r *Throttle) { r.Shares["west"] = "30" }), `throttles.region.shares.west: "30" is no share; write "40%"`},
		{throttle(func(r *Throttle) { r.Each = 5 }), "throttles.region.each: is the same for every value, and shares are not; write one of them"},
		{throttle(func(r *Throttle) { r.Keep = 100 }), "throttles.region.keep: must be from 0 to below the limit, 100"},
		{throttle(func(r *Throttle) { r.Borrow = false }), "throttles.region.keep: are places that are never lent; write borrow = true, or leave it out"},
		{throttle(func(r *Throttle) { r.By = "region" }), `throttles.region.by: "region" names no value of a job; write a JSON pointer such as "/region", $klass, $queue, or $tag: and how the tag begins`},
		{throttle(func(r *Throttle) { r.By = "/a~b" }), `throttles.region.by: "/a~b": in a pointer ~ is written ~0, and / is ~1`},
		{throttle(func(r *Throttle) { *r = Throttle{Parked: "hold", Patience: 60, By: "/r"} }), "throttles.region.by: there is nothing that values could be limited to; say limit, rate or each"},
		{throttle(func(r *Throttle) { r.Shares[""] = "0%" }), "throttles.region.shares: a value has 1 to 64 bytes"},
		{throttle(func(r *Throttle) { r.Others = "few" }), `throttles.region.others: "few" is no share`},
		{throttle(func(r *Throttle) { r.Shares, r.Others = nil, "1%" }), "throttles.region.others: is what shares leave; there are none"},
		{throttle(func(r *Throttle) { r.Shares, r.Others = nil, "" }), "throttles.region.borrow: needs shares, or each, of which something can be lent"},
		{throttle(func(r *Throttle) { r.Shares, r.Others, r.Each, r.Limit = nil, "", 3, 0 }), "throttles.region.borrow: needs a limit, of which is lent what nobody uses"},
		{throttle(func(r *Throttle) { r.Limit = mostPlaces + 1 }), fmt.Sprintf("throttles.region.limit: must be %d at most", mostPlaces)},
		{erp(func(r *Throttle) { r.Burst = -1 }), "throttles.erp.burst: must be a whole number from 1; without it as many as the rate has may start at once"},
		{erp(func(r *Throttle) { r.Rate, r.Burst, r.Sliding = "1000000/h", 0, true }), fmt.Sprintf("throttles.erp.rate: a sliding rate remembers each start, and has %d at most", mostStarts)},
		{erp(func(r *Throttle) { r.Asks, r.OnFailure = true, "shut" }), `throttles.erp.on_failure: "shut" is none of closed, open`},
		{erp(func(r *Throttle) { r.Asks = true }), "throttles.erp.limit: the command of a throttle decides alone; write limit in another throttle, and let the queue or class name both"},
		{erp(func(r *Throttle) { r.Asks = true }), "throttles.erp.rate: the command of a throttle decides alone"},
		{erp(func(r *Throttle) { r.Each = 3 }), `throttles.erp.each: is about values; say what a value is, such as by = "/region"`},
		{erp(func(r *Throttle) { r.Rate = "100" }), `throttles.erp.rate: "100" is no rate; write starts and time, as in "100/10s"`},
		{erp(func(r *Throttle) { r.Rate = "2.5/s" }), `throttles.erp.rate: "2.5/s" is no rate; write starts and time, as in "100/10s"`},
		{erp(func(r *Throttle) { r.Rate = "0/s" }), `throttles.erp.rate: "0/s" starts none; a rate has one start at least, and 0 children stop a pool`},
		{erp(func(r *Throttle) { r.Rate = "5/day" }), `throttles.erp.rate: "5/day" is no rate: "day" is no time; use h, m, s, ms as in "100/10s"`},
		{erp(func(r *Throttle) { r.Rate, r.Burst = "", 0; r.Sliding = true }), `throttles.erp.rate: burst and sliding are of a rate; write one, such as rate = "100/10s"`},
		{erp(func(r *Throttle) { r.Sliding = true }), "throttles.erp.burst: a sliding rate has none: never more than 100 starts in any 10s"},
		{erp(func(r *Throttle) { r.Parked = "release" }), `throttles.erp.parked: "release" is none of hold, free`},
		{erp(func(r *Throttle) { r.Patience = 0 }), "throttles.erp.patience: must be between 1s and 24h"},
		{night(func(w *Window) { w.Open = []string{"25:00-26:00"} }), `windows.night.open: "25:00-26:00": "25:00" is no time of a day as 06:30 or 06:30:15, from 00:00 to 24:00`},
		{night(func(w *Window) { w.Open = []string{"05:00-05:00"} }), `windows.night.open: "05:00-05:00": is empty; the whole day is 00:00-24:00`},
		{night(func(w *Window) { w.Open = nil }), `windows.night.open: it is never open; write when, such as ["Mon-Fri 22:00-06:00"]`},
		{night(func(w *Window) { w.Zone = "Berlin" }), `windows.night.zone: `},
		{night(func(w *Window) { w.Except = []string{"24.12."} }), `windows.night.except: "24.12." is no date as 2026-12-24`},
		{night(func(w *Window) { w.Margin = 8 * 3600 }), "windows.night.margin: nothing would ever start: it is never open for longer than 8h"},
		{mail(func(q *Queue) { q.Throttles = []string{"regoin"} }), `queues.mail.throttles: there is no [throttles.regoin]; did you mean "region"?`},
		{mail(func(q *Queue) { q.Throttles = []string{"region", "region"} }), `queues.mail.throttles: "region" is there twice; for more places of it write weight in a [klass] table`},
		{mail(func(q *Queue) { q.Windows = []string{"day"} }), `queues.mail.windows: there is no [windows.day]`},
		{mail(func(q *Queue) { q.Priority = "low" }), `queues.mail.priority: "low" is none of high-first, low-first`},
		{mail(func(q *Queue) { q.Ageing = 60 }), `queues.mail.ageing: is for first = "priority"; where time is first, priority makes nobody wait`},
		{mail(func(q *Queue) { q.First = "priority" }), `queues.mail.slice: is for first = "time"`},
		{mail(func(q *Queue) { q.Slice = 0.5 }), "queues.mail.slice: must be between 1s and 24h"},
		{mail(func(q *Queue) { q.FairBy = "tenant" }), `queues.mail.fair_by: "tenant" names no value of a job; write a JSON pointer such as "/region", $klass, $queue, or $tag: and how the tag begins`},
		{mail(func(q *Queue) { q.FairWeights = map[string]int{"a": 1} }), `queues.mail.fair_weights: are weights of values; say what a value is, such as fair_by = "/tenant"`},
		{mail(func(q *Queue) { q.FairBy, q.FairWeights = "/t", map[string]int{"a": 0} }), "queues.mail.fair_weights.a: must be a whole number from 1 to 100: how many jobs of the value start while a value of weight 1 has one start"},
		{mail(func(q *Queue) { q.FairBy, q.FairWeights = "/t", map[string]int{"a": -3} }), "queues.mail.fair_weights.a: must be a whole number from 1 to 100"},
		{mail(func(q *Queue) { q.FairBy, q.FairWeights = "/t", map[string]int{"a": 101} }), "queues.mail.fair_weights.a: must be a whole number from 1 to 100"},
		{mail(func(q *Queue) { q.FairBy, q.FairWeights = "/t", map[string]int{"": 1} }), "queues.mail.fair_weights: a value has 1 to 64 bytes"},
		{mail(func(q *Queue) { q.FairBy, q.FairWeights = "/t", map[string]int{"a-locks": 1} }), "queues.mail.fair_weights.a-locks: a value with a weight does not end in -locks or -pending, which are keys of the value without that"},
		{func(s *Set) {
			s.Queues["mail"] = Queue{FairBy: "/t", Priority: "high-first", First: "priority", Slice: 1}
			s.Throttles["fair:mail"] = DefaultThrottle()
		}, `queues.mail.fair_by: takes the name fair:mail for itself; call [throttles."fair:mail"] otherwise`},
		{func(s *Set) { s.Queues["m*"] = DefaultQueue() }, `queues.m*: rules are of one queue each, by its name; "m*" is a glob`},
		{func(s *Set) { s.Throttles["a=b"] = DefaultThrottle() }, "throttles.a=b: a name has no blanks, no = and nothing that cannot be seen"},
		{func(s *Set) { s.Throttles["a\u202e"] = DefaultThrottle() }, "throttles.a\u202e: a name has no blanks"},
		{func(s *Set) { s.Throttles["ql:q:mail"] = DefaultThrottle() }, "throttles.ql:q:mail: a name with :q: is that of a queue's own limit"},
		{func(s *Set) { s.Throttles[strings.Repeat("x", 129)] = DefaultThrottle() }, "throttles." + strings.Repeat("x", 129) + ": a name has 1 to 128 bytes"},
		{func(s *Set) { s.Throttles["erp-locks"] = DefaultThrottle() }, "throttles.erp-locks: a name does not end in -locks or -pending, which are keys of the throttle without that"},
		{func(s *Set) { s.Queues["a\x00"] = DefaultQueue() }, "queues.a\x00: \"a\\x00\" is no name of a queue"},
		{func(s *Set) { s.Klass[""] = DefaultKlass() }, "klass.: a class has a name"},
		{func(s *Set) { s.Klass["*a*b*"] = DefaultKlass() }, "klass.*a*b*: a glob of classes has two * at most"},
		{func(s *Set) { s.Answers = &Answers{Most: 0} }, "park.max_response: must be between 1B and "},
		{func(s *Set) { s.Answers = &Answers{Most: 1, Early: -1} }, "park.keep_early: is negative; 0s keeps nothing"},
		{func(s *Set) { s.Answers = &Answers{Most: 1, Done: -1} }, "park.keep_done: is negative; 0s keeps nothing"},
		{mail(func(q *Queue) { q.First, q.Slice, q.Ageing = "priority", DefaultQueue().Slice, 0.5 }), "queues.mail.ageing: must be between 1s and "},
		{pay(func(k *Klass) { k.Weight = 0 }), "klass.Pay.weight: from 1 to 100; for jobs that do not count write bypass = true"},
		{erp(func(r *Throttle) { r.Burst = 1 }), "klass.Pay.weight: is more than the 1 that throttles.erp lets start at once: it would wait until that is unused, and go beyond it then; lower it or raise the burst"},
		{erp(func(r *Throttle) { r.Rate, r.Burst = "1/10s", 0 }), "klass.Pay.weight: is more than the 1 that throttles.erp lets start at once: it would wait until that is unused, and go beyond it then; lower it or raise the burst"},
		{throttle(func(r *Throttle) { r.Rate, r.Sliding = "1/m", true }), "klass.Pay.weight: is more than the 1 that throttles.region lets start at once: it would wait until that is unused, and go beyond it then; lower it or raise the rate"},
		{pay(func(k *Klass) { k.Weight = 11 }), "klass.Pay.weight: is more than the 10 places of throttles.erp: it would run alone; lower it or raise the limit"},
		{pay(func(k *Klass) { k.Throttles = []string{"epr"} }), `klass.Pay.throttles: there is no [throttles.epr]; did you mean "erp"?`},
		{pay(func(k *Klass) { k.Queues = nil }), `klass.Pay.queues: say where weight, throttles, bypass and windows count, such as queues = ["mail"]`},
		{pay(func(k *Klass) { k.Priority = math.NaN() }), "klass.Pay.priority: must be between -1000000000 and 1000000000"},
		{pay(func(k *Klass) { k.Retries = -1 }), "klass.Pay.retries: must be between 0 and 1000000"},
		{pay(func(k *Klass) { k.Correlation = "order_id" }), `klass.Pay.correlation: "order_id" is no JSON pointer; write where in the data it stands, as "/order_id"`},
		{pay(func(k *Klass) { k.Correlation = "$klass" }), `klass.Pay.correlation: "$klass" is no JSON pointer`},
		{pay(func(k *Klass) { k.OnLive = "merge" }), `klass.Pay.on_live_correlation: "merge" is none of refuse, existing`},
		{pay(func(k *Klass) { k.Bypass = true }), "klass.Pay.bypass: such jobs count nowhere; leave out weight and throttles"},
	} {
		s := exampleSet()
		tt.change(&s)
		problems := Check(s, nearest)
		if !slices.ContainsFunc(problems, func(p Problem) bool { return strings.HasPrefix(p.String(), tt.want) }) {
			t.Errorf("want %q, got %q", tt.want, problems)
		}
	}
}
