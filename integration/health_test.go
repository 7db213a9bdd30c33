package integration

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"oarlock/internal/faultproxy"
	"oarlock/queue"
)

// watchedPools is the configuration of a supervisor with a pool whose jobs run until a file is there, and one whose jobs all fail.
const watchedPools = `
[redis]
url = %q
[supervisor]
state_dir = %q
poll_interval = "200ms"
drain_timeout = "10m"
[log]
format = "json"
[pools.work]
queues = ["work"]
mode = "once"
command = ["sh", "-c", 'while [ ! -e "$0" ]; do sleep 0.05; done', %q]
[pools.bad]
queues = ["bad"]
mode = "once"
command = ["false"]
[pools.bad.retry]
delay = "1ms"
`

// From its start, for which Redis is late, by a pool whose breaker opens and a Redis that stands still, to its drain, a supervisor says
// in a word how it is, and that it lives all the time.
func health(t *testing.T, r *rig) {
	enough := filepath.Join(r.dir, "enough")
	r.proxy.Hold(faultproxy.Replies)
	a := r.startConfig(t, "a", fmt.Sprintf(watchedPools, r.url, r.stateDir("a"), enough))
	b := a.browse(t)
	says := func(when, path string, code int, word string) {
		t.Helper()
		await(t, func() error {
			if status, text, err := b.get(t.Context(), path); err != nil || status != code || strings.TrimSpace(text) != word {
				return fmt.Errorf("%s: %s is %d %.100q, %v; want %d %s", when, path, status, text, err, code, word)
			}
			return nil
		})
		if path == "/healthz" {
			return
		}
		if status, text, err := b.get(t.Context(), "/healthz"); err != nil || status != http.StatusOK || strings.TrimSpace(text) != "alive" {
			t.Errorf("%s: /healthz is %d %.100q, %v", when, status, text, err)
		}
	}
	says("at the start", "/healthz", 200, "alive")
	says("before Redis has answered", "/readyz", 503, "redis")
	says("before Redis has answered", "/readyz?pool=work", 503, "redis")
	r.proxy.Release(faultproxy.Replies)
	says("when it has answered", "/readyz", 200, "ready")
	says("when it has answered", "/readyz?pool=work", 200, "ready")
	says("when it has answered", "/readyz?pool=none", 404, "no_pool")

	puts := make([]queue.Put, 30)
	for i := range puts {
		puts[i] = queue.Put{Queue: "bad", Klass: "K"}
	}
	r.putAll(t, puts)
	says("when nothing ends well", "/readyz?pool=bad", 503, "breaker")
	says("when nothing ends well in another pool", "/readyz?pool=work", 200, "ready")
	says("when nothing ends well in a pool", "/readyz", 200, "ready")

	r.redis.Pause()
	says("when Redis stands still", "/readyz", 503, "redis")
	says("when Redis stands still", "/readyz?pool=work", 503, "redis")
	r.redis.Resume()
	says("when Redis goes on", "/readyz", 200, "ready")

	r.putAll(t, []queue.Put{{Queue: "work", JID: "long", Klass: "K"}})
	await(t, func() error {
		if job, err := r.client.Get(t.Context(), "long"); err != nil || job.State != "running" {
			return fmt.Errorf("it does not run: %+v, %v", job, err)
		}
		return nil
	})
	a.signal(t, syscall.SIGTERM)
	says("when it leaves", "/readyz", 503, "draining")
	must(t, os.WriteFile(enough, nil, 0o644))
	if code := a.exit(t); code != 0 {
		t.Errorf("it ended with exit code %d", code)
	}
}
