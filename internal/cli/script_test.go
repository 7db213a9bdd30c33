package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"oarlock/internal/embedded"
	"oarlock/internal/must"
	"oarlock/internal/redistest"
	"oarlock/queue"
	"oarlock/runner"
)

// asProgram is the variable that makes the test's binary behave as oarlock.
const asProgram = "OARLOCK_CLI_TEST"

// TestMain lets tests run the command line as a process of its own, and children too.
func TestMain(m *testing.M) {
	runner.Hidden(os.Args)
	if os.Getenv(asProgram) == "" {
		os.Exit(m.Run())
	}
	os.Exit(testProgram(os.Stdin, os.Stdout, os.Stderr).Main(context.Background(), append([]string{"oarlock"}, os.Args[1:]...)))
}

func testProgram(in io.Reader, out, errs io.Writer) Program {
	example, err := os.ReadFile(os.Getenv("EXAMPLE"))
	if err != nil {
		panic(err)
	}
	return Program{Version: "v1.2.3", Example: string(example), In: in, Out: out, Err: errs}
}

// TestScripts runs each file of testdata. A file is lines of commands, then files for
// the script's directory, each after a line "-- NAME --". Words are split at blanks;
// single quotes keep them together, two in a row are one. $NAME is the environment's,
// outside of quotes. Each script has a Redis of its own in REDIS_URL. The commands:
//
//	oarlock ARGUMENT…        must exit with 0
//	exits CODE ARGUMENT…     oarlock must exit with CODE
//	stdout REGEXP            what the last oarlock printed must match, line by line
//	stderr REGEXP
//	! stdout REGEXP          and must not
//	same FILE FILE           both are equal; stdout and stderr may be named, too
//	stdin FILE               what the next oarlock reads
//	rm FILE
//
// A file that begins with "# Long: WHY" belongs to the long run.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.script")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".script"), func(t *testing.T) {
			text := must.Get(os.ReadFile(file))(t)
			if testing.Short() && bytes.HasPrefix(text, []byte("# Long: ")) {
				t.Skip("long: " + string(text[len("# Long: "):bytes.IndexByte(text, '\n')]))
			}
			newScript(t, string(text)).run(t, file)
		})
	}
}

var (
	// home is the directory of the package, and example the configuration in the repository.
	home, _ = os.Getwd()
	example = filepath.Join(home, "../../config.example.toml")
	// stage is held by the command line that runs in this process, which has one environment and one working directory.
	stage sync.Mutex
)

// main runs the command line in this process, in the environment and the directory of s, and gives its exit code.
func (s *script) main(ctx context.Context, in io.Reader, out, errs io.Writer, args ...string) int {
	stage.Lock()
	defer stage.Unlock()
	for name, value := range s.env {
		if before, was := os.LookupEnv(name); was {
			defer os.Setenv(name, before)
		} else {
			defer os.Unsetenv(name)
		}
		os.Setenv(name, value)
	}
	defer os.Chdir(home)
	if err := os.Chdir(s.dir); err != nil {
		s.t.Error(err)
	}
	return testProgram(in, out, errs).Main(ctx, append([]string{"oarlock"}, args...))
}

// script is one run of a file.
type script struct {
	t     *testing.T
	lines []string
	env   map[string]string
	dir   string
	stdin string // of the next oarlock
	said  map[string]string
}

var fileMark = regexp.MustCompile(`(?m)^-- (.+) --\n`)

// newScript writes the files of text into a directory of their own, with an embedded Redis. The test runs beside others.
func newScript(t *testing.T, text string) *script {
	t.Helper()
	server := must.Get(embedded.Start(""))(t)
	t.Cleanup(server.Close)
	return scriptAt(t, server.URL(), text)
}

// scriptOn is a script with a database of a real Redis, and a client of it.
func scriptOn(t *testing.T, text string) (*script, *queue.Client) {
	t.Helper()
	url := redistest.Shared(t).URL
	return scriptAt(t, url, text), openAt(t, url)
}

// openAt opens a client that has time.
func openAt(t *testing.T, url string) *queue.Client {
	t.Helper()
	c := must.Get(queue.Open(t.Context(), queue.Options{URL: url, ReadTimeout: patience}))(t)
	t.Cleanup(func() { c.Close() })
	return c
}

// scriptAt is a script with the Redis at url.
func scriptAt(t *testing.T, url, text string) *script {
	t.Helper()
	t.Parallel()
	s := &script{t: t, dir: t.TempDir(), said: map[string]string{}}
	s.env = map[string]string{
		"REDIS_URL": url, "EXAMPLE": example, "PATH": os.Getenv("PATH"), "HOME": s.dir, "XDG_STATE_HOME": s.dir + "/state",
	}
	marks := fileMark.FindAllStringSubmatchIndex(text, -1)
	for i, mark := range marks {
		end := len(text)
		if i+1 < len(marks) {
			end = marks[i+1][0]
		}
		must.Do(t, os.WriteFile(filepath.Join(s.dir, text[mark[2]:mark[3]]), []byte(text[mark[1]:end]), 0o644))
	}
	if len(marks) > 0 {
		text = text[:marks[0][0]]
	}
	s.lines = strings.Split(text, "\n")
	return s
}

func (s *script) run(t *testing.T, file string) {
	for i, line := range s.lines {
		if strings.TrimSpace(line) == "" || line[0] == '#' {
			continue
		}
		if err := s.command(s.words(line)); err != nil {
			t.Fatalf("%s:%d: %s\n%v\nstdout:\n%s\nstderr:\n%s", file, i+1, line, err, s.said["stdout"], s.said["stderr"])
		}
	}
}

func (s *script) command(words []string) error {
	negated := words[0] == "!"
	if negated {
		words = words[1:]
	}
	switch words[0] {
	case "oarlock":
		return s.oarlock(0, words[1:])
	case "exits":
		code, err := strconv.Atoi(words[1])
		return errors.Join(err, s.oarlock(code, words[2:]))
	case "stdout", "stderr":
		matches, err := regexp.MatchString("(?m)"+words[1], s.said[words[0]])
		if err == nil && matches == negated {
			err = errors.New("not so")
		}
		return err
	case "same":
		if a, b := s.text(words[1]), s.text(words[2]); a != b {
			return fmt.Errorf("%s differs from %s:\n%s", words[1], words[2], b)
		}
		return nil
	case "stdin":
		s.stdin = s.text(words[1])
		return nil
	case "rm":
		return os.Remove(filepath.Join(s.dir, words[1]))
	}
	return fmt.Errorf("no such command of scripts: %s", words[0])
}

// oarlock runs the command line in this process, which must give that exit code.
func (s *script) oarlock(want int, args []string) error {
	if code := s.anyCode(args); code != want {
		return fmt.Errorf("exit code %d, want %d", code, want)
	}
	return nil
}

// anyCode runs the command line in this process and gives its exit code.
func (s *script) anyCode(args []string) int {
	var stdout, stderr bytes.Buffer
	in := strings.NewReader(s.stdin)
	s.stdin = ""
	code := s.main(s.t.Context(), in, &stdout, &stderr, args...)
	s.said["stdout"], s.said["stderr"] = stdout.String(), stderr.String()
	return code
}

// text is what the last oarlock printed, or else the content of a file.
func (s *script) text(name string) string {
	if text, ok := s.said[name]; ok {
		return text
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(s.dir, name)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// words splits a line.
func (s *script) words(line string) []string {
	var words []string
	var word strings.Builder
	inWord, quoted := false, false
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case c == '\'' && quoted && i+1 < len(line) && line[i+1] == '\'':
			word.WriteByte(c)
			i++
		case c == '\'':
			quoted, inWord = !quoted, true
		case c == ' ' && !quoted:
			if inWord {
				words = append(words, word.String())
			}
			word.Reset()
			inWord = false
		case c == '$' && !quoted:
			end := i + 1
			for end < len(line) && (line[end] == '_' || line[end] >= 'A' && line[end] <= 'Z') {
				end++
			}
			word.WriteString(s.env[line[i+1:end]])
			i, inWord = end-1, true
		default:
			word.WriteByte(c)
			inWord = true
		}
	}
	if inWord {
		words = append(words, word.String())
	}
	return words
}
