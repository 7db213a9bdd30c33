package config

import (
	"reflect"
	"strings"
	"testing"
)

// Every key takes its value from the environment in the type that it has, and the four lists of
// names take several from one variable.
func TestTypedValuesFromTheEnvironment(t *testing.T) {
	text := `[supervisor]
name = "h"
[web]
hosts = ["${HOSTS}"]
[tracing]
begin = "${SHARE}"
[pools.p]
queues = ["first", "${QUEUES}", "x-${ONE}", "${ONE}"]
next_queues = ["${NEXT:-later, last}"]
allow = ["${ALLOW}"]
command = ["sh", "${QUEUES}"]
mode = "reuse"
children = "${N:-4}"
prefetch = "${READY:-3}"
max_jobs = "${MANY}"
jitter = "${SHARE}"
strict = "${STRICT:-true}"
timeout = "${LONG:-5m}"
`
	got, err := Load(Options{Path: write(t, "c.toml", text), Env: environment("QUEUES", "a, b,,c", "ONE", "d", "ALLOW", "tag,note", "HOSTS", "one.test,two.test", "MANY", "70", "SHARE", "0.25")})
	if err != nil {
		t.Fatal(err)
	}
	p := got.Pools["p"]
	for _, each := range []struct{ got, want any }{
		{p.Queues, []string{"first", "a", "b", "c", "x-d", "d"}},
		{p.NextQueues, []string{"later", "last"}},
		{p.Allow, []string{"tag", "note"}},
		{got.Web.Hosts, []string{"one.test", "two.test"}},
		{p.Command, []string{"sh", "a, b,,c"}}, // arguments are never split
		{p.Children, 4}, {p.Prefetch, Prefetch(3)}, {p.MaxJobs, 70}, {p.Jitter, 0.25}, {p.Strict, true},
		{p.Timeout, Duration(300 * second)}, {got.Tracing.Begin, 0.25},
	} {
		if !reflect.DeepEqual(each.got, each.want) {
			t.Errorf("got %#v, want %#v", each.got, each.want)
		}
	}

	for _, tt := range []struct{ line, says string }{
		{`children = "${N}"`, "must be a whole number"},
		{`children = "4"`, "must be a whole number"}, // only a variable becomes a number
		{`queues = ["${NONE}"]`, "pools.p.queues"},
		{`strict = "${N}"`, "must be true or false"},
	} {
		text := "[pools.p]\ncommand = [\"sh\"]\n" + tt.line + "\n"
		if !strings.Contains(tt.line, "queues") {
			text += "queues = [\"q\"]\n"
		}
		if _, err := Load(Options{Path: write(t, "c.toml", text), Env: environment("N", "four", "NONE", " , ")}); err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v, want it to say %q", tt.line, err, tt.says)
		}
	}
	for name, text := range map[string]string{"OARLOCK_TRACING_BEGIN": "0.5", "OARLOCK_WEB_MAX_STREAMS": "7", "OARLOCK_WEB_HOSTS": "a.test, b.test"} {
		if _, err := Load(Options{Path: write(t, "c.toml", pool), Env: environment(name, text)}); err != nil {
			t.Errorf("%s=%s: %v", name, text, err)
		}
	}
	// What a variable says is not expanded once more.
	got, err = Load(Options{Path: write(t, "c.toml", "[pools.p]\nqueues = [\"${QUEUES}\"]\ncommand = [\"sh\"]\n"), Env: environment("QUEUES", "${HOME},b")})
	if err != nil || !reflect.DeepEqual(got.Pools["p"].Queues, []string{"${HOME}", "b"}) {
		t.Errorf("%v %v", got.Pools["p"].Queues, err)
	}
}

// The configuration refuses what no client could be opened with.
func TestRefusesURLsThatNoClientTakes(t *testing.T) {
	for _, url := range []string{"redis://h/abc", "redis://h/-1", "redis://h/1/2", "redis://h?password=s3cret", "redis://h?dial_timeout=abc", "redis://h?speed=fast", "redis://h?db=x", "redis+sentinel://h",
		"redis+sentinel://h/m/x", "redis+cluster://h/2", "redis://h:99999", "redis://h:0", "redis+sentinel://h:99999/m", "redis+cluster://h:x", "redis://", "redis:///0", "redis://[::1", "unix://run/redis.sock", "unix://",
		"redis://a,b/0", "redis://u:s3cret/x@h", "http://h", "h:6379", ""} {
		_, err := Load(Options{Path: write(t, "c.toml", pool+"[redis]\nnamespace = \"{ql}:\"\n"), Env: environment(), Set: map[string]string{"redis.url": url}})
		if err == nil || !strings.Contains(err.Error(), "redis.url") || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v", url, err)
		}
	}
	for _, scheme := range []string{"redis+cluster", "rediss+cluster"} {
		if _, err := Load(Options{Path: write(t, "c.toml", pool), Env: environment(), Set: map[string]string{"redis.url": scheme + "://h"}}); err == nil || !strings.Contains(err.Error(), "redis.namespace") {
			t.Errorf("%s without a hash tag: %v", scheme, err)
		}
	}
	ca := write(t, "ca.pem", "no certificate")
	for _, key := range []string{"tls_ca = \"" + ca + "\"", "tls_cert = \"" + ca + "\"\ntls_key = \"" + ca + "\""} {
		if _, err := Load(Options{Path: write(t, "c.toml", pool+"[redis]\n"+key+"\n"), Env: environment()}); err == nil || !strings.Contains(err.Error(), "redis.tls_") {
			t.Errorf("%s: %v", key, err)
		}
	}
}
