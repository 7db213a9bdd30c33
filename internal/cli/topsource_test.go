package cli

import (
	"slices"
	"strings"
	"testing"
	"time"

	"oarlock/internal/config"
	"oarlock/internal/connect"
	"oarlock/internal/must"
	"oarlock/internal/ops"
	"oarlock/internal/redact"
	"oarlock/internal/rollcall"
	"oarlock/supervisor"
)

// What top does to a pool, a slot and a run it does by the API on the control socket of the supervisor; only the run that was
// seen is stopped, and a refusal is a sentence. What it shows of failures has no secrets.
func TestTopSteersPools(t *testing.T) {
	s := newScript(t, `-- oarlock.toml --
[pools.long]
queues = ["long"]
command = ["sh", "-c", "read -r job; trap 'exit 75' TERM; while :; do sleep 0.1; done"]
input = "data"
[pools.bad]
queues = ["bad"]
command = ["sh", "-c", "read -r job; echo token=hunter2 >&2; exit 1"]
input = "data"
`)
	p := running(t, s)
	ctx := t.Context()
	client := must.Get(connect.Looking(ctx, config.Redis{URL: s.env["REDIS_URL"], Namespace: "ql:"}, nil))(t)
	defer client.Close()
	cfg := config.Config{}
	cfg.Supervisor.StateDir = s.dir + "/state/oarlock"
	secrets := must.Get(redact.New(nil, []string{"hunter2"}))(t)
	source := &topSource{cfg: cfg, redis: client, caller: rollcall.New(client), secrets: secrets}
	p.ask("put", "long", "{}", "--jid", "j")
	p.ask("put", "bad", "{}", "--jid", "f", "--retries", "0")
	pool := func(name string) supervisor.PoolSnapshot {
		status := must.Get(source.Status(ctx))(t)
		at := slices.IndexFunc(status.Pools, func(p supervisor.PoolSnapshot) bool { return p.Name == name })
		return status.Pools[at]
	}
	until := func(is func() bool) {
		t.Helper()
		for ends := time.Now().Add(patience); !is(); time.Sleep(10 * time.Millisecond) {
			if time.Now().After(ends) {
				t.Fatal("it does not come to that")
			}
		}
	}
	running := func() bool { long := pool("long"); return len(long.Slots) > 0 && len(long.Slots[0].Runs) == 1 }
	until(running)
	run := pool("long").Slots[0].Runs[0]
	if told, err := source.QuietPool(ctx, "long", true); err != nil || !pool("long").QuietAlone {
		t.Errorf("%q, %v", told, err)
	}
	if _, err := source.StopRun(ctx, "long", 0, "another"); err == nil || !strings.Contains(err.Error(), "another run now") {
		t.Errorf("a run that is over: %v", err)
	}
	if told, err := source.StopRun(ctx, "long", 0, run.Run); err != nil || !strings.Contains(told, "job j") {
		t.Errorf("%q, %v", told, err)
	}
	until(func() bool { job, err := client.Get(ctx, "j"); return err == nil && job.Row == "waiting" })
	if told, err := source.QuietPool(ctx, "long", false); err != nil || pool("long").QuietAlone {
		t.Errorf("%q, %v", told, err)
	}
	until(running)
	if told, err := source.RecycleSlot(ctx, "long", 0); (err == nil) == (told == "") {
		t.Errorf("%q, %v", told, err)
	}
	for _, not := range []func() (string, error){
		func() (string, error) { return source.AbandonRoll(ctx, "long") }, func() (string, error) { return source.QuietPool(ctx, "a/b", true) }, func() (string, error) { return source.RecycleSlot(ctx, "long", 99) },
	} {
		if told, err := not(); err == nil {
			t.Errorf("what cannot be is told as %q", told)
		}
	}
	until(func() bool { job, err := client.Get(ctx, "f"); return err == nil && job.State == "failed" })
	words, err := source.Words(ctx, "f")
	if err != nil || !strings.Contains(words, "token=•••") || strings.Contains(words, "hunter2") {
		t.Errorf("%q, %v", words, err)
	}
	if failed, err := source.Failed(ctx, "exit-1"); err != nil || len(failed) != 1 || strings.Contains(failed[0].Failed().Message, "hunter2") {
		t.Errorf("%+v, %v", failed, err)
	}
	queues, err := source.Queues(ctx)
	at := slices.IndexFunc(queues, func(q ops.Queue) bool { return q.Name == "long" })
	if err != nil || at < 0 || queues[at].Outlook == nil {
		t.Errorf("%+v, %v", queues, err)
	}
}
