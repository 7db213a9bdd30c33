package browser

import (
	"bufio"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"oarlock/internal/must"
)

// The configuration of the program that is looked at: one pool of which nothing ends well, one whose child tells of itself as
// it goes, and one whose children stay, and whose next generation can be spoilt.
const configuration = `
[supervisor]
state_dir = "%[1]s/state"
[pools.mail]
queues = ["mail"]
command = ["sh", "-c", "read -r job; n=0; while [ ! -e \"$0\" ]; do n=$((n+1)); echo connected to mx1 for $n ticks; sleep 0.2; done", "%[1]s/enough"]
children = 2
input = "data"
[pools.thumbs]
queues = ["thumbs"]
command = ["sh", "-c", "read -r job; echo cannot open cat.jpg >&2; exit 1"]
children = 2
input = "data"
[pools.asks]
queues = ["asks"]
command = ["sh", "-c", "read -r job; echo \"{\\\"@\\\":\\\"park\\\",\\\"run\\\":\\\"$OARLOCK_RUN\\\",\\\"correlation\\\":\\\"$job\\\"}\""]
input = "data"
[pools.keep]
queues = ["keep"]
mode = "reuse"
command = ["sh", "keep.sh"]
children = 2
[throttles.erp]
limit = 3
[windows.night]
zone = "Europe/Berlin"
open = ["22:00-06:00"]
[queues.ruled]
throttles = ["erp"]
[klass.Nightly]
queues = ["ruled"]
windows = ["night"]
`

// keep is a child that stays, or, once it is spoilt, does not come up.
const keep = `[ -e spoilt ] && { echo "no such module: mail" >&2; exit 1; }
echo '{"@":"hello","v":[1]}'
while read -r job; do run=$(printf %s "$job" | sed 's/.*"run":"\([^"]*\)".*/\1/'); echo "{\"@\":\"ack\",\"run\":\"$run\"}"; done
`

// program is the program that is looked at.
type program struct {
	t    testing.TB
	dir  string
	base string
	key  string // the address that lets in whoever opens it
}

// binary builds the program once.
var binary = sync.OnceValues(func() (string, error) {
	path := filepath.Join(scratch, "oarlock")
	build := exec.Command("go", "build", "-o", path, ".")
	build.Dir = "../.."
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return path, nil
})

// prepare makes a directory for the program. In its configuration %[1]s is that.
func prepare(t testing.TB, configuration string) *program {
	t.Helper()
	if chrome == nil {
		t.Skip(chromeGone)
	}
	p := &program{t: t, dir: t.TempDir()}
	p.write("keep.sh", keep)
	p.write("oarlock.toml", fmt.Sprintf(configuration, p.dir))
	return p
}

// start starts the program, and waits until it answers.
func start(t testing.TB, configuration string) *program {
	t.Helper()
	p := prepare(t, configuration)
	p.begin(func(line string) bool {
		at := strings.Index(line, "http://")
		if at < 0 || !strings.Contains(line, "key=") {
			return false
		}
		p.key = line[at:]
		return true
	}, "dev", "--redis", "spawn")
	u := must.Get(url.Parse(p.key))(t)
	p.base = u.Scheme + "://" + u.Host
	return p
}

// begin starts the program by a command that stays, and waits until it has printed a line that will do.
func (p *program) begin(will func(line string) bool, args ...string) {
	t := p.t
	t.Helper()
	path := must.Get(binary())(t)
	cmd := exec.Command(path, args...)
	cmd.Dir = p.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out := must.Get(cmd.StdoutPipe())(t)
	cmd.Stderr = cmd.Stdout
	must.Do(t, cmd.Start())
	ready, told := make(chan bool, 1), make(chan string, 1)
	go func() {
		defer close(told)
		var all strings.Builder
		done := false
		for in := bufio.NewScanner(out); in.Scan(); {
			fmt.Fprintln(&all, in.Text())
			if !done && will(in.Text()) {
				done = true
				ready <- true
			}
		}
		told <- all.String()
	}()
	t.Cleanup(func() { end(t, cmd, told) })
	select {
	case <-ready:
	case all := <-told:
		t.Fatalf("the program ended: %s", all)
	case <-time.After(60 * time.Second):
		t.Fatal("the program does not say where it answers")
	}
}

// end stops the program, and waits until it is gone.
func end(t testing.TB, cmd *exec.Cmd, told <-chan string) {
	_ = cmd.Process.Signal(syscall.SIGTERM)
	over := make(chan struct{})
	go func() { <-told; _ = cmd.Wait(); close(over) }()
	select {
	case <-over:
	case <-time.After(time.Minute):
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		<-over
		t.Error("the program did not end")
	}
}

// write writes a file into the directory of the program.
func (p *program) write(name, text string) {
	p.t.Helper()
	must.Do(p.t, os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o644))
}

// run runs a command beside the program.
func (p *program) run(in string, args ...string) string {
	p.t.Helper()
	path := must.Get(binary())(p.t)
	cmd := exec.Command(path, args...)
	cmd.Dir, cmd.Stdin = p.dir, strings.NewReader(in)
	out, err := cmd.CombinedOutput()
	if err != nil {
		p.t.Fatalf("oarlock %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// await waits until something is so of which the program tells only who asks.
func (p *program) await(is func() bool) {
	p.t.Helper()
	for ends := time.Now().Add(patience); !is(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(ends) {
			p.t.Fatal("it does not come to that")
		}
	}
}

// put puts so many jobs of a class into a queue.
func (p *program) put(queue, klass string, n int, options string) {
	p.t.Helper()
	var all strings.Builder
	for i := range n {
		fmt.Fprintf(&all, "{\"queue\":%q,\"klass\":%q,\"data\":{\"path\":\"cat%d.jpg\",\"password\":\"hunter2\"}%s}\n", queue, klass, i, options)
	}
	p.run(all.String(), "put", queue, "--jobs", "--file", "-")
}

// enter opens a tab that is logged in.
func (p *program) enter(t testing.TB, width int64, scripts bool) *tab {
	t.Helper()
	tb := open(t, p.base, width, scripts)
	tb.visit(strings.TrimPrefix(p.key, p.base))
	tb.await(`document.querySelector("h1")`)
	return tb
}
