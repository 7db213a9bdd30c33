package embedded

import (
	"runtime"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"oarlock/internal/must"
	"oarlock/internal/redistest"
)

// client connects to a server.
func client(t *testing.T, url string) *redis.Client {
	t.Helper()
	o := must.Get(redis.ParseURL(url))(t)
	o.ReadTimeout = -1
	c := redis.NewClient(o)
	t.Cleanup(func() { c.Close() })
	return c
}

// TestLargeTextCostsInProportion runs what scripts do with JSON on texts of one size and of four times that: memory allocated, which
// no busy machine changes, grows by about four. Where each match of a pattern copied the whole text it was sixteen.
func TestLargeTextCostsInProportion(t *testing.T) {
	server := must.Get(Start(""))(t)
	t.Cleanup(server.Close)
	c := client(t, server.URL())
	const small = 8 << 10
	for name, of := range map[string]func(n int) string{
		"plain":   func(n int) string { return `"` + strings.Repeat("x", n) + `"` },
		"escapes": func(n int) string { return `"` + strings.Repeat(`\n`, n/2) + `"` },
		"lists":   func(n int) string { return `[` + strings.Repeat(`[],`, n/3) + `1]` },
		"objects": func(n int) string { return `[` + strings.Repeat(`{"a":null,"é":1.5},`, n/20) + `1]` },
	} {
		for _, script := range []string{
			"return #cjson.encode(cjson.decode(ARGV[1]))",
			"return #cjson.encode(ARGV[1])",
			`return #string.gsub(string.gsub(ARGV[1], '\\.', ''), '"[^"]*"', ' ')`, // as merge.lua
		} {
			allocated := func(n int) uint64 {
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				if err := c.Eval(t.Context(), script, nil, of(n)).Err(); err != nil {
					t.Fatalf("%s, %d bytes: %s: %v", name, n, script, err)
				}
				runtime.ReadMemStats(&after)
				return after.TotalAlloc - before.TotalAlloc
			}
			allocated(small)
			if one, four := allocated(small), allocated(4*small); four > 6*one {
				t.Errorf("%s: %s allocates %d KiB, and %d KiB for four times the text", name, script, one>>10, four>>10)
			}
		}
	}
}

// TestGsubIsThatOfRedis compares gsub on a long text with that of Redis, and concat of many parts.
func TestGsubIsThatOfRedis(t *testing.T) {
	server := must.Get(Start(""))(t)
	t.Cleanup(server.Close)
	ours, theirs := client(t, server.URL()), client(t, redistest.Shared(t).URL)
	text := strings.Repeat("key = value, x1=22; []{}\n", 40)
	for _, call := range []string{
		`gsub(t, '[%[{]', '')`, `gsub(t, '(%w+) = (%w+)', '%2 = %1')`, `gsub(t, '%w+', '<%0>')`, `gsub(t, '%w+', '%1%%')`,
		`gsub(t, 'x*', '-')`, `gsub(t, '^key', 'KEY')`, `gsub(t, 'value', '', 3)`, `gsub(t, 'nothing', 'x')`, `gsub(t, '%s+$', '!')`,
		`gsub(t, '%w+', {key = 'K', x1 = false})`, `gsub(t, '(%w)(%d)', function(a, b) if b == '1' then return b .. a end end)`, `gsub(t, '()=', '%1')`,
		`gsub(t, '%d', 7)`, `gsub(t, '', '.', 0)`,
	} {
		script := "local t = ARGV[1] local s, n = string." + call + " return {s, n}"
		got, err := ours.Eval(t.Context(), script, nil, text).Slice()
		want, wrong := theirs.Eval(t.Context(), script, nil, text).Slice()
		if err != nil || wrong != nil || got[0] != want[0] || got[1] != want[1] {
			t.Errorf("%s is\n%.200v %v, and\n%.200v %v with Redis", call, got, err, want, wrong)
		}
	}
	const concat = `local t = {} for i = 1, 70001 do t[i] = i end return redis.sha1hex(table.concat(t, ',') .. table.concat(t, '-', 3, 60000))`
	got, err := ours.Eval(t.Context(), concat, nil).Text()
	want, wrong := theirs.Eval(t.Context(), concat, nil).Text()
	if err != nil || wrong != nil || got != want {
		t.Errorf("concat of many parts: %s %v, %s %v with Redis", got, err, want, wrong)
	}
}
