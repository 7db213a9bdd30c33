package integration

import (
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// The handlers are part of the measuring instrument: both must write the same
// ledger, and answer what their job asks for.
func TestHandlers(t *testing.T) {
	interpreter := got(python())(t)
	tests := []struct {
		name string
		argv []string
		data string
		want string // the verdict
	}{
		{"python", []string{interpreter, "-I", "-S", fixture(t, "worker.py")}, `{"ms":3}`, "ack"},
		{"python says what it is told", []string{interpreter, "-I", "-S", fixture(t, "worker.py")},
			`{"say":{"@":"retry","delay":0}}`, "retry"},
		{"sh", []string{"/bin/sh", fixture(t, "worker.sh")}, `{"ms":3}`, "ack"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := newLedger(t)
			before := now()
			cmd := exec.Command(tt.argv[0], tt.argv[1:]...)
			cmd.Stdin = strings.NewReader(`{"@":"job","run":"r1","jid":"a","attempt":2,"retries":5,"remaining":4,"data":` + tt.data + "}\n")
			cmd.Env = append(os.Environ(), "LEDGER="+l.path,
				"OARLOCK_JID=a", "OARLOCK_ATTEMPT=2", "OARLOCK_RUN=r1")
			out := got(cmd.Output())(t)
			var said struct {
				Verb string `json:"@"`
				Run  string
			}
			if err := json.Unmarshal(out, &said); err != nil || said.Verb != tt.want || said.Run != "r1" {
				t.Errorf("it said %q, %v; want %s of run r1", out, err, tt.want)
			}
			entries := l.all(t)
			if len(entries) != 2 || entries[0].what != "begin" || entries[1].what != "end" {
				t.Fatalf("the ledger holds %v, want a begin and an end", entries)
			}
			for _, e := range entries {
				// /proc/uptime, which the shell reads, is rounded to hundredths.
				if e.jid != "a" || e.attempt != 2 || e.run != "r1" || e.pid == 0 || e.paid != 1 || e.at < before-0.02 || e.at > now() {
					t.Errorf("the ledger holds %+v; want job a, attempt 2, run r1, one retry paid, between %f and now", e, before)
				}
			}
		})
	}
}
