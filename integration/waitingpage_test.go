package integration

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"oarlock/internal/redistest"
	"oarlock/queue"
)

// TestWaitingAsWritten plays docs/waiting-for-answers.md: the script that stands there parks, and each of the answers that are typed there is what it goes on with.
func TestWaitingAsWritten(t *testing.T) {
	p := readPage(t, "waiting-for-answers.md")
	asks, pushes := p.block("sh", "# Pay: asks the bank"), p.block("sh", "RPUSH ql:oarlock:responses")
	curls, calls := p.block("sh", "Authorization: Bearer"), p.block("sh", "--answer-to")
	door := p.block("toml", "secret_file")

	// The file: its port and paths are those of this test, and the secret is made as it says.
	const base = "https://jobs.example.com"
	listen := "127.0.0.1:" + redistest.Port(t)
	here := strings.NewReplacer("127.0.0.1:7733", listen, base, "http://"+listen, "/etc/oarlock", p.dir)
	_, makes, _ := strings.Cut(door, "# ")
	p.shell(here.Replace(strings.TrimSpace(makes)))
	p.shell("oarlock web token shop --may put,respond --json >made && jq -r .line made >tokens && chmod 600 tokens")
	p.env = append(p.env, "TOKEN="+strings.TrimSpace(p.shell("jq -r .token made")))
	asked := filepath.Join(p.dir, "asked")
	p.program("ask-the-bank", fmt.Sprintf(`echo "$@" >>%s`, asked))
	shows := strings.Replace(asks, "jq -c .response.data ", "jq -c .response.data | tee -a "+filepath.Join(p.dir, "answers")+" ", 1)
	if shows == asks {
		t.Fatal("the script shows its answer in another way now")
	}
	p.program("pay.sh", shows)
	question, answers, _ := strings.Cut(calls, "\n")
	p.program("callback.sh", strings.Replace(shows, `ask-the-bank "$order"`, question, 1))
	copyFile(t, "../examples/python/oarlock.py", filepath.Join(p.dir, "oarlock.py"))
	p.file("pay.py", "import oarlock\ndef ask_the_bank(order): pass\ndef book(data): print(data, file=open(\"booked\", \"w\"))\n"+p.block("python", "job.park(")+"oarlock.serve()\n")
	p.configure(here.Replace(door) + fmt.Sprintf(`
[pools.pay]
queues = ["payments"]
command = [%q]
input = "job"
[pools.callback]
queues = ["addressed"]
command = [%q]
input = "job"
[pools.helped]
queues = ["helped"]
mode = "reuse"
command = ["python3", "pay.py"]
`, filepath.Join(p.dir, "pay.sh"), filepath.Join(p.dir, "callback.sh")))
	p.run()

	parked := func(into, order string) string {
		t.Helper()
		jid := p.put(queue.Put{Queue: into, Klass: "Pay", Data: fmt.Appendf(nil, `{"order":%q}`, order)})
		until(t, "it is parked", func() bool {
			job, err := p.client.Get(t.Context(), jid)
			return err == nil && job.Row == "parked"
		})
		return jid
	}
	answered := func(jid string) {
		t.Helper()
		until(t, "it is answered, and done", func() bool { return p.field(jid, "state") == "complete" })
	}
	for _, types := range []string{pushes, here.Replace(curls), `oarlock respond Pay order-17 '{"paid":true}'`} {
		jid := parked("payments", "order-17")
		if shown := p.shell("oarlock park show Pay order-17"); !strings.Contains(shown, jid) {
			t.Errorf("park show says\n%s", shown)
		}
		p.shell(types)
		answered(jid)
	}
	if said := p.shell("cat answers"); said != strings.Repeat("{\"paid\":true}\n", 3) {
		t.Errorf("the answers are %q", said)
	}

	// The bank says no.
	jid := parked("payments", "order-20")
	p.shell("oarlock respond Pay order-20 --error 'no money'")
	until(t, "it is answered, and has failed", func() bool { return p.field(jid, "state") == "failed" })
	if said := p.shell("oarlock job show " + jid); !strings.Contains(said, "no money") {
		t.Errorf("job show says\n%s", said)
	}

	// At the address of its own.
	jid = parked("addressed", "order-17")
	address := regexp.MustCompile(`--answer-to (\S+)`).FindStringSubmatch(p.shell("cat asked"))
	if address == nil {
		t.Fatal("the bank was given no address")
	}
	shape, made := regexp.MustCompile(`jid=[^&]*&token=[^&]*`), "'"+address[1]+"'"
	typed := here.Replace(strings.TrimSpace(answers))
	if !strings.Contains(typed, shape.ReplaceAllString(made, "jid=j1&token=…")) {
		t.Errorf("the address is %s, and the page says %s", made, typed)
	}
	p.shell(shape.ReplaceAllLiteralString(typed, shape.FindString(made)))
	answered(jid)

	// What one types to see and to help.
	jid = parked("payments", "order-18")
	for _, typed := range []struct{ command, says string }{
		{"oarlock park ls", "order-18"}, {"oarlock job why " + jid, "order-18"}, {"oarlock park extend " + jid + " --timeout 2h", ""},
		{"oarlock park fail Pay order-18 --error 'no bank'", ""}, {"oarlock job show " + jid, "no bank"},
	} {
		if said := p.shell(typed.command); !strings.Contains(said, typed.says) {
			t.Errorf("%s says\n%s\nwithout %q", typed.command, said, typed.says)
		}
		if strings.Contains(typed.command, " fail ") {
			until(t, "it has failed", func() bool { return p.field(jid, "state") == "failed" })
		}
	}

	// The same with the helper.
	jid = parked("helped", "order-19")
	p.shell(strings.Replace(pushes, "order-17", "order-19", 1))
	answered(jid)
	if booked := p.shell("cat booked"); booked != "{'paid': True}\n" {
		t.Errorf("booked is %q", booked)
	}
}
