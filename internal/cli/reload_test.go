package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"oarlock/internal/must"
)

const reloadFiles = `
-- oarlock.toml --
[supervisor]
drain_timeout = "10ms"
[log]
format = "text"
[pools.work]
queues = ["work"]
command = ["sh", "wait.sh"]
children = 2
input = "data"
[pools.other]
queues = ["other"]
command = ["sh", "wait.sh"]
-- wait.sh --
echo begun
while [ ! -e go ]; do sleep 0.02; done
`

// editing changes the configuration at once and whole.
func (p *process) editing(text string) {
	p.t.Helper()
	path := filepath.Join(p.s.dir, "oarlock.toml")
	must.Do(p.t, os.WriteFile(path+".new", []byte(text), 0o644))
	must.Do(p.t, os.Rename(path+".new", path))
}

// A reload says what it did, and does it once, though a file watch has seen the change, too.
// What leaves finishes what it has, whatever drain_timeout says.
func TestReloadSaysWhatItDid(t *testing.T) {
	s := newScript(t, reloadFiles)
	p := running(t, s)
	p.ask("put", "work", `"it"`, "--jid", "it")
	p.await(`child line=begun`)
	good := s.text("oarlock.toml")

	p.editing(strings.Replace(good, "[pools.work]", "[pools.p2]", 1) + "children = 3\n")
	if err := s.oarlock(exitOK, []string{"reload"}); err != nil || !strings.HasSuffix(s.said["stdout"], "work leaves, 1 job runs on; p2 is new; other has another children\n") {
		t.Errorf("reload: %v %s", err, s.said["stdout"])
	}
	if text := p.ask("reload"); !strings.Contains(text, "ago already, by ") || !strings.HasSuffix(text, "work leaves, 1 job runs on; p2 is new; other has another children\n") {
		t.Errorf("the same again: %s", text)
	}
	p.ask("quiet") // the log has all before this
	p.await(`quiet: no more jobs`)
	if n := strings.Count(strings.Join(p.seen, "\n"), "INFO  reloaded "); n != 1 {
		t.Errorf("reloaded %d times for one edit:\n%s", n, strings.Join(p.seen, "\n"))
	}

	p.editing(good + "[redis]\nnamespace = \"other:\"\n[metrics]\nqueues = 7\n")
	for _, args := range [][]string{{"reload"}, {"reload", "--json"}} {
		if err := s.oarlock(exitFailed, args); err != nil || !strings.Contains(s.said["stdout"], "redis.namespace") || !strings.Contains(s.said["stdout"], "metrics.queues") {
			t.Errorf("%v of what needs a restart: %v %s", args, err, s.said["stdout"])
		}
	}
	if text := s.said["stdout"]; !strings.Contains(text, `"restart": [`) || !strings.Contains(text, `"code": 1`) {
		t.Errorf("reload --json says %s", text)
	}
	p.editing(good)
	if text := p.ask("reload"); strings.Contains(text, "restart") {
		t.Errorf("all is as it was at the start: %s", text)
	}
	p.editing(good + "childern = 3\n")
	s.says(t, exitConfig, "reload", "Nothing was changed.")
	s.says(t, exitConfig, "reload --json", `"refused"`)

	must.Do(t, os.WriteFile(filepath.Join(s.dir, "go"), nil, 0o644))
	p.until("complete", "job", "show", "it")
	if text := p.ask("job", "show", "it"); !strings.Contains(text, "5 left of 5") || strings.Contains(text, "interruptions") {
		t.Errorf("the job of the pool that left: %s", text)
	}
	p.ask("stop")
	p.leaves(exitOK)
}

// The secrets of addresses for answers are in a file of their own: a reload that reads others says so.
func TestReloadSaysThatSecretsChanged(t *testing.T) {
	s := newScript(t, strings.Replace(reloadFiles, "[supervisor]", `[web]
url = "https://jobs.example.com"
[park]
secret_file = "secrets"
[supervisor]`, 1)+"-- secrets --\n0123456789abcdef0123456789abcdef\n")
	p := running(t, s)
	if text := p.ask("reload"); text != "nothing has changed\n" {
		t.Errorf("of the same secrets: %s", text)
	}
	must.Do(t, os.WriteFile(filepath.Join(s.dir, "secrets"), []byte("fedcba9876543210fedcba9876543210\n"), 0o600))
	if text := p.ask("reload"); text != "park.secret_file changed\n" {
		t.Errorf("of others: %s", text)
	}
}
