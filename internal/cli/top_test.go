package cli

import (
	"strings"
	"syscall"
	"testing"
)

// One frame needs no terminal, and tells what there is, with a supervisor or without.
func TestTopOnce(t *testing.T) {
	s := newScript(t, "-- oarlock.toml --\n[pools.mail]\nqueues = [\"mail\"]\ncommand = [\"sh\", \"-c\", \"sleep 60\"]\n")
	s.says(t, exitUsage, "top", "top needs a terminal")
	s.says(t, exitOK, "put render {}")
	s.says(t, exitOK, "top --once", "no supervisor here", "render")
	p := running(t, s)
	p.ask("put", "mail", "--klass", "Send", "--jid", "j1")
	text := p.until("Send j1", "top", "--once")
	for _, want := range []string{"POOLS", "works", "CHILDREN OF mail", "QUEUES"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	p.signal(syscall.SIGTERM)
	p.await(`once more stops now`)
	p.terminate()
	s.env["REDIS_URL"] = "unix:///nonexistent"
	s.says(t, exitTempFail, "top --once")
}
