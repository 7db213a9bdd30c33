package queue_test

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"oarlock/internal/redistest"
	"oarlock/queue"
)

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
		if len(results) != n {
			t.Fatalf("%d results of %d puts", len(results), n)
		}
		return results, few
	}
	if _, few := put(0, 1); few != nil {
		t.Errorf("a put that waits for none: %v", few)
	}
	_, few := put(1, 3)
	if few == nil || few.Want != 1 || few.Got != 0 || few.Err != nil {
		t.Errorf("without a replica: %+v", few)
	}
	equal(t, "jobs put all the same", must(c.Length(t.Context(), "q"))(t), 4)
	jid, err := c.Put(t.Context(), queue.Put{Queue: "q", Klass: "K", WaitReplicas: 1})
	if !errors.As(err, &few) || jid == "" || must(c.Get(t.Context(), jid))(t).State != "waiting" || !strings.Contains(err.Error(), "put, but only 0 of 1 replicas") {
		t.Errorf("a single put: %q, %v", jid, err)
	}

	replica := redistest.Start(t, "--replicaof", "127.0.0.1 "+port)
	copied := replica.Client(t)
	deadline := time.Now().Add(time.Minute)
	for !strings.Contains(copied.Info(t.Context(), "replication").Val(), "master_link_status:up") {
		if time.Now().After(deadline) {
			t.Fatal("the replica never came into step")
		}
		time.Sleep(5 * time.Millisecond)
	}
	results, few := put(1, 1200)
	if few != nil {
		t.Errorf("with a replica: %v", few)
	}
	for _, r := range results { // not one of them may be on its way still
		if copied.Exists(t.Context(), "ql:j:"+r.JID).Val() != 1 {
			t.Fatalf("%s was confirmed and is not there", r.JID)
		}
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
