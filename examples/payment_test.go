package examples_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"oarlock/internal/must"
	"oarlock/internal/redistest"
	"oarlock/queue"
)

// TestPayment runs the payment as its page says: it parks, is answered by curl at the address that its bank was given, and goes on
// once, however often the bank says so.
func TestPayment(t *testing.T) {
	if testing.Short() {
		t.Skip("long: the parts of it have short tests")
	}
	must.Have(t, "python3")
	must.Have(t, "curl")
	program := must.Get(binary())(t)
	dir, free := t.TempDir(), "127.0.0.1:"+redistest.Port(t)
	secrets := filepath.Join(dir, "secrets")
	must.Do(t, os.WriteFile(secrets, []byte(strings.Repeat("secret ", 8)), 0o600))
	server := redistest.Start(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	client := must.Get(queue.Open(ctx, queue.Options{URL: server.URL}))(t)
	defer client.Close()
	environment := append(os.Environ(), "REDIS_URL="+server.URL, "XDG_STATE_HOME="+dir, "PYTHONDONTWRITEBYTECODE=1", "LISTEN="+free, "SECRETS="+secrets,
		"ASKED="+filepath.Join(dir, "asked"))
	var output bytes.Buffer
	run := exec.CommandContext(ctx, program, "run", "-c", "payment/oarlock.toml")
	run.Env, run.Stdout, run.Stderr, run.WaitDelay = environment, &output, &output, 5*time.Second
	run.Cancel = func() error { return run.Process.Signal(syscall.SIGTERM) }
	must.Do(t, run.Start())
	defer func() {
		cancel()
		run.Wait()
		if t.Failed() {
			t.Logf("%s", &output)
		}
	}()
	for jid, order := range map[string]string{"j1": "order-17", "j2": "order-18"} {
		must.Get(client.Put(ctx, queue.Put{Queue: "payment", JID: jid, Klass: "Pay", Data: []byte(`{"order":"` + order + `"}`)}))(t)
		awaitJob(ctx, t, client, jid, func(job *queue.Job) bool { return job.Row == "parked" })
	}
	bank := func(order, answer, says string) {
		t.Helper()
		command := exec.CommandContext(ctx, "sh", "payment/bank.sh", order, answer)
		command.Env = environment
		if out, err := command.CombinedOutput(); err != nil || !strings.Contains(string(out), says) {
			t.Errorf("%s for %s is answered %s: %v; want %s", answer, order, out, err, says)
		}
	}
	bank("order-17", "{", "JSON")
	bank("order-17", `{"paid":true}`, `"resumed"`)
	job := awaitJob(ctx, t, client, "j1", func(job *queue.Job) bool { return job.State == "complete" })
	if compact(job.Data) != `{"order":"order-17","paid":true}` {
		t.Errorf("it came to %s", job.Data)
	}
	bank("order-17", `{"paid":false}`, `"late"`)
	if job := awaitJob(ctx, t, client, "j2", func(job *queue.Job) bool { return true }); job.Row != "parked" {
		t.Errorf("the other is %s", job.Row)
	}
}

// awaitJob waits until a job is as it should be.
func awaitJob(ctx context.Context, t *testing.T, client *queue.Client, jid string, is func(*queue.Job) bool) *queue.Job {
	t.Helper()
	for {
		job, err := client.Get(ctx, jid)
		if err != nil {
			t.Fatalf("%s: %v", jid, err)
		}
		if is(job) {
			return job
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%s is %s", jid, job.Row)
		case <-time.After(20 * time.Millisecond):
		}
	}
}
