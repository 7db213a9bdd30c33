package queue_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
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
				never(t, !strings.HasPrefix(key, ns), "key %q is outside of the namespace", key)
			}
		})
	}
}

func TestCluster(t *testing.T) {
	port := redistest.Port(t)
	server := redistest.Start(t, "--port", port, "--cluster-enabled", "yes")
	ok(t, server.Client(t).Do(t.Context(), "CLUSTER", "ADDSLOTSRANGE", 0, 16383).Err())
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

// A put that waits for replicas tells the truth about them, and puts in any case.
func TestPutWaitsForReplicas(t *testing.T) {
	port := redistest.Port(t)
	master := redistest.Start(t, "--port", port, "--repl-diskless-sync-delay", "0")
	c := open(t, master)
	put := func(want int, n int) ([]queue.PutResult, *queue.ReplicaError) {
		t.Helper()
		puts := make([]queue.Put, n)
		for i := range puts {
			puts[i] = queue.Put{Queue: "q", Klass: "K"}
		}
		puts[n/2].WaitReplicas = want
		results, err := c.PutAll(t.Context(), puts)
		var few *queue.ReplicaError
		if err != nil && !errors.As(err, &few) {
			t.Fatal(err)
		}
		stop(t, len(results) != n, "%d results of %d puts", len(results), n)
		return results, few
	}
	if _, few := put(0, 1); few != nil {
		t.Errorf("a put that waits for none: %v", few)
	}
	_, few := put(1, 3)
	never(t, few == nil || few.Want != 1 || few.Got != 0 || few.Err != nil, "without a replica: %+v", few)
	equal(t, "jobs put all the same", must(c.Length(t.Context(), "q"))(t), 4)
	jid, err := c.Put(t.Context(), queue.Put{Queue: "q", Klass: "K", WaitReplicas: 1})
	if !errors.As(err, &few) || jid == "" || must(c.Get(t.Context(), jid))(t).State != "waiting" || !strings.Contains(err.Error(), "put, but only 0 of 1 replicas") {
		t.Errorf("a single put: %q, %v", jid, err)
	}

	replica := redistest.Start(t, "--replicaof", "127.0.0.1 "+port)
	copied := replica.Client(t)
	deadline := time.Now().Add(time.Minute)
	for !strings.Contains(copied.Info(t.Context(), "replication").Val(), "master_link_status:up") {
		stop(t, time.Now().After(deadline), "the replica never came into step")
		time.Sleep(5 * time.Millisecond)
	}
	results, few := put(1, 1200)
	for few != nil { // on a busy machine a replica may need more than the second that a put waits
		stop(t, time.Now().After(deadline), "with a replica: %v", few)
		results, few = put(1, 1200)
	}
	for _, r := range results { // not one of them may be on its way still
		stop(t, copied.Exists(t.Context(), "ql:j:"+r.JID).Val() != 1, "%s was confirmed and is not there", r.JID)
	}
	if _, few = put(2, 1); few == nil || few.Got != 1 {
		t.Errorf("one replica of two: %+v", few)
	}
	var log bytes.Buffer
	always := must(queue.Open(t.Context(), queue.Options{URL: master.URL, WaitReplicas: 2, Logger: slog.New(slog.NewTextHandler(&log, nil))}))(t)
	defer always.Close()
	if _, err := always.Put(t.Context(), queue.Put{Queue: "q", Klass: "K"}); !errors.As(err, &few) || few.Want != 2 {
		t.Errorf("as a setting: %v", err)
	}
	s := always.Session("w")
	defer s.Close()
	job := must(s.Exchange(t.Context(), nil, queue.Take{Queues: []string{"q"}, Count: 1}))(t).Jobs[0]
	must(s.Exchange(t.Context(), []queue.Settlement{{JID: job.JID, Queue: "q", Popped: job.Popped, Action: queue.Complete}}, queue.Take{}))(t)
	if said := log.String(); !strings.Contains(said, "settlement has not reached all replicas") || !strings.Contains(said, "got=1\n") {
		t.Errorf("of a settlement it says %s", said)
	}
}
