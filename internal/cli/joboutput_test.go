package cli

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"

	"oarlock/internal/must"
	"oarlock/internal/service"
)

const outputFiles = `
-- oarlock.toml --
[log]
format = "text"
[pools.work]
queues = ["work"]
command = ["sh", "work.sh"]
keep_output = "64KiB"
input = "data"
[pools.work.retry]
delay = "1ms"
-- work.sh --
read -r what
echo "attempt $OARLOCK_ATTEMPT of $what"
echo "redis://:hunter2@db password=hunter2" >&2
printf '\033[2J\n'
[ "$OARLOCK_ATTEMPT" -ge 2 ]
`

// Before and after a park the attempt has one number, and the output of either can be read.
func TestJobOutputOfEachRun(t *testing.T) {
	s := newScript(t, `
-- oarlock.toml --
[log]
format = "text"
[pools.pay]
queues = ["pay"]
command = ["sh", "pay.sh"]
keep_output = "64KiB"
-- pay.sh --
read -r job
case $job in *'"response"'*) echo "it is paid"; exit 0;; esac
echo "asks the bank"
echo "{\"@\":\"park\",\"run\":\"$OARLOCK_RUN\",\"correlation\":\"order-17\"}"
`)
	p := running(t, s)
	p.ask("put", "pay", "{}", "--klass", "Pay", "--jid", "j")
	p.await(`attempt ended .* outcome=parked`)
	p.ask("respond", "Pay", "order-17", "{}")
	p.await(`attempt ended .* outcome=done`)
	parked := regexp.MustCompile(`Kept are attempts 1 \(parked, run (\w+)\) and 1 \(done, run \w+\); --run RUN shows another\.`)
	var last string
	for deadline := time.Now().Add(patience); !parked.MatchString(last); last = p.s.said["stdout"] { // a moment after it ended
		if p.s.anyCode([]string{"job", "output", "j"}); time.Now().After(deadline) {
			t.Fatalf("it says %s%s", last, p.s.said["stderr"])
		}
	}
	if !strings.Contains(last, "| it is paid\n") {
		t.Errorf("the last run printed %s", last)
	}
	if first := p.ask("job", "output", "j", "--run", parked.FindStringSubmatch(last)[1]); !strings.Contains(first, ": parked after ") || !strings.Contains(first, "| asks the bank\n") {
		t.Errorf("the first run printed %s", first)
	}
	if text := p.refused("job", "output", "j", "--run", "none"); !strings.Contains(text, "the output of run none is not kept on ") {
		t.Errorf("of a run that is not kept it says %s", text)
	}
	p.terminate()
}

// What a job printed is told by the host that ran it: of each attempt, of those that ended well
// too, by a successor of the supervisor as well.
func TestJobOutput(t *testing.T) {
	s := newScript(t, outputFiles)
	p := running(t, s)
	p.ask("put", "work", `"it"`, "--jid", "a/../b")
	p.await(`attempt ended .* outcome=done`)
	text := p.ask("job", "show", "a/../b")
	if !regexp.MustCompile(`output +on host \S+, if pool work has keep_output: oarlock job output a/../b\n`).MatchString(text) {
		t.Errorf("job show says\n%s", text)
	}
	var second string
	for deadline := time.Now().Add(patience); !strings.Contains(second, "attempt 2 of"); second = p.s.said["stdout"] { // a moment after it ended
		if p.s.anyCode([]string{"job", "output", "a/../b"}); time.Now().After(deadline) {
			t.Fatalf("it says %s%s", second, p.s.said["stderr"])
		}
	}
	for _, want := range []string{
		"Attempt 2 of a/../b, pool work on ", ": done after ", "| attempt 2 of \"it\"\n", "! redis://:•••@db password=•••\n", `| \x1b[2J`,
		"Secrets were blanked", "Kept are attempts 1 and 2; ",
	} {
		if !strings.Contains(second, want) {
			t.Errorf("it does not say %q:\n%s", want, second)
		}
	}
	p.terminate()

	if text := p.refused("job", "output", "a/../b"); !strings.Contains(text, "no supervisor is running") || !strings.Contains(text, "oarlock job show") {
		t.Errorf("without a supervisor it says %s", text)
	}
	if text := p.refused("job", "output", "nosuch"); text != "oarlock: there is no job nosuch\n" {
		t.Errorf("without a job it says %s", text)
	}
	p.ask("put", "elsewhere", "--jid", "unrun")
	p = begin(t, s, "run")
	p.await(`INFO  ready`)
	s.says(t, exitOK, "job output a/../b --attempt 1", ": retried after ", "| attempt 1 of")
	var view service.JobOutput
	must.Do(t, json.Unmarshal([]byte(p.ask("job", "output", "a/../b", "--json")), &view))
	if view.JID != "a/../b" || view.Attempt.Attempt != 2 || len(view.Attempts) != 2 || !view.Redacted || view.Outcome != "done" || len(view.Lines) != 3 {
		t.Errorf("%+v", view)
	}
	for _, tt := range []struct{ args, want string }{
		{"nosuch", "there is no job nosuch, and nothing of one is kept here"},
		{"unrun", "no output of job unrun is kept on"},
		{"a/../b --attempt 7", "attempt 7 is not kept on"},
		{"a/../b --attempt 0", "counted from 1"},
	} {
		if text := p.refused(append([]string{"job", "output"}, strings.Fields(tt.args)...)...); !strings.Contains(text, tt.want) {
			t.Errorf("job output %s says %s", tt.args, text)
		}
	}
	p.terminate()
}

// refused runs oarlock with args, which must fail, and gives what it said.
func (p *process) refused(args ...string) string {
	p.t.Helper()
	if code := p.s.anyCode(args); code == exitOK {
		p.t.Errorf("oarlock %s: exit code 0\n%s", strings.Join(args, " "), p.s.said["stdout"])
	}
	return p.s.said["stderr"]
}
