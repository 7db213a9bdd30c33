package examples_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"oarlock/internal/must"
	"oarlock/internal/redistest"
	"oarlock/queue"
)

// scratch is gone when the tests have run.
var scratch string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "oarlock-examples-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	scratch = dir
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// binary builds the program once and returns its path.
var binary = sync.OnceValues(func() (string, error) {
	path := filepath.Join(scratch, "oarlock")
	if out, err := exec.Command("go", "build", "-o", path, "oarlock").CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return path, nil
})

// A wanted job is one that is put, and what must become of it.
type wanted struct {
	queue, klass, data string
	state              string // complete or failed
	result             string // of a complete job: its data then
	group              string // of a failed one
}

// TestCounting runs every worker that counts, in every mode its configuration has,
// on texts, on a file and on a file that is not there.
func TestCounting(t *testing.T) {
	texts := []string{
		"", "a b\n", "\n\n\n", " spaces  and\ttabs \r\n", "no newline at the end",
		"Zoë's café 😀\u00a0one word", `back\slash "quotes" $(id) 'x' %s %%`, strings.Repeat("line of text\n", 5000),
	}
	for _, tt := range []struct {
		dir, interpreter string
		queues           []string
		missing          map[string]string // the group of a missing file, by queue, where it is not the usual one
	}{
		{"python", "python3", []string{"python-once", "python-reuse", "python-worker", "python-preload"}, map[string]string{"python-once": "exit-66"}},
		{"ruby", "ruby", []string{"ruby-once", "ruby-reuse", "ruby-worker", "ruby-preload"}, map[string]string{"ruby-once": "exit-66"}},
		{"sh", "sh", []string{"sh-once", "sh-reuse"}, map[string]string{"sh-once": "exit-66"}},
		{"node", "node", []string{"node-worker"}, nil},
		{"php", "php", []string{"php-worker"}, nil},
	} {
		t.Run(tt.dir, func(t *testing.T) {
			must.Have(t, tt.interpreter)
			readme := must.Get(os.ReadFile(filepath.Join(tt.dir, "README.md")))(t)
			if testing.Short() { // one of each language, by its helper where there is one
				tt.queues = tt.queues[len(tt.queues)-1:]
			}
			var jobs []wanted
			for _, q := range tt.queues {
				for _, text := range texts {
					data := must.Get(json.Marshal(map[string]string{"text": text}))(t)
					jobs = append(jobs, wanted{q, "Count", string(data), "complete", counts([]byte(text)), ""})
				}
				group := "no-such-file"
				if special := tt.missing[q]; special != "" {
					group = special
				}
				jobs = append(jobs,
					wanted{q, "Count", `{"path": "README.md"}`, "complete", counts(readme), ""},
					wanted{q, "Count", `{"path": "no such\n\"file\" $(id)"}`, "failed", "", group})
			}
			work(t, tt.dir, jobs)
		})
	}
}

// TestBatches runs the workers that take whole messages: what came together was written together, and one that
// has a verdict of its own keeps the others from nothing.
func TestBatches(t *testing.T) {
	if testing.Short() {
		t.Skip("long: interpreters of every language")
	}
	for dir, interpreter := range map[string]string{"python": "python3", "ruby": "ruby", "node": "node", "php": "php"} {
		t.Run(dir, func(t *testing.T) {
			must.Have(t, interpreter)
			file := filepath.Join(t.TempDir(), "lines")
			var jobs []wanted
			for i := range 20 {
				data := fmt.Sprintf(`{"file":%q,"line":"%d"}`, file, i)
				jobs = append(jobs, wanted{dir + "-batch", "Line", data, "complete", data, ""})
			}
			jobs[7] = wanted{dir + "-batch", "Line", `{}`, "failed", "", "no-line"}
			work(t, dir, jobs)
			text := must.Get(os.ReadFile(file))(t)
			lines, numbers := strings.Split(strings.TrimSpace(string(text)), "\n"), strings.Fields(string(text))
			if len(lines) > 10 || len(numbers) != 19+len(lines) { // ten at a time, but for those of a child that has not said hello yet
				t.Errorf("19 numbers were written in %d lines:\n%s", len(lines), text)
			}
		})
	}
}

// TestWrapped runs the scripts that know nothing of us.
func TestWrapped(t *testing.T) {
	letters := filepath.Join(t.TempDir(), "letters")
	t.Setenv("LETTERS", letters)
	const letter = `{"dear": "Zoë", "n":9007199254740993, "none":[]}`
	work(t, "wrap", []wanted{{"wrap-letter", "Letter", letter, "complete", letter, ""}})

	filed, err := filepath.Glob(filepath.Join(letters, "letter.*"))
	if err != nil || len(filed) != 1 {
		t.Fatalf("letters: %v, %v", filed, err)
	}
	if got, err := os.ReadFile(filed[0]); err != nil || string(got) != letter+"\n" {
		t.Errorf("the letter is %q, %v", got, err)
	}

	old := time.Now().Add(-8 * 24 * time.Hour)
	must.Do(t, os.Chtimes(filed[0], old, old))
	work(t, "wrap", []wanted{{"wrap-cleanup", "Cleanup", `{}`, "complete", `{}`, ""}})
	if _, err := os.Stat(filed[0]); !os.IsNotExist(err) {
		t.Errorf("the old letter is still there: %v", err)
	}
}

// work puts the jobs, runs `oarlock run` on the configuration in dir until each of
// them has come to its end, stops it, and compares.
func work(t *testing.T, dir string, jobs []wanted) {
	t.Helper()
	program := must.Get(binary())(t)
	server := redistest.Start(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	client := must.Get(queue.Open(ctx, queue.Options{URL: server.URL}))(t)
	defer client.Close()
	log := client.Redis().Subscribe(ctx, client.Namespace()+"log")
	defer log.Close()
	must.Get(log.Receive(ctx))(t)

	open := make(map[string]wanted) // by jid
	for _, job := range jobs {
		jid := must.Get(client.Put(ctx, queue.Put{Queue: job.queue, Klass: job.klass, Data: []byte(job.data)}))(t)
		open[jid] = job
	}

	var output bytes.Buffer
	run := exec.Command(program, "run", "-c", filepath.Join(dir, "oarlock.toml"))
	run.Env = append(os.Environ(), "REDIS_URL="+server.URL, "XDG_STATE_HOME="+t.TempDir(), "PYTHONDONTWRITEBYTECODE=1")
	run.Stdout, run.Stderr = &output, &output
	run.WaitDelay = 5 * time.Second
	must.Do(t, run.Start())
	stop := sync.OnceValue(func() error {
		run.Process.Signal(syscall.SIGTERM)
		late := time.AfterFunc(30*time.Second, func() { run.Process.Kill() })
		defer late.Stop()
		return run.Wait()
	})
	defer stop()

	for ended := 0; ended < len(jobs); {
		message, err := log.ReceiveMessage(ctx)
		if err != nil {
			stop()
			t.Fatalf("%d of %d jobs ended, then %v\n%s", ended, len(jobs), err, &output)
		}
		var event struct{ JID, Event string }
		if err := json.Unmarshal([]byte(message.Payload), &event); err != nil {
			t.Fatalf("event %s: %v", message.Payload, err)
		}
		if _, ours := open[event.JID]; ours && (event.Event == "completed" || event.Event == "failed") {
			ended++
		}
	}
	if err := stop(); err != nil {
		t.Errorf("oarlock run: %v", err)
	}
	for jid, want := range open {
		job := must.Get(client.Get(ctx, jid))(t)
		switch {
		case job.State != want.state:
			t.Errorf("%s %.60s is %s (%+v), want %s", want.queue, want.data, job.State, job.Failure, want.state)
		case want.state == "failed" && job.Failure.Group != want.group:
			t.Errorf("%s %.60s failed as %q: %s, want %q", want.queue, want.data, job.Failure.Group, job.Failure.Message, want.group)
		case want.state == "complete" && compact(job.Data) != compact([]byte(want.result)):
			t.Errorf("%s %.60s is now %.200s, want %s", want.queue, want.data, job.Data, want.result)
		}
		if job.Retries != job.Remaining {
			t.Errorf("%s %.60s needed another try: %d of %d are left", want.queue, want.data, job.Remaining, job.Retries)
		}
	}
	if t.Failed() {
		t.Logf("%s", &output)
	}
}

// counts is what the workers must find in a text.
func counts(text []byte) string {
	words := bytes.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" \t\n\v\f\r", r) })
	return fmt.Sprintf(`{"lines":%d,"words":%d,"bytes":%d}`, bytes.Count(text, []byte("\n")), len(words), len(text))
}

// compact is JSON without the blanks between its parts, where languages differ.
func compact(data []byte) string {
	var b bytes.Buffer
	if err := json.Compact(&b, data); err != nil {
		return string(data)
	}
	return b.String()
}
