package embedded

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"oarlock/internal/must"

	"github.com/redis/go-redis/v9"
)

// start gives a server and a client of it; both end with the test.
func start(t *testing.T) (*Server, *redis.Client) {
	t.Helper()
	s := must.Get(Start(""))(t)
	t.Cleanup(s.Close)
	return s, connect(t, s)
}

func connect(t *testing.T, s *Server) *redis.Client {
	t.Helper()
	opts := must.Get(redis.ParseURL(s.URL()))(t)
	opts.MaxRetries = -1
	opts.PoolSize = 1
	c := redis.NewClient(opts)
	t.Cleanup(func() { c.Close() })
	return c
}

// The replies in this table were taken from redis-server 7.0.15.
func TestScriptsAnswerAsRedisDoes(t *testing.T) {
	_, c := start(t)
	tests := []struct{ name, script, want string }{
		{"empty table", `return cjson.encode({})`, `{}`},
		{"array", `return cjson.encode({1, 2, {3}})`, `[1,2,[3]]`},
		{"nested empty", `return cjson.encode({a = {}})`, `{"a":{}}`},
		{"escapes", `return cjson.encode('<a&b>"/\\\n\1')`, `"<a&b>\"\/\\\n\u0001"`},
		{"zero byte", `return cjson.encode('a\0b')`, `"a\u0000b"`},
		{"bytes above 127", `return cjson.encode('\255é')`, "\"\xffé\""},
		{"fraction", `return cjson.encode(1763705501.25)`, `1763705501.25`},
		{"14 digits", `return cjson.encode(0.1 + 0.2)`, `0.3`},
		{"large integer", `return cjson.encode(9007199254740993)`, `9.007199254741e+15`},
		{"null stays", `return cjson.encode(cjson.decode('[1,null,3]'))`, `[1,null,3]`},
		{"null in an object", `return tostring(cjson.decode('{"a":null}').a == cjson.null)`, `true`},
		{"null is no table", `return type(cjson.null)`, `userdata`},
		{"surrogates", `return cjson.decode('["null \\ud83d\\ude00"]')[1]`, "null 😀"},
		{"invalid UTF-8", `return cjson.decode('["\255"]')[1]`, "\xff"},
		{"invalid JSON", `return tostring(pcall(cjson.decode, '{"a":nul'))`, `false`},
		{"rest behind JSON", `return tostring(pcall(cjson.decode, 'null x'))`, `false`},
		{"tostring", `return tostring(1763705501.123456)`, `1763705501.1235`},
		{"number argument", `redis.call('set', 'x', 1763705501.25) return redis.call('get', 'x')`, `1763705501.25`},
		{"17 digits", `redis.call('set', 'x', 0.1) return redis.call('get', 'x')`, `0.10000000000000001`},
		{"exponent", `return tostring(tonumber('1e3') + tonumber(' -5E-1 '))`, `999.5`},
		{"more than 63 bits", `return tostring(tonumber('12345678901234567890'))`, `1.2345678901235e+19`},
		{"no number", `return tostring(tonumber('1e')) .. tostring(tonumber('e5')) .. tostring(tonumber('1x'))`, `nilnilnil`},
		{"another base", `return tostring(tonumber('ff', 16))`, `255`},
		{"minus zero", `redis.call('set', 'x', tonumber('-0')) return redis.call('get', 'x')`, `-0`},
		{"large argument", `redis.call('set', 'x', 1e16) return redis.call('get', 'x')`, `10000000000000000`},
		{"too deep", `return tostring(pcall(cjson.decode, string.rep('[', 1001) .. string.rep(']', 1001)))`, `false`},
		{"deep enough", `return tostring(pcall(cjson.decode, string.rep('[', 900) .. string.rep(']', 900) .. string.rep(' ', 999)))`, `true`},
		{"brackets in strings", `return tostring(pcall(cjson.decode, '["' .. string.rep('[', 3000) .. '\\""]'))`, `true`},
		{"shebang", "#!lua\nreturn 'ran'", `ran`},
		{"comment at the end", `return 'ran' -- so`, `ran`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := c.Eval(t.Context(), tt.script, nil).Text()
			if err != nil || got != tt.want {
				t.Errorf("got %q, %v; want %q", got, err, tt.want)
			}
		})
	}
}

func TestNoReplyEndsTheProcess(t *testing.T) {
	_, c := start(t)
	for _, script := range []string{
		`return function() end`,
		`return coroutine.create(function() end)`,
		`return cjson.null`,
	} {
		if err := c.Eval(t.Context(), script, nil).Err(); !errors.Is(err, redis.Nil) {
			t.Errorf("%s: got %v, want a null reply", script, err)
		}
	}
	got, err := c.Eval(t.Context(), `return {1, function() end, cjson.null, {false}}`, nil).Slice()
	if err != nil || fmt.Sprint(got) != "[1 <nil> <nil> [<nil>]]" {
		t.Errorf("got %v, %v", got, err)
	}
	if err := c.Eval(t.Context(), `local t = {} t[1] = t return t`, nil).Err(); err == nil {
		t.Error("a table without end was sent")
	}
	if err := c.Ping(t.Context()).Err(); err != nil {
		t.Errorf("the server is gone: %v", err)
	}
}

func TestErrorsNameTheLineOfTheScript(t *testing.T) {
	_, c := start(t)
	err := c.Eval(t.Context(), "local a = 1\n\nerror('Boo: x')", nil).Err()
	if err == nil || !strings.Contains(err.Error(), ":3: Boo: x") {
		t.Errorf("got %v, want line 3", err)
	}
	if err := c.ScriptLoad(t.Context(), "return (").Err(); err == nil {
		t.Error("a script with a syntax error was loaded")
	}
}

func TestScriptsKeepTheSHAOfTheirText(t *testing.T) {
	_, c := start(t)
	script := redis.NewScript(`return ARGV[1] .. KEYS[1]`)
	if got := c.EvalSha(t.Context(), script.Hash(), []string{"k"}, "a").Err(); !redis.HasErrorPrefix(got, "NOSCRIPT") {
		t.Errorf("before it was loaded: got %v, want NOSCRIPT", got)
	}
	sha, err := c.ScriptLoad(t.Context(), `return ARGV[1] .. KEYS[1]`).Result()
	if err != nil || sha != script.Hash() {
		t.Fatalf("load gave %s, %v; want %s", sha, err, script.Hash())
	}
	if held, err := c.ScriptExists(t.Context(), sha, "0000").Result(); err != nil || !held[0] || held[1] {
		t.Errorf("exists gave %v, %v", held, err)
	}
	if got, err := c.EvalSha(t.Context(), strings.ToUpper(sha), []string{"k"}, "a").Text(); err != nil || got != "ak" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestAKilledConnectionRunsNothingMore(t *testing.T) {
	s, victim := start(t)
	id := must.Get(victim.ClientID(t.Context()).Result())(t)
	other := connect(t, s)
	if again, _ := other.ClientID(t.Context()).Result(); again == id {
		t.Fatalf("two connections have the number %d", id)
	}
	if n, err := other.ClientKillByFilter(t.Context(), "ID", fmt.Sprint(id)).Result(); n != 1 || err != nil {
		t.Fatalf("kill gave %d, %v", n, err)
	}
	if err := victim.Set(t.Context(), "after", "1", 0).Err(); !errors.Is(err, io.EOF) {
		t.Errorf("the killed connection got %v, want EOF", err)
	}
	if n := other.Exists(t.Context(), "after").Val(); n != 0 {
		t.Error("a killed connection wrote a key")
	}
}

func TestKeysExpireInRealTime(t *testing.T) {
	_, c := start(t)
	must.Do(t, c.Set(t.Context(), "x", "1", 150*time.Millisecond).Err())
	for deadline := time.Now().Add(time.Minute); c.Exists(t.Context(), "x").Val() != 0; {
		if time.Now().After(deadline) {
			t.Fatal("the key is still there")
		}
	}
}

func TestOnlyLoopback(t *testing.T) {
	for _, addr := range []string{"0.0.0.0:0", ":0", "[::]:0", "192.0.2.1:7000", "nonsense"} {
		if s, err := Start(addr); err == nil {
			s.Close()
			t.Errorf("started on %q", addr)
		}
	}
}

func TestAPortInUseIsAnError(t *testing.T) {
	s, _ := start(t)
	if other, err := Start(s.Addr()); err == nil {
		other.Close()
		t.Error("two servers on one port")
	}
}

func TestSnapshotBringsEverythingBack(t *testing.T) {
	from, c := start(t)
	ctx := context.Background()
	c.Set(ctx, "text", "a\r\nb\x00\xff", 0)
	c.Set(ctx, "short-lived", "1", time.Hour)
	c.HSet(ctx, "hash", "a", "1", "b", "")
	c.RPush(ctx, "list", "x", "y", "x")
	c.SAdd(ctx, "set", "m", "n")
	c.ZAdd(ctx, "zset", redis.Z{Score: 1763705501.123456, Member: "m"}, redis.Z{Score: -1, Member: "n"})

	path := filepath.Join(t.TempDir(), "data")
	must.Do(t, from.Save(path))
	to, restored := start(t)
	must.Do(t, to.Load(path))
	if got, want := to.mini.Dump(), from.mini.Dump(); got != want {
		t.Errorf("restored\n%s\nwant\n%s", got, want)
	}
	if ttl := restored.TTL(ctx, "short-lived").Val(); ttl <= 0 || ttl > time.Hour {
		t.Errorf("time to live is %v", ttl)
	}
	if err := to.Load(filepath.Join(t.TempDir(), "none")); err != nil {
		t.Errorf("a snapshot that does not exist yet: %v", err)
	}
}
