package cli

import (
	"bufio"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"oarlock/internal/must"
)

// patience bounds every wait of these tests; none of them takes nearly as long.
const patience = 90 * time.Second

// process is an oarlock that runs beside the test.
type process struct {
	t     *testing.T
	s     *script // for its directory and environment
	cmd   *exec.Cmd
	lines chan string // what it prints on both streams
	seen  []string
}

// launch starts an oarlock with args in the directory of s that prints to out, if anywhere, which is closed here. It is killed
// with the test at the latest.
func launch(t *testing.T, s *script, out *os.File, args ...string) *process {
	t.Helper()
	self := must.Get(os.Executable())(t)
	p := &process{t: t, s: s, cmd: exec.Command(self, args...), lines: make(chan string, 10000)}
	p.cmd.Dir = s.dir
	if out != nil {
		p.cmd.Stdout, p.cmd.Stderr = out, out
		defer out.Close()
	}
	p.cmd.Env = []string{asProgram + "=1", "GORACE=" + os.Getenv("GORACE"), "TMPDIR=" + s.dir}
	for name, value := range s.env {
		p.cmd.Env = append(p.cmd.Env, name+"="+value)
	}
	must.Do(t, p.cmd.Start())
	t.Cleanup(func() { p.cmd.Process.Kill() })
	return p
}

// launchUnread is one that prints to out, which nobody reads here, when it answers over its socket.
func launchUnread(t *testing.T, s *script, out *os.File, args ...string) *process {
	t.Helper()
	p := launch(t, s, out, args...)
	close(p.lines)
	for deadline := time.Now().Add(patience); p.s.oarlock(exitOK, []string{"status"}) != nil; {
		if time.Now().After(deadline) {
			p.t.Fatal("it does not answer")
		}
	}
	return p
}

// begin starts oarlock with args in the directory of s, and reads what it prints.
func begin(t *testing.T, s *script, args ...string) *process {
	t.Helper()
	ours, theirs, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p := launch(t, s, theirs, args...)
	go func() { // ends with the last writer; the end of lines is waited for
		defer close(p.lines)
		defer ours.Close()
		for scanner := bufio.NewScanner(ours); scanner.Scan(); {
			p.lines <- scanner.Text()
		}
	}()
	return p
}

// running starts `oarlock run` with args and waits until it is ready.
func running(t *testing.T, s *script, args ...string) *process {
	t.Helper()
	p := begin(t, s, append([]string{"run"}, args...)...)
	p.await(`INFO.* ready|"msg":"ready"`)
	return p
}

// terminate tells it to end, which it is to do well.
func (p *process) terminate() {
	p.t.Helper()
	p.signal(syscall.SIGTERM)
	p.leaves(exitOK)
}

// await waits for a line that matches, and gives it.
func (p *process) await(pattern string) string {
	p.t.Helper()
	want := regexp.MustCompile(pattern)
	timeout := time.After(patience)
	for {
		select {
		case line, more := <-p.lines:
			if !more {
				p.t.Fatalf("it ended without a line like %q:\n%s", pattern, strings.Join(p.seen, "\n"))
			}
			p.seen = append(p.seen, line)
			if want.MatchString(line) {
				return line
			}
		case <-timeout:
			p.t.Fatalf("no line like %q:\n%s", pattern, strings.Join(p.seen, "\n"))
		}
	}
}

// signal sends a signal.
func (p *process) signal(sig syscall.Signal) {
	p.t.Helper()
	must.Do(p.t, p.cmd.Process.Signal(sig))
}

// leaves waits until it has ended, with that exit code.
func (p *process) leaves(code int) {
	p.t.Helper()
	timeout := time.AfterFunc(patience, func() { p.cmd.Process.Kill() })
	defer timeout.Stop()
	for line := range p.lines {
		p.seen = append(p.seen, line)
	}
	p.cmd.Wait()
	if got := p.cmd.ProcessState.ExitCode(); got != code {
		p.t.Fatalf("it ended with %v, want exit code %d:\n%s", p.cmd.ProcessState, code, strings.Join(p.seen, "\n"))
	}
}

// ask runs oarlock with args, which must exit with 0, and gives what it printed.
func (p *process) ask(args ...string) string {
	p.t.Helper()
	if err := p.s.oarlock(0, args); err != nil {
		p.t.Fatalf("oarlock %s: %v\n%s%s", strings.Join(args, " "), err, p.s.said["stdout"], p.s.said["stderr"])
	}
	return p.s.said["stdout"]
}

// until asks again and again until the answer has the words; a round trip is a pause.
func (p *process) until(words string, args ...string) string {
	p.t.Helper()
	for deadline := time.Now().Add(patience); ; {
		text := p.ask(args...)
		if strings.Contains(text, words) {
			return text
		}
		if time.Now().After(deadline) {
			p.t.Fatalf("oarlock %s never says %q:\n%s", strings.Join(args, " "), words, text)
		}
	}
}

const workFiles = `
-- oarlock.toml --
[log]
format = "text"
[pools.work]
queues = ["work"]
command = ["sh", "work.sh"]
children = 2
input = "data"
-- work.sh --
read -r what
echo "working on $what"
case $what in
*bad*) exit 65 ;;
*slow*) echo started; sleep 60 ;;
esac
`

func TestRunFromStartToEnd(t *testing.T) {
	s := newScript(t, workFiles)
	p := begin(t, s, "run")
	p.await(`INFO  supervising .*pools=1`)
	p.await(`INFO  ready`)
	p.ask("put", "work", `"good"`, "--jid", "good")
	p.await(`child line="working on \\"good\\"" .*jid=good`)
	p.await(`INFO  attempt ended jid=good klass=\S+ queue=work pool=work outcome=done kind=exited duration=\S+ attempt=1`)
	p.ask("put", "work", `"bad"`, "--jid", "bad")
	p.await(`child line="working on \\"bad\\""`)
	p.await(`WARN  attempt ended jid=bad .* outcome=failed kind=exited`)
	p.until("exit-65", "failed", "ls") // settled soon after the child has left
	s.says(t, exitOK, "failed ls exit-65", "bad")
	s.says(t, exitOK, "job show bad", "exit code 65", "working on")
	if text := p.ask("failed", "retry", "exit-65", "--klass", "other"); text != "0 jobs retried\n" {
		t.Errorf("failed retry with a filter says %s", text)
	}
	s.says(t, exitOK, "failed retry --all --dry-run", "1 job would be retried")
	p.ask("quiet")
	p.await(`quiet: no more jobs`)
	if text := p.ask("failed", "retry", "exit-65"); text != "1 job retried\n" {
		t.Errorf("failed retry says %s", text)
	}
	s.says(t, exitOK, "job why bad", "Pool work is quiet or draining")
	p.ask("resume")
	p.await(`child line="working on \\"bad\\""`)
	p.until("exit-65", "failed", "ls")
	if text := p.ask("failed", "drop", "--all"); text != "1 job dropped\n" {
		t.Errorf("failed drop says %s", text)
	}
	s.says(t, exitOK, "status", "done 1, retried 0, failed 2")
	p.ask("scale", "work", "3")
	s.says(t, exitGone, "scale nope 3", "there is no pool nope")
	p.signal(syscall.SIGTTIN)
	p.await(`INFO  dump goroutines=.*goroutine 1 .* state=`)
	p.signal(syscall.SIGTERM)
	p.await(`INFO  draining: leaving when what runs has finished`)
	p.leaves(exitOK)
}

func TestASecondSignalStopsNow(t *testing.T) {
	s := newScript(t, workFiles)
	p := running(t, s)
	p.ask("put", "work", `"slow"`, "--jid", "slow")
	p.await(`child line=started`)
	p.signal(syscall.SIGINT)
	p.await(`once more stops now`)
	p.signal(syscall.SIGINT)
	p.await(`stopping now`)
	p.leaves(exitOK)
	s.says(t, exitOK, "job show slow", "5 left of 5", "1 interruptions")
	if text := p.ask("job", "why", "slow"); !strings.HasPrefix(text, "It is the next of its queue.") {
		t.Errorf("why is it not running: %s", text)
	}
}

// What passes a signal on may send it twice, as timeout(1) does: that is one, and what runs finishes.
func TestASignalThatComesTwiceAtOnceIsOne(t *testing.T) {
	s := newScript(t, strings.Replace(workFiles, "sleep 60", "sleep 2", 1)) // longer than what ends beside a signal is taken for its victim
	p := running(t, s)
	p.ask("put", "work", `"slow"`, "--jid", "slow")
	p.await(`child line=started`)
	p.signal(syscall.SIGTERM)
	p.signal(syscall.SIGINT) // another one: of two alike the kernel may make one
	p.await(`once more stops now`)
	p.await(`attempt ended jid=slow .* outcome=done`)
	p.leaves(exitOK)
}

func TestWhyAJobComesToNoEnd(t *testing.T) {
	if testing.Short() {
		t.Skip("long: five starts and stops")
	}
	const words = "interrupted 5 times without a new checkpoint"
	s := newScript(t, workFiles)
	for i := 0; ; i++ {
		p := begin(t, s, "run")
		if i == 0 {
			p.await(`INFO  ready`)
			p.ask("put", "work", `"slow"`, "--jid", "slow")
		}
		p.await(`child line=started`)
		if text := p.ask("job", "why", "slow"); i < 5 && strings.Contains(text, "without a new checkpoint") {
			t.Errorf("after %d interruptions job why says %s", i, text)
		}
		p.signal(syscall.SIGINT)
		p.await(`once more stops now`)
		p.signal(syscall.SIGINT)
		p.leaves(exitOK)
		if text := p.ask("job", "why", "slow"); strings.Contains(text, words) {
			break
		} else if i == 9 { // one that a busy machine lets leave without a word is none
			t.Fatalf("job why says %s", text)
		}
	}
}

func TestReload(t *testing.T) {
	s := newScript(t, workFiles)
	p := running(t, s)
	good := s.text("oarlock.toml")
	write := func(text string) {
		t.Helper()
		must.Do(t, os.WriteFile(filepath.Join(s.dir, "new"), []byte(text), 0o644))
		must.Do(t, os.Rename(filepath.Join(s.dir, "new"), filepath.Join(s.dir, "oarlock.toml")))
	}
	write(strings.Replace(good, "children = 2", "children = 5", 1))
	p.await(`INFO  reloaded pools=1`)
	write(good + "childern = 1\n")
	p.await(`ERROR the configuration was not reloaded; the old one stays err=.*did you mean .*children`)
	s.says(t, exitConfig, "reload", "pools.work.childern: unknown key")
	s.says(t, exitOK, "status --json", `"children": 5`)
	write(good + "[redis]\nnamespace = \"other:\"\n")
	p.await(`WARN  a change needs a restart key=redis.namespace`)
	p.signal(syscall.SIGHUP)
	p.await(`INFO  nothing to reload`)
	p.ask("drain")
	p.leaves(exitOK)
}

// run embeds a Redis only where the URL says so.
func TestRunEmbedsWhereTheURLSaysSo(t *testing.T) {
	s := newScript(t, workFiles)
	s.env["REDIS_URL"] = "embedded"
	p := begin(t, s, "run")
	p.await(`ALL IN MEMORY`)
	url := p.await(`export REDIS_URL=`)
	s.env["REDIS_URL"] = url[strings.Index(url, "redis://"):]
	p.await(`INFO  ready`)
	p.ask("put", "work", `"good"`)
	p.await(`working on`)
	p.signal(syscall.SIGQUIT)
	p.await(`draining without a limit`)
	p.leaves(exitOK)
}

func TestServiceManager(t *testing.T) {
	s := newScript(t, workFiles)
	socket := filepath.Join(s.dir, "n")
	conn := must.Get(net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"}))(t)
	defer conn.Close()
	s.env["NOTIFY_SOCKET"] = socket
	s.env["WATCHDOG_USEC"] = "200000"
	p := begin(t, s, "run")
	delete(s.env, "NOTIFY_SOCKET")
	told := func(want string) {
		t.Helper()
		message := make([]byte, 4096)
		conn.SetReadDeadline(time.Now().Add(patience))
		for {
			n, err := conn.Read(message)
			if err != nil {
				t.Fatalf("the manager was never told %s: %v", want, err)
			}
			if regexp.MustCompile(want).Match(message[:n]) {
				return
			}
		}
	}
	told(`^READY=1`)
	told(`^WATCHDOG=1`)
	told(`^STATUS=0 of 2 children busy`)
	p.signal(syscall.SIGHUP)
	told(`^RELOADING=1\nMONOTONIC_USEC=`)
	told(`^READY=1`)
	p.ask("put", "work", `"slow"`)
	p.await(`line=started`)
	p.signal(syscall.SIGTERM)
	told(`^STOPPING=1`)
	p.await(`once more stops now`)
	if !testing.Short() { // which come every few seconds
		told(`^STATUS=draining: 1 of`)
		told(`^EXTEND_TIMEOUT_USEC=`)
	}
	p.terminate()
}

func TestDev(t *testing.T) {
	s := newScript(t, workFiles)
	p := begin(t, s, "dev", "--data", "kept")
	p.await(`ALL IN MEMORY`)
	url := p.await(`export REDIS_URL=redis://127\.0\.0\.1:\d+/0$`)
	s.env["REDIS_URL"] = url[strings.Index(url, "redis://"):]
	p.await(`INFO  ready`)
	p.ask("put", "work", `"first"`)
	p.await(`work\[\d\] \| working on`)
	must.Do(t, os.WriteFile(filepath.Join(s.dir, "work.sh"), []byte("echo changed\n"), 0o644))
	p.await(`a program has changed`)
	p.ask("put", "work", `"second"`)
	p.await(`work\[\d\] \| changed`)
	p.ask("put", "elsewhere", "--jid", "stays")
	p.signal(syscall.SIGINT)
	p.leaves(exitOK)

	p = begin(t, s, "dev", "--data", "kept")
	url = p.await(`export REDIS_URL=`)
	s.env["REDIS_URL"] = url[strings.Index(url, "redis://"):]
	p.await(`INFO  ready`)
	s.says(t, exitOK, "job show stays", "waiting")
	p.ask("stop")
	p.leaves(exitOK)
}

func TestDevSpawnsARedisThatKeepsItsData(t *testing.T) {
	s := newScript(t, workFiles)
	for i, command := range [][]string{{"put", "elsewhere", "--jid", "stays"}, {"job", "show", "stays"}} {
		p := begin(t, s, "dev", "--redis=spawn")
		url := p.await(`export REDIS_URL=`)
		s.env["REDIS_URL"] = url[strings.Index(url, "redis://"):]
		p.await(`INFO  ready`)
		if text := p.ask(command...); !strings.Contains(text, "stays") {
			t.Errorf("run %d says %s", i, text)
		}
		p.ask("stop")
		p.leaves(exitOK)
	}
}

// A script that is broken burns its own jobs only.
func TestAScriptThatExitsAtOnce(t *testing.T) {
	s := newScript(t, workFiles+"-- broken.toml --\n[log]\nformat = 'text'\n[pools.work]\nqueues = ['work']\ncommand = ['false']\n"+
		"[pools.good]\nqueues = ['good']\ncommand = ['sh', 'work.sh']\n")
	p := running(t, s, "-c", "broken.toml")
	p.ask("put", "work", "--jid", "x", "--retries", "0")
	p.await(`WARN  attempt ended jid=x .* group=exit-1`)
	p.ask("put", "good", "--jid", "y")
	p.until("complete", "job", "show", "y") // an end that comes together with our TERM would be an interruption
	p.terminate()
	s.says(t, exitOK, "job show x", "failed", "exit-1")
	s.says(t, exitOK, "job show y", "complete")
}
