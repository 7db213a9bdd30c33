package cli

import (
	"strings"
	"syscall"
	"testing"
)

// One frame needs no terminal, and tells what there is, with a supervisor or without.
func TestTopOnce(t *testing.T) {
	s := newScript(t, "-- oarlock.toml --\n[pools.mail]\nqueues = [\"mail\"]\ncommand = [\"sh\", \"-c\", \"sleep 60\"]\n")
	if err := s.oarlock(exitUsage, s.words("top")); err != nil || !strings.Contains(s.said["stderr"], "top needs a terminal") {
		t.Errorf("without a terminal: %v\n%s", err, s.said["stderr"])
	}
	if err := s.oarlock(exitOK, s.words("put render {}")); err != nil {
		t.Error(err)
	}
	if err := s.oarlock(exitOK, s.words("top --once")); err != nil || !strings.Contains(s.said["stdout"], "no supervisor here") || !strings.Contains(s.said["stdout"], "render") {
		t.Errorf("without a supervisor: %v\n%s", err, s.said["stdout"])
	}
	p := begin(t, s, "run")
	p.await(`ready`)
	p.ask("put", "mail", "--klass", "Send", "--jid", "j1")
	text := p.until("Send j1", "top", "--once")
	for _, want := range []string{"POOLS", "works", "CHILDREN OF mail", "QUEUES"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	p.signal(syscall.SIGTERM)
	p.await(`once more stops now`)
	p.signal(syscall.SIGTERM)
	p.leaves(exitOK)
	s.env["REDIS_URL"] = "unix:///nonexistent"
	if err := s.oarlock(exitTempFail, s.words("top --once")); err != nil {
		t.Errorf("without Redis and supervisor: %v\n%s%s", err, s.said["stdout"], s.said["stderr"])
	}
}
