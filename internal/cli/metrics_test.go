package cli

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"oarlock/internal/must"
	"oarlock/internal/redistest"
)

// What a job did is told by the metrics, to who may read; that it lives and is ready, to anybody.
func TestMetricsAndHealth(t *testing.T) {
	s := newScript(t, workFiles+"-- tokens --\n")
	must.Do(t, s.oarlock(0, []string{"web", "token", "anna", "--may", "read"}))
	made := regexp.MustCompile(`(?s)\n  (\S+)\n.*\n  (anna read \S+)\n`).FindStringSubmatch(s.said["stdout"])
	must.Do(t, os.WriteFile(filepath.Join(s.dir, "tokens"), []byte(made[2]+"\n"), 0o600))
	s.env["OARLOCK_WEB_LISTEN"], s.env["OARLOCK_WEB_TOKENS_FILE"] = "127.0.0.1:0", "tokens"
	p := begin(t, s, "run")
	at := "http://" + regexp.MustCompile(`at=(\S+)`).FindStringSubmatch(p.await(`answering over HTTP`))[1]
	p.await(`INFO  ready`)
	p.ask("put", "work", `"good"`)
	p.await(`attempt ended.*outcome=done`)
	p.ask("put", "work", `"bad"`)
	p.await(`attempt ended.*outcome=failed`)
	p.ask("put", "elsewhere")
	p.until(`oarlock_attempts_total{ending="exited",pool="work"} 2`, "metrics")
	text := p.ask("metrics")
	for _, want := range []string{
		`(?m)^oarlock_ready 1$`, `(?m)^oarlock_redis_up 1$`, `(?m)^oarlock_attempt_actions_total\{action="complete",pool="work"\} 1$`,
		`(?m)^oarlock_klass_attempts_total\{klass="job",outcome="other"\} 1$`, `(?m)^oarlock_attempt_wait_seconds_count\{pool="work"\} 2$`,
		`(?m)^oarlock_redis_round_trip_seconds_count\{call="exchange"\} [1-9]`, `(?m)^oarlock_pool_children\{pool="work",state="ready"\} 2$`,
	} {
		says(t, text, want)
	}
	p.until(`oarlock_queue_ready_jobs{queue="elsewhere"} 1`, "metrics", "--queues")
	says(t, p.ask("metrics", "--queues"), `(?m)^oarlock_failed_jobs\{group="[^"]+"\} 1$`)

	client := &http.Client{}
	defer client.CloseIdleConnections()
	for _, c := range []struct {
		path string
		code int
		want string
		who  string
	}{
		{"/healthz", 200, "alive", ""},
		{"/readyz", 200, "ready", ""},
		{"/readyz?pool=work", 200, "ready", ""},
		{"/readyz?pool=none", 404, "no_pool", ""},
		{"/readyz?verbose", 200, "ready\n", ""},
		{"/readyz?verbose", 200, `"redis":"ok"`, made[1]},
		{"/metrics", 401, "no_token", ""},
		{"/metrics", 200, "oarlock_ready 1", made[1]},
		{"/metrics/queues", 200, "oarlock_queues_known", made[1]},
	} {
		var headers []string
		if c.who != "" {
			headers = []string{"Authorization", "Bearer " + c.who}
		}
		if code, text := fetch(t, client, "GET", at+c.path, headers...); code != c.code || !strings.Contains(text, c.want) {
			t.Errorf("%s (%t): %d %s", c.path, c.who != "", code, text)
		}
	}
	s.says(t, exitUsage, "metrics all")
	p.terminate()
	s.says(t, exitFailed, "metrics")
}

// Through an outage of Redis, an open breaker and a drain a supervisor says in a word how it is; it lives all the while.
func TestHealthFromStartToEnd(t *testing.T) {
	if testing.Short() {
		t.Skip("long: two outages of Redis, with the pauses between attempts")
	}
	server := redistest.Start(t)
	s := scriptAt(t, server.URL, `
-- oarlock.toml --
[log]
format = "text"
[supervisor]
drain_timeout = "60s"
[web]
listen = "127.0.0.1:0"
auth = "none"
[pools.bad]
queues = ["bad"]
command = ["false"]
[pools.slow]
queues = ["slow"]
command = ["sh", "-c", "echo started; while ! test -e over; do sleep 0.1; done"]
`)
	server.Stop()
	p := begin(t, s, "run")
	at := "http://" + regexp.MustCompile(`at=(\S+)`).FindStringSubmatch(p.await(`answering over HTTP`))[1]
	client := &http.Client{}
	defer client.CloseIdleConnections()
	until := func(path string, code int, word string) {
		t.Helper()
		for deadline := time.Now().Add(patience); ; {
			got, text := fetch(t, client, "GET", at+path)
			if got == code && strings.TrimSpace(text) == word {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("%s says %d %s, want %d %s", path, got, text, code, word)
			}
			time.Sleep(20 * time.Millisecond) // it is answered from memory, and others need the core
		}
		if got, text := fetch(t, client, "GET", at+"/healthz"); got != 200 {
			t.Errorf("while %s says %s, it lives: %d %s", path, word, got, text)
		}
	}
	until("/readyz", 503, "redis")
	server.Restart()
	until("/readyz", 200, "ready")
	until("/readyz?pool=bad", 200, "ready")
	for range 30 {
		p.ask("put", "bad", "--retries", "0")
	}
	until("/readyz?pool=bad", 503, "breaker")
	until("/readyz?pool=slow", 200, "ready")
	until("/readyz", 200, "ready")
	server.Stop()
	until("/readyz?pool=slow", 503, "redis")
	server.Restart()
	until("/readyz?pool=slow", 200, "ready")
	p.ask("put", "slow")
	p.await(`line=started`)
	p.signal(syscall.SIGTERM)
	until("/readyz", 503, "draining")
	must.Do(t, os.WriteFile(filepath.Join(s.dir, "over"), nil, 0o600))
	p.leaves(0)
}
