package config

import (
	"reflect"
	"testing"

	"oarlock/internal/rules"
)

// Whatever a file says of rules, it is refused with its keys, or comes out of the document as it went in, and is compiled.
func FuzzRules(f *testing.F) {
	for _, text := range []string{
		"[throttles.erp]\nlimit = 10\nrate = '100/10s'\nparked = 'free'", "[throttles.r]\nby = '/a~1b/0'\nlimit = 3\nshares = { a = '40%' }\nborrow = true\nkeep = 1",
		"[windows.n]\nzone = 'Europe/Berlin'\nopen = ['Mon-Fri 22:00-06:00']\nexcept = ['2026-12-24']\nmargin = '5m'\n[queues.q]\nwindows = ['n']\nfirst = 'time'\nslice = '1m'\npriority = 'low-first'",
		"[klass.'P*?']\nqueues = ['q']\nweight = 2\nretries = 0\npriority = 1e9\ncorrelation = '/x'\non_live_correlation = 'existing'\ntimeout = '1m'\nretry = { backoff = [1, 2] }",
		"[klass.A]\npriority = nan", "throttles.erp = 1", "[throttles.\"\\u202e\"]\nlimit = 1", "[queues.'q*']\nlimit = 2.5", "[klass.A.retry]\ndelay = '-1s'", "\x04",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, c := &decoder{places: map[string]place{}, env: environment()}, Defaults()
		d.file(&c, "f", text, false)
		d.retryDefaults(&c)
		d.ruleTables(&c)
		for _, problem := range d.problems {
			if problem.Why == "" {
				t.Errorf("a problem without a reason: %+v", problem)
			}
		}
		if len(d.problems) > 0 {
			return
		}
		set := c.RuleSet()
		agreed, conflicts := rules.Document{}.Agree(c.RulesFile(), false)
		read, err := rules.ParseDocument(agreed.Text())
		if err != nil || len(conflicts) > 0 {
			t.Fatalf("%v, %v", err, conflicts)
		}
		back, err := read.Set()
		if err != nil || !reflect.DeepEqual(rules.Compile(back), rules.Compile(set)) || rules.Check(back, Nearest) != nil {
			t.Errorf("it comes back as %+v, %v; was %+v", back, err, set)
		}
	})
}
