package integration

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"oarlock/queue"
)

// docProgram is the first program in a language that a page of docs shows.
func docProgram(t *testing.T, page, language string) string {
	t.Helper()
	text := got(os.ReadFile(filepath.Join("../docs", page)))(t)
	_, program, found := strings.Cut(string(text), "```"+language+"\n")
	if program, _, ended := strings.Cut(program, "```"); found && ended {
		return program
	}
	t.Fatalf("%s shows no %s", page, language)
	return ""
}

// P8, P30: the program of docs/retries.md decides about jobs that fail, with other data, for ever, or as the rules say; one that prints
// no answer leaves it to these; and one whose supervisor is killed while it decides has decided nothing.
func TestARetryCommandOfAFile(t *testing.T) {
	w := newRuledWorld(t)
	must(t, os.WriteFile(filepath.Join(w.dir, "again.py"), []byte(docProgram(t, "retries.md", "python")), 0o600))
	const worker = `data=$(cat); case "$data" in *backup*) exit 0;; *full*) echo "550 mailbox full" >&2;; esac; exit 1`
	slow := func(answer string) string {
		return fmt.Sprintf("\n[klass.Slow]\nretry_command = [\"sh\", \"-c\", '''%s''']\n", answer)
	}
	config := fmt.Sprintf(`
[pools.mail]
queues = ["mail"]
input = "data"
command = ["sh", "-c", '''%s''']
retry_command = [%q, "-I", "-S", "again.py"] # it has 5 s
retry = { backoff = "constant", delay = "0.1s" }
[klass.Odd]
retry_command = ["echo", "42"]
`, worker, got(python())(t))
	w.write(config + slow("echo $OARLOCK_POOL >asked; sleep 1000"))
	run := begin(t, w.config)
	put := func(klass, data string, retries int) string {
		return w.put(queue.Put{Queue: "mail", Klass: klass, Data: []byte(data), Retries: &retries})
	}
	full, other, odd := put("Mail", `{"to":"full"}`, 0), put("Mail", `{"to":"ann"}`, 5), put("Odd", `{}`, 1)
	until(t, "the one whose mailbox is full is given back", func() bool { return w.field(full, "state") == "scheduled" })
	until(t, "the other takes the other way", func() bool { return w.field(other, "state") == "complete" })
	until(t, "what no answer came about fails by the rules", func() bool { return w.field(odd, "state") == "failed" })
	var data struct{ Backup bool }
	if err := json.Unmarshal([]byte(w.field(other, "data")), &data); err != nil || !data.Backup || w.field(full, "remaining") != "0" {
		t.Errorf("one has data %s, the other %s retries left", w.field(other, "data"), w.field(full, "remaining"))
	}
	try, _ := exec.Command(oarlock(t), "try", "-c", w.config, "--pool", "mail", "--job", `{"to":"full"}`).CombinedOutput()
	if !strings.Contains(string(try), `> (retry_command) {"@":"ask","about":"retry"`) || !strings.Contains(string(try), `< (retry_command) {"do": "release", "delay": 3600}`) ||
		!strings.Contains(string(try), "the job is given back, uncounted, and is due again after 1h") {
		t.Errorf("try: %s", try)
	}
	if shown := w.do("job", "show", odd); !strings.Contains(shown, "attempt       2\n") {
		t.Errorf("job show: %s", shown)
	}
	if shown := w.do("klass", "show", "Odd"); !strings.Contains(shown, `failures are decided by ["echo","42"]`) {
		t.Errorf("klass show: %s", shown)
	}

	late := put("Slow", `{}`, 1)
	until(t, "it is asked", func() bool {
		asked, _ := os.ReadFile(filepath.Join(w.dir, "asked"))
		return string(asked) == "mail\n"
	})
	endNow(run)
	w.write(config + slow(`echo '{"do":"fail","group":"asked-again"}'`))
	w.run()
	until(t, "its successor decides", func() bool { return w.field(late, "state") == "failed" })
	if failure := w.field(late, "failure"); !strings.Contains(failure, "asked-again") || w.field(late, "remaining") != "1" {
		t.Errorf("it failed as %s, with %s retries left", failure, w.field(late, "remaining"))
	}
}
