package queue_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"oarlock/internal/redistest"
	"oarlock/queue"
)

// workOff puts a job, takes, renews and completes it, and uses a few commands beside.
func workOff(t *testing.T, c *queue.Client) {
	t.Helper()
	ctx, s := t.Context(), session(t, c, "w")
	jid := must(c.Put(ctx, queue.Put{Queue: "q", Klass: "K", Tags: []string{"x"}, Throttles: []string{"t"}}))(t)
	must(c.Recur(ctx, queue.Recurring{Queue: "q", JID: "r", Klass: "K", Interval: time.Hour}))(t)
	reply, jids := take(t, s, queue.Take{Queues: []string{"q"}, Count: 5})
	equal(t, "taken", len(jids), 2)
	for _, job := range reply.Jobs {
		renewed := must(s.Renew(ctx, []queue.RenewItem{{JID: job.JID, Queue: "q", Popped: job.Popped}}))(t)
		ok(t, renewed[0].Err)
	}
	equal(t, "held", len(must(s.Held(ctx, []string{"q"}))(t)), 2)
	for _, job := range reply.Jobs {
		ok(t, settle(t, s, job, queue.Settlement{Action: queue.Complete}).Err)
	}
	equal(t, "state", must(c.Get(ctx, jid))(t).State, "complete")
	equal(t, "queues", len(must(c.Queues(ctx))(t)), 1)
	must(c.Sweep(ctx, []string{"q"}, 5))(t)
}

func TestNamespaces(t *testing.T) {
	server := redistest.Start(t)
	raw := server.Client(t)
	for _, ns := range []string{"ql:", "{ql}:", "shop's jobs\\", "a\nb:"} {
		t.Run(ns, func(t *testing.T) {
			ok(t, raw.FlushDB(t.Context()).Err())
			c := must(queue.Open(t.Context(), queue.Options{URL: server.URL, Namespace: ns}))(t)
			defer c.Close()
			notices := c.Notices(t.Context(), "w")
			awaitSubscribers(t, c, c.WakeChannel())
			workOff(t, c)
			equal(t, "notice", <-notices, queue.Notice{Kind: queue.NoticeWake, Queue: "q"})
			for _, key := range must(raw.Keys(t.Context(), "*").Result())(t) {
				if !strings.HasPrefix(key, ns) {
					t.Errorf("key %q is outside of the namespace", key)
				}
			}
		})
	}
}

func TestCluster(t *testing.T) {
	port := redistest.Port(t)
	server := redistest.Start(t, "--port", port, "--cluster-enabled", "yes")
	if err := server.Client(t).Do(t.Context(), "CLUSTER", "ADDSLOTSRANGE", 0, 16383).Err(); err != nil {
		t.Fatal(err)
	}
	raw := server.Client(t)
	await(t, "the cluster", func() bool {
		return strings.Contains(raw.ClusterInfo(t.Context()).Val(), "cluster_state:ok")
	})
	c := must(queue.Open(t.Context(), queue.Options{URL: "redis+cluster://127.0.0.1:" + port, Namespace: "{ql}:"}))(t)
	defer c.Close()
	workOff(t, c)
}

func TestSentinel(t *testing.T) {
	port, watch := redistest.Port(t), redistest.Port(t)
	redistest.Start(t, "--port", port)
	startSentinel(t, watch, port)
	c := must(queue.Open(t.Context(), queue.Options{URL: "redis+sentinel://127.0.0.1:" + watch + "/mymaster"}))(t)
	defer c.Close()
	workOff(t, c)
}

// startSentinel runs a sentinel that watches the server on a port, until the test ends.
func startSentinel(t *testing.T, port, master string) {
	t.Helper()
	conf := filepath.Join(t.TempDir(), "sentinel.conf")
	text := fmt.Sprintf("port %s\nsentinel monitor mymaster 127.0.0.1 %s 1\n", port, master)
	ok(t, os.WriteFile(conf, []byte(text), 0o600))
	cmd := exec.Command("redis-server", conf, "--sentinel")
	ok(t, cmd.Start())
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	sentinel := redis.NewSentinelClient(&redis.Options{Addr: "127.0.0.1:" + port, MaxRetries: -1, DialerRetries: 1})
	defer sentinel.Close()
	await(t, "the sentinel", func() bool {
		_, err := sentinel.GetMasterAddrByName(context.Background(), "mymaster").Result()
		return err == nil
	})
}

// await asks until the answer is yes.
func await(t *testing.T, what string, is func() bool) {
	t.Helper()
	late := time.After(time.Minute)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !is() {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("%s is not ready", what)
		}
	}
}
