package cli

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
)

const boundsFiles = `
-- oarlock.toml --
[log]
format = "text"
[pools.bound]
queues = ["bound"]
command = ["cat"]
mode = "reuse"
hello = false
min_children = 1
max_children = 4
[pools.each]
queues = ["each"]
command = ["sleep", "60"]
min_children = 1
max_children = 4
[pools.fixed]
queues = ["fixed"]
command = ["sh", "-c", "echo started; sleep 60"]
children = 2
`

// What a verb prints is so; what it cannot do any more, it says.
func TestControlVerbsSayWhatIsSo(t *testing.T) {
	s := newScript(t, boundsFiles)
	p := running(t, s)
	refused := func(code int, words string, args ...string) {
		t.Helper()
		if err := s.oarlock(code, args); err != nil || !strings.Contains(s.said["stderr"], words) {
			t.Errorf("%v: %v\n%s", args, err, s.said["stderr"])
		}
	}
	refused(exitUsage, "pool bound has from 1 to 4 children (min_children, max_children), and so not 10", "scale", "bound", "10")
	refused(exitUsage, "there is nothing to scale", "scale", "each", "2")
	refused(exitGone, "there is no pool fixd; did you mean fixed?", "scale", "fixd", "2")
	refused(exitGone, "there is no pool fixd; did you mean fixed?", "recycle", "fixd")
	says(t, p.ask("scale", "fixed", "3"), `^fixed is to have 3 children, and had 2$`)
	p.until(`"children": 3`, "status", "--json")
	says(t, p.ask("scale", "bound", "3"), `^bound is to have 3 children, and had 1; it grows and shrinks by itself from there$`)
	says(t, p.ask("resume"), `^it was not quiet, and takes jobs$`)
	p.ask("put", "fixed")
	p.await(`line=started`)
	says(t, p.ask("quiet"), "^quiet: it takes no more jobs until `oarlock resume`; 1 job runs on$")
	p.await("INFO  quiet: no more jobs are taken until CONT, or `oarlock resume`$")
	says(t, p.ask("resume"), `^resumed: it takes jobs again$`)
	says(t, p.ask("recycle", "fixed"), `^recycling the children of fixed`)

	// The state directory was changed after it was started.
	refused(exitFailed, "because state_dir was changed since it started: --pid ", "status", "--state-dir", s.dir+"/other")
	says(t, p.ask("status", "--state-dir", s.dir+"/other", "--pid", fmt.Sprint(p.cmd.Process.Pid)), fmt.Sprintf(`\(pid %d\): ready`, p.cmd.Process.Pid))
	refused(exitFailed, "no supervisor is running with the process id 1 that we may ask", "status", "--pid", "1")

	says(t, p.ask("drain"), `^draining: it leaves when what runs has finished; 1 job runs on$`)
	p.await(fmt.Sprintf(`INFO  asked over the control socket to=drain pid=%d uid=%d$`, os.Getpid(), os.Geteuid()))
	for _, args := range [][]string{{"recycle"}, {"recycle", "fixed"}, {"resume"}, {"quiet"}, {"scale", "fixed", "1"}} {
		refused(exitGone, "is draining: it takes no more jobs", args...)
	}
	p.signal(syscall.SIGTERM)
	p.await(`once more stops now`)
	p.signal(syscall.SIGTERM)
	p.await(`stopping now`)
	p.leaves(exitOK)
}
