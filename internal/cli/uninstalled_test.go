package cli

import (
	"slices"
	"strings"
	"testing"

	"oarlock/internal/must"
)

const uninstalledFile = `
-- c.toml --
[throttles.erp]
limit = 2
[windows.night]
open = ["22:00-06:00"]
[queues.orders]
order = "key"
key_from = "/id"
merge = "last"
[queues.mails]
limit = 3
[klass."Pay*"]
queues = ["bills"]
throttles = ["erp"]
windows = ["night"]
[klass.Urgent]
priority = 5
`

// A put whose configuration has rules for it that Redis does not have says which, at every kind of put and of rule, and no other.
func TestPutTellsOfRulesThatAreNotInRedis(t *testing.T) {
	s, c := scriptOn(t, uninstalledFile)
	must.Do(t, c.NoteServed(t.Context(), []string{"*"}))
	const told = "Redis does not have these rules of "
	cases := []struct{ put, stdin, names string }{
		{put: `put orders {"id":7}`, names: "queues.orders.order."},
		{put: `put orders {"id":9} --merge last`, names: "queues.orders.order."},
		{put: "put mails 1", names: "queues.mails."},
		{put: "recur add mails 1 --every 1h --offset 1h --klass K", names: "queues.mails."},
		{put: "recur add mails 1 --cron @daily --klass K", names: "queues.mails."},
		{put: "recur add other 1 --cron @daily --klass K"},
		{put: "put bills 1 --klass Payment", names: "klass.Pay*, throttles.erp, windows.night."},
		{put: "put bills 1 --klass Mail"},
		{put: "put other 1 --klass Urgent", names: "klass.Urgent."},
		{put: "put other 1 --throttle erp", names: "throttles.erp."},
		{put: "put other 1"},
		{put: "put mails -", stdin: "1\n2\n", names: "queues.mails."},
		{put: "put other - --jobs", stdin: `{"queue":"orders","data":{"id":8}}` + "\n" + `{"klass":"Urgent"}` + "\n", names: "klass.Urgent, queues.orders.order."},
		{put: "put other - --jobs", stdin: "{}\n"},
	}
	put := func(when string, wanted func(names string) string) {
		t.Helper()
		for _, tt := range cases {
			s.stdin = tt.stdin
			if code := s.anyCode(append(strings.Fields(tt.put), "-c", "c.toml")); code != 0 {
				t.Fatalf("%s, %s exits %d: %s", when, tt.put, code, s.said["stderr"])
			}
			got := ""
			if _, after, is := strings.Cut(s.said["stderr"], told); is {
				_, after, _ = strings.Cut(after, ": ")
				got, _, _ = strings.Cut(after, "\n")
			}
			if got != wanted(tt.names) {
				t.Errorf("%s, %s names %q, not %q\n%s", when, tt.put, got, wanted(tt.names), s.said["stderr"])
			}
		}
	}
	s.says(t, 64, "put other 1 --merge last -c c.toml", "--merge needs a key")
	s.says(t, 64, "put mails 1 --score 1", "--score needs a key")
	put("before", func(names string) string { return names })
	s.says(t, 0, "put mails 1 --klass X", "", "")
	if strings.Contains(s.said["stderr"], told) {
		t.Error("without a configuration it tells of rules")
	}
	s.says(t, 0, `put orders {"id":7} --apply -c c.toml`, "queues.orders.order is changed")
	put("after --apply", func(string) string { return "" })
	waiting := len(must.Get(c.Peek(t.Context(), "orders", 0, 100))(t))
	s.says(t, 0, `put orders {"id":7} -c c.toml`)
	if n := len(must.Get(c.Peek(t.Context(), "orders", 0, 100))(t)); n != waiting {
		t.Errorf("a put that merges makes %d jobs of %d", n, waiting)
	}
	s.says(t, 0, "rules rm klass.Urgent --force")
	if s.says(t, 0, "put other 1 --klass Urgent -c c.toml"); !slices.ContainsFunc(strings.Split(s.said["stderr"], "\n"), func(line string) bool {
		return strings.HasPrefix(line, told) && strings.HasSuffix(line, ": klass.Urgent.")
	}) {
		t.Errorf("of a rule that was taken away it says %s", s.said["stderr"])
	}
	s.says(t, 64, "put orders 1 --apply", "no configuration file with rules")
}
