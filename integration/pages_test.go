package integration

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"oarlock/internal/redistest"
	"oarlock/queue"
)

// page is a document whose blocks are played, in a directory and a shell as its reader has them, on a Redis of its own. Each block of configuration,
// commands or program is to be played.
type page struct {
	t      *testing.T
	name   string
	blocks []string // those left to play, each after its language
	dir    string
	env    []string
	url    string // of Redis, for supervisors and commands
	db     *redis.Client
	client *queue.Client
}

// played are the languages of blocks that are played; of those without one commands are, not pictures.
var played = regexp.MustCompile("(?ms)^```(toml|sh|console|python)\n(.*?)^```$|^    ((?:redis-cli|oarlock) [^\n]*\n)")

// readPage begins to play a document.
func readPage(t *testing.T, name string) *page {
	t.Helper()
	t.Parallel()
	for _, needed := range []string{"redis-cli", "python3", "jq", "curl"} {
		if _, err := exec.LookPath(needed); err != nil {
			t.Skipf("SKIPPED %s is not installed (apt install redis-tools python3 jq curl): %v", needed, err)
		}
	}
	text := read(t, filepath.Join("../docs", name))
	server, dir := redistest.Start(t), t.TempDir()
	p := &page{t: t, name: name, dir: dir, url: server.URL, db: server.Client(t)}
	for _, m := range played.FindAllStringSubmatch(text, -1) {
		if m[3] != "" {
			m[1], m[2] = "sh", m[3]
		}
		p.blocks = append(p.blocks, m[1]+"\n"+m[2])
	}
	p.client = got(queue.Open(t.Context(), queue.Options{URL: server.URL, ReadTimeout: 30 * time.Second}))(t)
	t.Cleanup(func() {
		p.client.Close()
		for _, block := range p.blocks {
			if !t.Failed() {
				t.Errorf("%s: nobody plays\n%s", name, block)
			}
		}
	})
	p.db.HSet(t.Context(), "ql:oarlock:tended", "rules-since", 1) // nobody works it who knows no rules
	p.program("redis-cli", fmt.Sprintf("exec %s -s %s \"$@\"", look(t, "redis-cli"), server.Addr))
	must(t, os.Symlink(oarlock(t), filepath.Join(dir, "oarlock")))
	must(t, os.Symlink(got(python())(t), filepath.Join(dir, "python3"))) // commands have some seconds, of which a wrapper takes much
	p.env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "HOME="+dir, "NO_COLOR=1", "TZ=UTC", "REDIS_URL=", "OARLOCK_CONFIG=")
	return p
}

func look(t *testing.T, program string) string {
	t.Helper()
	path := got(exec.LookPath(program))(t)
	return path
}

// file writes one that the reader has.
func (p *page) file(name, text string) {
	p.t.Helper()
	must(p.t, os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o600))
}

// program writes one in sh that the reader has.
func (p *page) program(name, text string) {
	p.t.Helper()
	p.file(name, "#!/bin/sh\n"+text+"\n")
	must(p.t, os.Chmod(filepath.Join(p.dir, name), 0o700))
}

// block takes the next block of a language, which is to have the words.
func (p *page) block(language, words string) string {
	p.t.Helper()
	for i, block := range p.blocks {
		if text, is := strings.CutPrefix(block, language+"\n"); is && strings.Contains(text, words) {
			p.blocks = append(p.blocks[:i:i], p.blocks[i+1:]...)
			return text
		}
	}
	p.t.Fatalf("%s has no block of %s with %q", p.name, language, words)
	return ""
}

// configure writes the reader's configuration.
func (p *page) configure(text string) {
	p.t.Helper()
	p.file("oarlock.toml", fmt.Sprintf("[redis]\nurl = %q\n[supervisor]\nname = \"web1\"\nstate_dir = %q\npoll_interval = \"200ms\"\n", p.url, filepath.Join(p.dir, "state"))+text)
}

// begin starts a supervisor.
func (p *page) begin() *exec.Cmd {
	p.t.Helper()
	cmd := exec.Command(filepath.Join(p.dir, "oarlock"), "run", "--log-level", "warn")
	cmd.Dir, cmd.Env, cmd.Stderr = p.dir, p.env, p.t.Output()
	must(p.t, cmd.Start())
	return cmd
}

// run starts a supervisor, and gives what ends it.
func (p *page) run() (stop func()) {
	p.t.Helper()
	cmd := p.begin()
	stop = func() {
		if cmd.ProcessState == nil {
			cmd.Process.Signal(syscall.SIGTERM)
			cmd.Wait()
		}
	}
	p.t.Cleanup(stop)
	return stop
}

// shell runs commands as the reader types them and gives what they print.
func (p *page) shell(commands string) string {
	p.t.Helper()
	cmd := exec.CommandContext(p.t.Context(), "sh", "-ec", commands)
	cmd.Dir, cmd.Env = p.dir, p.env
	return ran(p.t, cmd)
}

// session types each command of a console and compares what it prints with what stands below it, where something does. It gives all that was printed.
func (p *page) session(text string) (printed []string) {
	p.t.Helper()
	for _, part := range strings.Split("\n"+text, "\n$ ")[1:] {
		command, want, _ := strings.Cut(part, "\n")
		out := p.shell(command)
		said := strings.ReplaceAll(strings.TrimSpace(out), filepath.Join(p.dir, "oarlock.toml"), "/etc/oarlock/config.toml")
		if want = strings.TrimSpace(want); want != "" && said != want {
			p.t.Errorf("%s: %s prints\n%s\nand not\n%s", p.name, command, said, want)
		}
		printed = append(printed, strings.TrimSpace(out))
	}
	return printed
}

// put puts a job.
func (p *page) put(put queue.Put) string {
	p.t.Helper()
	jid := got(p.client.Put(p.t.Context(), put))(p.t)
	return jid
}

// atWork puts a job and takes it.
func (p *page) atWork(put queue.Put) {
	p.t.Helper()
	p.put(put)
	session := p.client.Session("w")
	defer session.Close()
	reply, err := session.Exchange(p.t.Context(), nil, queue.Take{Queues: []string{put.Queue}, Count: 1})
	if err != nil || len(reply.Jobs) != 1 {
		p.t.Fatalf("taken are %+v: %v", reply, err)
	}
}

// field reads one of a job.
func (p *page) field(jid, name string) string {
	return p.db.HGet(p.t.Context(), "ql:j:"+jid, name).Val()
}
