package examples_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"oarlock/internal/must"
	"oarlock/internal/redistest"
	"oarlock/queue"
)

// TestProducers puts a job from each language, over a plain socket and the unified
// script, and reads it back as a worker would get it.
func TestProducers(t *testing.T) {
	port := redistest.Port(t)
	server := redistest.Start(t, "--bind", "127.0.0.1", "--port", port)
	client := must.Get(queue.Open(t.Context(), queue.Options{URL: server.URL}))(t)
	t.Cleanup(func() { client.Close() })
	program := must.Get(binary())(t)
	unified := must.Get(exec.Command(program, "lua").Output())(t)
	script := filepath.Join(t.TempDir(), "oarlock.lua")
	must.Do(t, os.WriteFile(script, unified, 0o600))
	// What JSON libraries and shells like to spoil.
	const data = `{ "to":"Zoë's \"cat\" $(id) \\n", "n":9007199254740993, "none":[] }`

	put := func(t *testing.T, interpreter, program, data string) (string, error) {
		must.Have(t, interpreter)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, interpreter, program, "mail", "Send", data)
		cmd.Dir = "producers"
		cmd.Env = append(os.Environ(), "OARLOCK_LUA="+script, "REDIS_PORT="+port)
		out, err := cmd.CombinedOutput()
		return strings.TrimSpace(string(out)), err
	}
	for _, tt := range []struct{ name, interpreter, program string }{
		{"Python", "python3", "put.py"},
		{"Ruby", "ruby", "put.rb"},
		{"Node", "node", "put.js"},
		{"PHP", "php", "put.php"},
		{"redis-cli", "sh", "put.sh"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.name == "redis-cli" {
				must.Have(t, "redis-cli")
			}
			// As after a restart of Redis: the first call is answered by NOSCRIPT.
			must.Do(t, client.Redis().ScriptFlush(t.Context()).Err())
			wakes := client.Redis().Subscribe(t.Context(), client.WakeChannel())
			defer wakes.Close()
			must.Get(wakes.Receive(t.Context()))(t)
			for range 2 { // the second call finds the script
				jid, err := put(t, tt.interpreter, tt.program, data)
				if err != nil {
					t.Fatalf("%v\n%s", err, jid)
				}
				job, err := client.Get(t.Context(), jid)
				if err != nil {
					t.Fatalf("get %q: %v", jid, err)
				}
				got := fmt.Sprintf("%s %s %s %s", job.Queue, job.Klass, job.State, job.Data)
				if want := "mail Send waiting " + data; got != want {
					t.Errorf("the job is %s, want %s", got, want)
				}
				message, err := wakes.ReceiveMessage(t.Context())
				if err != nil || message.Payload != "mail" {
					t.Errorf("wake-up: %v, %v", message, err)
				}
			}
			if out, err := put(t, tt.interpreter, tt.program, "no JSON"); err == nil {
				t.Errorf("data that is no JSON was put: %s", out)
			}
		})
	}
}

// TestPutHTTP puts a job by curl alone, which fails, is retried, and ends well; and reads what it printed.
func TestPutHTTP(t *testing.T) {
	must.Have(t, "curl")
	server := redistest.Start(t)
	program := must.Get(binary())(t)
	dir := t.TempDir()
	for name, text := range map[string]string{
		"oarlock.toml": "[pools.post]\nqueues = [\"mail\"]\ncommand = [\"sh\", \"work.sh\"]\nchildren = 2\ninput = \"data\"\n",
		"work.sh":      "read -r data\necho \"sending $data\"\ntest -e tried || { touch tried; exit 65; }\n",
	} {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	run := exec.CommandContext(ctx, program, "run")
	run.Dir = dir
	run.Env = append(os.Environ(), "REDIS_URL="+server.URL, "OARLOCK_SUPERVISOR_STATE_DIR="+filepath.Join(dir, "state"))
	log := must.Get(run.StderrPipe())(t)
	must.Do(t, run.Start())
	ready, drained := make(chan struct{}), make(chan struct{})
	go func() { // ends with the last line
		defer close(drained)
		for lines := bufio.NewScanner(log); lines.Scan(); {
			if strings.Contains(lines.Text(), `"msg":"ready"`) {
				close(ready)
			}
		}
	}()
	defer func() {
		_ = run.Process.Signal(os.Interrupt)
		<-drained
		if err := run.Wait(); err != nil {
			t.Error(err)
		}
	}()
	select {
	case <-ready:
	case <-drained:
		t.Fatal("it ended")
	}
	socket := filepath.Join(dir, "state", fmt.Sprintf("control-%d.sock", run.Process.Pid))
	put := exec.CommandContext(ctx, "sh", "producers/put-http.sh", "post", "mail", "Send", `{"to":"ann"}`)
	put.Env = append(os.Environ(), "OARLOCK_SOCKET="+socket)
	out, err := put.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{`"existed":false`, "it is failed", "retried, it is complete", `| sending {\"to\":\"ann\"}`} {
		if !strings.Contains(string(out), want) {
			t.Errorf("it does not say %q:\n%s", want, out)
		}
	}
}
