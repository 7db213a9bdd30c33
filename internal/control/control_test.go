package control

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"oarlock/internal/must"
)

// fake notes what was asked of it.
type fake struct {
	mu    sync.Mutex
	asked []string
}

func (f *fake) note(what string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, what)
}

func (f *fake) Status() any { return map[string]int{"pools": 2} }
func (f *fake) Asked(verb string, by Peer) {
	if by.PID != os.Getpid() || by.UID != os.Geteuid() {
		verb += fmt.Sprintf(" by somebody else, %+v", by)
	}
	f.note("asked to " + verb)
}
func (f *fake) Quiet()      { f.note("quiet") }
func (f *fake) Resume()     { f.note("resume") }
func (f *fake) Drain()      { f.note("drain") }
func (f *fake) Stop()       { f.note("stop") }
func (f *fake) Reload() any { return map[string]string{"refused": "c.toml:3: pools.mail.mode: no"} }
func (f *fake) Scale(pool string, n int) error {
	f.note(fmt.Sprintf("scale %s %d", pool, n))
	return nil
}
func (f *fake) Recycle(pool string) error { f.note("recycle " + pool); return nil }
func (f *fake) Output(_ context.Context, jid string, attempt int, run string) (any, error) {
	if jid == "" {
		return nil, errors.New("nothing is kept")
	}
	return fmt.Sprintf("%s %d %s", jid, attempt, run), nil
}

// serve runs a socket for f in dir until the test ends.
func serve(t *testing.T, dir string, f *fake) (path string) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ready, done := make(chan string, 1), make(chan error, 1)
	go func() { done <- Serve(ctx, dir, f, Options{Ready: func(path string) { ready <- path }}) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the socket is still there: %v", err)
		}
	})
	select {
	case path = <-ready:
	case err := <-done:
		done <- err
		t.Fatal(err)
	}
	return path
}

func TestEveryVerbArrives(t *testing.T) {
	dir, f := t.TempDir(), &fake{}
	path := serve(t, dir, f)
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode of the socket: %v, %v", info.Mode(), err)
	}
	c := must.Get(Find(t.Context(), dir, ""))(t)
	for _, verb := range []string{"quiet", "resume", "drain", "stop"} {
		if err := c.Do(t.Context(), verb); err != nil {
			t.Errorf("%s: %v", verb, err)
		}
	}
	if err := errors.Join(c.Scale(t.Context(), "mail", 7), c.Recycle(t.Context(), "web")); err != nil {
		t.Error(err)
	}
	if got, want := strings.Join(f.asked, ", "), "asked to quiet, quiet, asked to resume, resume, asked to drain, drain, asked to stop, stop, asked to scale, scale mail 7, asked to recycle, recycle web"; got != want {
		t.Errorf("asked %s; want %s", got, want)
	}
	var status struct{ Pools int }
	if err := c.Status(t.Context(), &status); err != nil || status.Pools != 2 {
		t.Errorf("status %+v, %v", status, err)
	}
	var done struct{ Refused string }
	if err := c.Reload(t.Context(), &done); err != nil || done.Refused != "c.toml:3: pools.mail.mode: no" {
		t.Errorf("a refused reload says %+v, %v", done, err)
	}
	var printed string
	if err := c.Output(t.Context(), "a/../\x00\xff b&attempt=9", 3, "r&run=1", &printed); err != nil || printed != "a/../\x00\ufffd b&attempt=9 3 r&run=1" {
		t.Errorf("output %q, %v", printed, err)
	}
	if err := c.Output(t.Context(), "", 0, "", &printed); err == nil || err.Error() != "nothing is kept" {
		t.Errorf("a refused output says %v", err)
	}
	if err := c.Do(t.Context(), "sing"); err == nil {
		t.Error("an unknown verb was taken")
	}
}

func TestFind(t *testing.T) {
	dir := t.TempDir()
	if _, err := Find(t.Context(), dir, ""); !errors.Is(err, ErrNone) {
		t.Errorf("nobody is there: %v", err)
	}
	left := filepath.Join(dir, "control-99999999.sock") // of a supervisor that was killed
	dead := must.Get(net.Listen("unix", left))(t)
	dead.(*net.UnixListener).SetUnlinkOnClose(false)
	dead.Close()
	if _, err := Find(t.Context(), dir, ""); !errors.Is(err, ErrNone) {
		t.Errorf("only a dead socket is there: %v", err)
	}
	serve(t, dir, &fake{})
	if c, err := Find(t.Context(), dir, ""); err != nil || c.PID != fmt.Sprint(os.Getpid()) {
		t.Errorf("one is there: %v", err)
	}

	second := must.Get(net.Listen("unix", filepath.Join(dir, "control-1.sock")))(t)
	defer second.Close()
	if _, err := Find(t.Context(), dir, ""); err == nil || !strings.Contains(err.Error(), "--pid 1 or --pid ") {
		t.Errorf("two are there: %v", err)
	}
	if c, err := Find(t.Context(), dir, "1"); err != nil || c.PID != "1" {
		t.Errorf("the one that was named: %v", err)
	}
}

// TestASlowAnswerIsAnnounced: after two seconds without an answer each question says what it waits for, and for how long; an answer in time says nothing.
func TestASlowAnswerIsAnnounced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	var said []string
	c := newClient("17", path, nil)
	c.Waits = func(sentence string) { said = append(said, sentence) }
	var ctx context.Context
	var cancel context.CancelFunc = func() {}
	c.after = func(d time.Duration, f func()) func() bool { // so long passes at once
		if d != 2*time.Second {
			t.Errorf("it says so after %v", d)
		}
		f()
		cancel()
		return func() bool { return false }
	}
	for _, ask := range []func() error{
		func() error { return c.Status(ctx, new(any)) }, func() error { return c.Reload(ctx, new(any)) }, func() error { return c.Do(ctx, "quiet") },
		func() error { return c.Page(ctx, "metrics", io.Discard) }, func() error { return c.Scale(ctx, "mail", 3) },
	} {
		ctx, cancel = context.WithCancel(t.Context())
		if ask() == nil {
			t.Error("nobody answered")
		}
		cancel()
		if len(said) != 1 || !strings.HasPrefix(said[0], "Supervisor 17 has not answered for 2s; waiting up to ") || !strings.Contains(said[0], "kill -CONT 17") {
			t.Errorf("it says %q", said)
		}
		said = nil
	}
	stopped := 0
	c = newClient("17", serve(t, t.TempDir(), &fake{}), nil)
	c.Waits = func(sentence string) { t.Error(sentence) }
	c.after = func(time.Duration, func()) func() bool { return func() bool { stopped++; return true } }
	if err := c.Do(t.Context(), "quiet"); err != nil || stopped != 1 {
		t.Errorf("%v; it would say so %d times less", err, stopped)
	}
}

// A supervisor removes the sockets of those that were killed, and of nobody else.
// TestASupervisorThatDoesNotAnswer: of one that somebody has stopped is said what to do, in the words of people.
func TestASupervisorThatDoesNotAnswer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", path) // who is stopped has the kernel accept for it
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	c := newClient("17", path, nil)
	c.http.Timeout = 50 * time.Millisecond
	for _, err := range []error{c.Status(t.Context(), new(any)), c.Reload(t.Context(), new(any)), c.Page(t.Context(), "metrics", io.Discard)} {
		if err == nil || !strings.Contains(err.Error(), "`kill -CONT 17` lets it go on") || strings.Contains(err.Error(), "http") {
			t.Errorf("it says: %v", err)
		}
	}
}

func TestSocketsOfTheDeadGo(t *testing.T) {
	dir := t.TempDir()
	leave := func(name string) string {
		path := filepath.Join(dir, name)
		l := must.Get(net.Listen("unix", path))(t)
		l.(*net.UnixListener).SetUnlinkOnClose(false)
		l.Close()
		return path
	}
	gone := []string{leave("control-1.sock"), leave("control-99999999.sock"), leave("control-x.sock")} // 1 is a process, and not that
	stay := []string{leave("other.sock"), filepath.Join(dir, "control-2.sock"), filepath.Join(dir, "control-3.sock"), filepath.Join(dir, "control-4.sock")}
	live := must.Get(net.Listen("unix", stay[1]))(t)
	defer live.Close()
	must.Do(t, errors.Join(os.WriteFile(stay[2], nil, 0o600), os.Symlink(stay[0], stay[3])))
	if os.Geteuid() == 0 {
		stay = append(stay, leave("control-5.sock"))
		must.Do(t, os.Chown(stay[4], 54321, 54321))
	}
	serve(t, dir, &fake{})
	for _, path := range gone {
		if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: %v", path, err)
		}
	}
	for _, path := range stay {
		if _, err := os.Lstat(path); err != nil {
			t.Error(err)
		}
	}
}

// Two supervisors in two containers may have the same number and the same directory: the
// second does not take the socket of the first, which answers.
func TestALiveSocketIsNotTaken(t *testing.T) {
	dir := t.TempDir()
	path := Path(dir, fmt.Sprint(os.Getpid()))
	first := must.Get(net.Listen("unix", path))(t)
	if err := Serve(t.Context(), dir, &fake{}, Options{}); err == nil || !strings.Contains(err.Error(), "another supervisor") {
		t.Errorf("Serve() = %v", err)
	}
	if _, err := net.Dial("unix", path); err != nil {
		t.Errorf("the first does not answer: %v", err)
	}
	first.(*net.UnixListener).SetUnlinkOnClose(false) // it is killed
	first.Close()
	serve(t, dir, &fake{})
}

// Where somebody empties the state directory, the socket is made anew, and that is said once.
func TestARemovedSocketIsMadeAnew(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	said := make(chan string, 10)
	ctx, cancel := context.WithCancel(t.Context())
	ready, done := make(chan string, 1), make(chan error, 1)
	beside := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, r.URL.Path, " asked by ", PeerOf(r.Context()).PID)
	})
	go func() {
		done <- Serve(ctx, dir, &fake{}, Options{
			Beside: beside, Ready: func(path string) { ready <- path }, Log: slog.New(slog.NewTextHandler(lines(said), nil)),
		})
	}()
	path := <-ready
	must.Do(t, os.RemoveAll(dir))
	if line := <-said; !strings.Contains(line, "level=WARN") || !strings.Contains(line, path) {
		t.Errorf("the log says %s", line)
	}
	client := must.Get(Find(t.Context(), dir, ""))(t)
	if err := client.Do(t.Context(), "quiet"); err != nil {
		t.Error(err)
	}
	answer := must.Get(client.http.Get("http://oarlock/api/v1/"))(t)
	defer answer.Body.Close()
	if text, _ := io.ReadAll(answer.Body); string(text) != fmt.Sprint("/api/v1/ asked by ", os.Getpid()) {
		t.Errorf("beside the verbs somebody answers %q", text)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if len(said) > 0 {
		t.Errorf("the log says more: %s", <-said)
	}
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket is still there: %v", err)
	}
}

// lines hands on each write.
type lines chan string

func (l lines) Write(text []byte) (int, error) { l <- string(text); return len(text), nil }

func TestALongStateDirectoryHasASocketElsewhere(t *testing.T) {
	dir := filepath.Join(t.TempDir(), strings.Repeat("long", 30))
	path := serve(t, dir, &fake{})
	if len(path) > maxPath || !strings.HasPrefix(path, os.TempDir()) {
		t.Errorf("the socket is %s", path)
	}
	if _, err := Find(t.Context(), dir, ""); err != nil {
		t.Error(err)
	}
}

// A supervisor whose state directory is another one is named, and found by its process id.
func TestFindElsewhere(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	serve(t, dir, &fake{})
	pid := fmt.Sprint(os.Getpid())
	_, err := Find(t.Context(), other, "")
	if !errors.Is(err, ErrNone) || !strings.Contains(err.Error(), "one runs with /") {
		t.Errorf("err = %v", err)
	}
	if ours := "one runs with " + dir + "; if that is the one, because state_dir was changed since it started: --pid " + pid; err != nil &&
		!strings.Contains(err.Error(), ours) && !strings.Contains(err.Error(), " more") { // some of many are named, and others may run on this machine
		t.Errorf("err = %v, want %s", err, ours)
	}
	c, err := Find(t.Context(), other, pid)
	if err != nil || c.PID != pid {
		t.Fatalf("found %+v, %v", c, err)
	}
	if err := c.Do(t.Context(), "quiet"); err != nil {
		t.Error(err)
	}
	if _, err := Find(t.Context(), other, "1"); !errors.Is(err, ErrNone) {
		t.Errorf("err = %v", err)
	}
}

// Where many run elsewhere, some are named, and the others counted.
func TestOthersAreBounded(t *testing.T) {
	others := map[string]string{}
	for i := range 10 {
		others[fmt.Sprint(100+i)] = fmt.Sprintf("/run/%d/oarlock.sock", i)
	}
	err := noneError("/var/lib/oarlock", "", others)
	if text := err.Error(); !errors.Is(err, ErrNone) || strings.Count(text, "one runs with") != 3 || !strings.Contains(text, "--pid 109\n") || !strings.HasSuffix(text, "\nand 7 more") {
		t.Errorf("it says %s", text)
	}
	delete(others, "100")
	for i := range 6 {
		delete(others, fmt.Sprint(101+i))
	}
	if text := noneError("/var/lib/oarlock", "", others).Error(); strings.Count(text, "one runs with") != 3 || strings.Contains(text, "more") {
		t.Errorf("of three it says %s", text)
	}
}

// A supervisor in a container of its own goes by another id there: its end is that of whoever listens, and not that of the process that has
// the id here.
func TestEndIsThatOfWhoListens(t *testing.T) {
	if dir := os.Getenv("LISTEN_AS_ONE"); dir != "" {
		listener := must.Get(net.Listen("unix", Path(dir, "1")))(t)
		fmt.Println("listens")
		io.Copy(io.Discard, os.Stdin)
		listener.(*net.UnixListener).SetUnlinkOnClose(false) // as one that is killed leaves it
		os.Exit(0)
	}
	dir := t.TempDir()
	child := exec.Command(os.Args[0], "-test.run", "^"+t.Name()+"$")
	child.Env = append(os.Environ(), "LISTEN_AS_ONE="+dir)
	hold := must.Get(child.StdinPipe())(t)
	says := must.Get(child.StdoutPipe())(t)
	must.Do(t, child.Start())
	defer child.Process.Kill()
	if line, err := bufio.NewReader(says).ReadString('\n'); line != "listens\n" {
		t.Fatal(line, err)
	}
	client := must.Get(Find(t.Context(), dir, "1"))(t)
	end := must.Get(client.End(t.Context()))(t)
	defer end.Close()
	unseen := End{fd: -1, listen: end.listen} // as from within another container
	for _, e := range []End{end, unseen} {
		if gone, err := e.Await(t.Context(), time.Millisecond); gone || err != nil {
			t.Fatal("it is told gone while it listens", err)
		}
	}
	hold.Close()
	for _, e := range []End{end, unseen} {
		if gone, err := e.Await(t.Context(), time.Minute); !gone || err != nil {
			t.Error("its end was missed", err)
		}
	}
	child.Wait()
}
