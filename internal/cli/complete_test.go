package cli

import (
	"bufio"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/urfave/cli/v2"

	"oarlock/internal/cmdline"
	"oarlock/internal/must"
	"oarlock/internal/redistest"
	"oarlock/queue"
)

// The requests of our scripts, and of those of earlier versions.
const completing, earlier = "__complete", "--generate-bash-completion"

// deaf is a Redis that refuses every command and remembers its name.
type deaf struct {
	url  string
	mu   sync.Mutex
	seen []string
}

func newDeaf(t *testing.T) *deaf {
	t.Helper()
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	d := &deaf{url: "redis://" + l.Addr().String()}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			serving.Go(func() { d.serve(conn) })
		}
	})
	t.Cleanup(func() { l.Close(); serving.Wait() })
	return d
}

func (d *deaf) serve(conn net.Conn) {
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(patience))
	for in := bufio.NewScanner(conn); in.Scan(); { // *N, then $LENGTH and WORD, N times
		n, _ := strconv.Atoi(strings.TrimPrefix(in.Text(), "*"))
		var command []string
		for range n {
			in.Scan()
			in.Scan()
			command = append(command, in.Text())
		}
		d.mu.Lock()
		d.seen = append(d.seen, strings.ToLower(strings.Join(command, " ")))
		d.mu.Unlock()
		fmt.Fprint(conn, "-ERR no\r\n")
	}
}

// beyondReading are the commands seen that do more than to connect and to read names.
func (d *deaf) beyondReading() (bad []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, command := range d.seen {
		name, _, _ := strings.Cut(command, " ")
		if !slices.Contains([]string{"hello", "client", "select", "zrange", "sscan", "lrange", "hmget"}, name) {
			bad = append(bad, command)
		}
	}
	return bad
}

// fullLines are the command lines of all commands that act, each with words that satisfy it.
func fullLines() (lines [][]string) {
	var walk func(commands []*cli.Command, path []string)
	walk = func(commands []*cli.Command, path []string) {
		for _, command := range commands {
			line := append(slices.Clone(path), command.Name)
			if len(command.Subcommands) > 0 {
				walk(command.Subcommands, line)
				continue
			}
			for i := 0; cmdline.WordNamed(command.ArgsUsage, i) != "" && i < 3; i++ {
				word := "precious"
				if slices.Contains([]string{"NUMBER", "CHILDREN"}, cmdline.WordNamed(command.ArgsUsage, i)) {
					word = "1"
				}
				line = append(line, word)
			}
			lines = append(lines, line)
		}
	}
	walk(Program{}.app().Commands, nil)
	return lines
}

// tenth is every tenth of what there is in a short run, and all of it in a long one.
func tenth[T any](all []T) (some []T) {
	if !testing.Short() {
		return all
	}
	for i := 0; i < len(all); i += 10 {
		some = append(some, all[i])
	}
	return some
}

// filesBelow are the files of a directory and what they hold.
func filesBelow(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	must.Do(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		found[path] = string(text)
		return err
	}))
	return found
}

func TestCompletionReachesNoAction(t *testing.T) {
	s, server := newScript(t, workFiles), newDeaf(t)
	s.env["REDIS_URL"] = server.url
	before := filesBelow(t, s.dir)
	lines := fullLines()
	if len(lines) < 60 {
		t.Fatalf("only %d commands", len(lines))
	}
	for _, words := range tenth(lines) {
		line := "oarlock " + strings.Join(words, " ")
		asks := [][]string{
			{completing, "bash", `"'@><=;|&(:`, line + " --"},
			{completing, "bash", `"'@><=;|&(:`, line + " -- "},
			{completing, "bash", `"'@><=;|&(:`, line + ` -- "hal`},
			{completing, "bash", `"'@><=;|&(:`, line},
			slices.Concat([]string{completing, "words"}, words, []string{"--", ""}),
			slices.Concat([]string{completing, "words"}, words, []string{"--"}),
			slices.Concat(words, []string{earlier}),
			slices.Concat(words, []string{"--", earlier}),
			slices.Concat(words[:1], []string{"--", earlier}),
			slices.Concat([]string{"--"}, words, []string{earlier}),
			slices.Concat(words, []string{"--", "hal", earlier}),
			slices.Concat(words, []string{"--json", earlier}),
		}
		for _, ask := range asks {
			if err := s.oarlock(exitOK, ask); err != nil || s.said["stderr"] != "" {
				t.Errorf("%q: %v %s", ask, err, s.said["stderr"])
			}
		}
	}
	if bad := server.beyondReading(); len(bad) > 0 {
		t.Errorf("Redis was told %q", bad)
	}
	if after := filesBelow(t, s.dir); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("files were %q and are %q", before, after)
	}
}

// TestCompletionOffersWhatMayFollow asks as bash does; the cursor is at the end.
func TestCompletionOffersWhatMayFollow(t *testing.T) {
	s, client := scriptOn(t, workFiles)
	raw := client.Redis()
	for name := range strings.SplitSeq("mail|mailing:list|$(touch pwned)|-rf|a b|m\x1b]0;x\a", "|") {
		raw.ZAdd(t.Context(), "ql:queues", redis.Z{Score: 1, Member: name})
	}
	raw.SAdd(t.Context(), "ql:failures", "crash", "no\nsuch")
	raw.HSet(t.Context(), "ql:oarlock:rules", "version", 1, "at", 1, "doc", `{"entries":{
		"throttles.erp":{"owner":"o","rule":{"limit":1}},"windows.night":{"owner":"o","rule":{"open":["22:00-06:00"]}},
		"klass.Pay":{"owner":"o","rule":{"retries":3}},"klass.Pay*":{"owner":"o","rule":{"retries":3}}}}`)
	raw.HSet(t.Context(), "hworker-progress-pics", "x", "y")
	raw.HSet(t.Context(), "ql:oarlock:broken:outbox", "x", "y")
	raw.HSet(t.Context(), "ql:oarlock:broken:$(touch pwned)", "x", "y")
	raw.LPush(t.Context(), "ql:f:crash", "beef01", "beef02", "`x`")
	for _, put := range []queue.Put{{Queue: "mail", Klass: "K", Key: "k1"}, {Queue: "mail", Klass: "K", Key: "k1"}, {Queue: "mail", Klass: "K", Key: "k2"},
		{Queue: "mail", Klass: "K", Key: "$(touch pwned)"}} {
		must.Get(client.Put(t.Context(), put))(t)
	}
	parkOne(t, client, "pays", "order-1")
	tests := []struct{ line, want string }{
		{"oarlock q", "queue quiet"},
		{"oarlock job can", "cancel"},
		{"oarlock job cancel ", "beef01 beef02"},
		{"oarlock job cancel --", "--config --help --json --log-level --namespace --redis --state-dir --trust-config --version"},
		{"oarlock job cancel x -- ", "beef01 beef02"},
		{"oarlock job cancel x -- --", ""},
		{"oarlock job move beef01 ma", "mail mailing:list"},
		{"oarlock queue pause mailing:l", "list"},
		{`oarlock queue pause "mailing:l`, "mailing:list"},
		{"oarlock put ", "mail mailing:list payments"},
		{"oarlock failed ls --queue mail", "mail mailing:list"},
		{"oarlock failed ls --queue=mail", "mail mailing:list"},
		{"oarlock failed retry ", "crash"},
		{"oarlock throttle set ", "erp"},
		{"oarlock put mail --throttle ", "erp"},
		{"oarlock window next ", "night"},
		{"oarlock put mail --window=", "night"},
		{"oarlock klass show ", "Pay"},
		{"oarlock put mail -k ", "Pay"},
		{"oarlock rules rm ", "klass.Pay throttles.erp windows.night"},
		{"oarlock recur rm ", ""},
		{"oarlock put mail --merge ", "all first last none set"},
		{"oarlock put mail --merge=", "all first last none set"},
		{"oarlock put mail --if-exists ", "final never replace"},
		{"oarlock recur add mail --overlap ", "allow queue-one skip"},
		{"oarlock --log-level ", "debug error info warn"},
		{"oarlock key ls mail --by ", "blocked name"},
		{"oarlock key show mail ", "k1 k2"},
		{"oarlock key show other ", ""},
		{"oarlock park show Pay ", "order-1"},
		{"oarlock respond Pay ", "order-1"},
		{"oarlock respond Other ", ""},
		{"oarlock list show ", "hworker:pics outbox"},
		{"oarlock --config ", ":files"},
		{"oarlock check ", ":files"},
		{"oarlock try python3 ", ":files"},
		{"oarlock completion ", "bash fish zsh"},
		{"oarlock nosuch ", ""},
		{"oarlock job nosuch", ""},
		{"oarlock job cancel --nosuch ", ""},
		{"oarlock --redis redis://127.0.0.1:1 put ", ""},
	}
	offered := func(line string) string {
		if err := s.oarlock(exitOK, []string{completing, "bash", "\"'@><=;|&(:", line}); err != nil {
			t.Error(err)
		}
		var names []string
		for line := range strings.Lines(s.said["stdout"]) {
			name, _, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
			names = append(names, name)
		}
		slices.Sort(names)
		return strings.Join(names, " ")
	}
	for _, tt := range tests {
		got := offered(tt.line)
		for n := 0; n < 10 && got != tt.want; n++ { // a machine that is busy may not find them in the time that a search has
			got = offered(tt.line)
		}
		if got != tt.want {
			t.Errorf("%q: offered %q, want %q", tt.line, got, tt.want)
		}
	}
}

// What is offered for an option that takes nothing else stands in its usage, and no option is left whose words nobody knows.
func TestClosedWordsAreThoseOfTheUsage(t *testing.T) {
	used := map[string]bool{}
	var look func(flags []cli.Flag, commands []*cli.Command)
	look = func(flags []cli.Flag, commands []*cli.Command) {
		for _, flag := range flags {
			usage := flag.(cli.DocGenerationFlag).GetUsage()
			if strings.Contains(usage, "`WORD`") {
				t.Errorf("which words --%s takes nobody says to a shell", flag.Names()[0])
			}
			for word, all := range closedWords {
				if !strings.Contains(usage, "`"+word+"`") {
					continue
				}
				used[word] = true
				for _, each := range all {
					if !strings.Contains(usage, each) {
						t.Errorf("--%s may be %s, and its usage does not say so: %s", flag.Names()[0], each, usage)
					}
				}
			}
		}
		for _, command := range commands {
			look(command.Flags, command.Subcommands)
		}
	}
	app := (&Program{}).app()
	look(app.Flags, app.Commands)
	if len(used) != len(closedWords) {
		t.Errorf("options use %v", used)
	}
}

// TestCompletionWaitsForNobody asks for names of a Redis that accepts and never answers, and
// then of a configuration that has no end.
func TestCompletionWaitsForNobody(t *testing.T) {
	server := redistest.Start(t)
	s := scriptAt(t, server.URL, workFiles)
	server.Pause()
	defer server.Resume()
	fifo := filepath.Join(s.dir, "fifo")
	must.Do(t, syscall.Mkfifo(fifo, 0o600))
	for _, config := range []string{"oarlock.toml", fifo} {
		took := queuePatience + 1
		for n := 0; n < 10 && took > queuePatience; n++ { // the machine may be busy with something else
			begun := time.Now()
			if err := s.oarlock(exitOK, []string{completing, "words", "--config", config, "put", ""}); err != nil || s.said["stdout"] != "" {
				t.Errorf("%v %s", err, s.said["stdout"])
			}
			took = time.Since(begun)
		}
		if took > queuePatience {
			t.Errorf("%s: it took %v", config, took)
		}
	}
	end, err := os.OpenFile(fifo, os.O_WRONLY, 0) // lets the reader that was left behind go
	if err != nil {
		t.Fatal(err)
	}
	end.Close()
}

// queuePatience is far more than a search for names takes, and less than any other bound on an answer.
const queuePatience = 2 * time.Second
