package integration

import (
	"path/filepath"
	"strings"
	"testing"

	"oarlock/queue"
)

// A job cannot use the control socket of its supervisor, by no command and not by what it starts, unless its pool says so; whoever
// is no job can, also of the same user.
func TestJobsAtTheControlSocket(t *testing.T) {
	p := readPage(t, "web.md")
	p.blocks = nil // nothing of it is played here
	said := filepath.Join(p.dir, "said")
	p.program("asks.sh", `cat >/dev/null
{ oarlock status; echo "status $?"; setsid oarlock quiet; echo "quiet $?"; oarlock resume; echo "resume $?"; } >"`+said+`-$OARLOCK_POOL" 2>&1
`)
	p.configure(`
[pools.bound]
queues = ["bound"]
command = ["` + filepath.Join(p.dir, "asks.sh") + `"]
[pools.free]
queues = ["free"]
socket = true
command = ["` + filepath.Join(p.dir, "asks.sh") + `"]
`)
	p.run()
	if strings.Contains(p.shell("oarlock doctor || true"), "Not stronger") {
		t.Log("children have no control groups here: nothing is proved, and all may")
		return
	}
	for pool, want := range map[string]string{"bound": "jobs may not use the control socket; set socket = true", "free": ""} {
		jid := p.put(queue.Put{Queue: pool, Klass: "Asks", Data: []byte("{}")})
		until(t, "the job is over", func() bool {
			job, err := p.client.Get(t.Context(), jid)
			return err == nil && job.State == "complete"
		})
		text := read(t, said+"-"+pool)
		if pool == "free" {
			text = strings.Join(strings.Fields(text), " ")
			for _, word := range []string{"status 0", "quiet 0", "resume 0"} {
				if !strings.Contains(text, word) {
					t.Errorf("a job of %s is told %s", pool, text)
				}
			}
			continue
		}
		if strings.Count(text, want) != 3 || strings.Contains(text, " 0\n") {
			t.Errorf("a job of %s is told %s", pool, text)
		}
	}
	p.shell("oarlock status")
}
