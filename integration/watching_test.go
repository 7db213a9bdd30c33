package integration

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"oarlock/queue"
)

// browser asks a supervisor over HTTP, at its control socket or at another.
type browser struct{ client *http.Client }

// browse asks at the control socket of s.
func (s *supervisor) browse(t testing.TB) browser {
	t.Helper()
	path := filepath.Join(s.rig.stateDir(s.name), fmt.Sprintf("control-%d.sock", s.pid()))
	return browse(t, path)
}

func browse(t testing.TB, socket string) browser {
	transport := &http.Transport{MaxIdleConnsPerHost: 16, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}
	t.Cleanup(transport.CloseIdleConnections)
	return browser{&http.Client{Transport: transport, Timeout: time.Minute}}
}

// get asks for a path; an error is that of the connection.
func (b browser) get(ctx context.Context, path string, headers ...string) (status int, text string, err error) {
	r, err := http.NewRequestWithContext(ctx, "GET", "http://localhost"+path, nil)
	if err != nil {
		return 0, "", err
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w, err := b.client.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer w.Body.Close()
	body, err := io.ReadAll(w.Body)
	return w.StatusCode, string(body), err
}

// says waits until a page says something.
func (b browser) says(t testing.TB, path, what string) {
	t.Helper()
	await(t, func() error {
		if status, text, err := b.get(t.Context(), path, "Accept", "text/html"); err != nil || !regexp.MustCompile(what).MatchString(text) {
			_, main, _ := strings.Cut(text, "<main")
			return fmt.Errorf("%s is %d and does not say %q: %v %.400s", path, status, what, err, main)
		}
		return nil
	})
}

// flood asks for paths without end, some at a time, until stop is called, which tells how many answers there were and how long the
// longest took. Each is to be one of these, whatever happens to Redis.
func (b browser) flood(t testing.TB, abreast int, paths ...string) (stop func() (int, time.Duration)) {
	ctx, cancel := context.WithCancel(t.Context())
	var mu sync.Mutex
	var all sync.WaitGroup
	answers, longest := 0, time.Duration(0)
	for n := range abreast {
		all.Go(func() {
			for i := n; ctx.Err() == nil; i++ {
				began := time.Now()
				status, text, err := b.get(ctx, paths[i%len(paths)], "Accept", "text/html")
				if ctx.Err() != nil {
					return
				}
				mu.Lock()
				answers, longest = answers+1, max(longest, time.Since(began))
				mu.Unlock()
				if err != nil || status != 200 && status != 503 {
					t.Errorf("%s: %d %v %.300s", paths[i%len(paths)], status, err, text)
					return
				}
				last(5 * time.Millisecond)
			}
		})
	}
	return func() (int, time.Duration) {
		cancel()
		all.Wait()
		return answers, longest
	}
}

// Redis goes, stands still, is full and takes no writes while pages and the API are asked for all the time, and one page is watched:
// each says so and is there again, the stream goes on, and the jobs lose nothing by it.
func redisUnderThePages(t *testing.T, r *rig) {
	r.put(t, 2, work{MS: 8000}) // beyond the first renewal
	r.put(t, 20, work{MS: 5})
	a := r.begins(t, pool{}, 22)
	b := a.browse(t)
	paths := []string{"/", "/queues", "/queues/work", "/jobs/" + r.jids[0], "/failures", "/pools/work", "/api/v1/queues", "/api/v1/status", "/api/v1/jobs/" + r.jids[1]}
	for _, path := range paths {
		if status, text, err := b.get(t.Context(), path, "Accept", "text/html"); status != 200 {
			t.Fatalf("%s: %d %v %s", path, status, err, text)
		}
	}
	frames := b.watch(t, "/")
	stop := b.flood(t, 8, paths...)
	for _, trouble := range []struct {
		name       string
		begin, end func()
		page       string // says the overview
		api        int    // answers a question of Redis
	}{
		{"killed", r.redis.Kill, r.redis.Restart, "Redis does not answer now", 503},
		{"silent", r.redis.Pause, r.redis.Resume, "Redis does not answer now", 503},
		{"full", func() { r.set(t, "maxmemory", "1"); r.put1(t) }, func() { r.set(t, "maxmemory", "0") }, "Redis is out of memory", 200},
		{"a replica", func() { r.replicaOf(t, "127.0.0.1", "1") }, func() { r.replicaOf(t, "NO", "ONE") }, "Redis takes no writes", 200},
	} {
		trouble.begin()
		b.says(t, "/", trouble.page)
		if status, text, err := b.get(t.Context(), "/api/v1/queues/work"); status != trouble.api || status == 503 && !strings.Contains(text, `"redis_away"`) {
			t.Errorf("%s: the API answers %d %v %s", trouble.name, status, err, text)
		}
		trouble.end()
		b.says(t, "/", `Work flows`)
		for len(frames) > 0 { // of before
			<-frames
		}
		select {
		case <-frames:
		case <-time.After(time.Minute):
			t.Errorf("%s: the stream is sent nothing any more", trouble.name)
		}
	}
	answers, longest := stop()
	r.note("answers", answers, "longest", longest.Seconds())
	if longest > 20*time.Second {
		t.Errorf("an answer took %v", longest)
	}
	r.settled(t)
	jobs := readJobs(t, r.db, r.jids)
	r.doneFree(t, jobs)
	r.check(t, allowed{})
}

// put1 puts a job that is refused, so that somebody has seen that Redis is full.
func (r *rig) put1(t testing.TB) {
	t.Helper()
	if _, err := r.client.Put(t.Context(), r.describe(t, work{})); err == nil {
		t.Error("a Redis that is full takes a job")
	}
}

func (r *rig) replicaOf(t testing.TB, host, port string) {
	t.Helper()
	must(t, r.db.Do(t.Context(), "REPLICAOF", host, port).Err())
}

// watch watches a page, and passes on that a frame came.
func (b browser) watch(t testing.TB, view string) <-chan struct{} {
	t.Helper()
	ctx, leave := context.WithCancel(t.Context())
	r := got(http.NewRequestWithContext(ctx, "GET", "http://localhost/live?view="+view, nil))(t)
	w, err := (&http.Client{Transport: b.client.Transport}).Do(r)
	if err != nil || w.StatusCode != 200 {
		t.Fatal(w, err)
	}
	frames, gone := make(chan struct{}, 1), make(chan struct{})
	go func() {
		defer close(gone)
		for lines := bufio.NewReader(w.Body); ; {
			line, err := lines.ReadString('\n')
			if err != nil {
				return
			}
			if strings.HasPrefix(line, "data:") {
				select {
				case frames <- struct{}{}:
				default:
				}
			}
		}
	}()
	t.Cleanup(func() { leave(); <-gone; w.Body.Close() })
	return frames
}

// Many supervisors on one Redis are asked by way of one of them; two that stand still are counted, and nobody waits for them. All tell
// the same of the queues.
func manySupervisors(t *testing.T, r *rig) {
	for i := range 30 {
		got(r.client.Put(t.Context(), queue.Put{Queue: fmt.Sprintf("orders-%d", i%7), Klass: "K"}))(t)
	}
	n := 20
	all := make([]*supervisor, n)
	for i := range all {
		name := fmt.Sprintf("s%02d", i)
		all[i] = r.start(t, name, pool{mode: "once", children: 1, top: fmt.Sprintf("name = %q", name)})
	}
	b := all[0].browse(t)
	type roll struct {
		Asked, Answered, Missing int
		Silent                   []string
	}
	called := func(answered int) (got roll, took time.Duration) {
		await(t, func() error {
			began := time.Now()
			_, text, err := b.get(t.Context(), "/api/v1/supervisors")
			took = time.Since(began)
			if err == nil {
				got = roll{}
				err = json.Unmarshal([]byte(text), &got)
			}
			if err != nil || got.Asked != n || got.Answered != answered {
				return fmt.Errorf("the roll is %+v, %v", got, err)
			}
			return nil
		})
		return got, took
	}
	called(n)
	for _, s := range all[n-2:] {
		s.signal(t, syscall.SIGSTOP)
	}
	got, took := called(n - 2)
	for _, s := range all[n-2:] {
		s.signal(t, syscall.SIGCONT)
	}
	if got.Missing != 2 || !slices.Equal(got.Silent, []string{all[n-2].name, all[n-1].name}) {
		t.Errorf("of two that stand still it says %+v", got)
	}
	r.note("roll_s", took.Seconds())
	var first map[string]string
	for _, s := range all {
		_, text, err := s.browse(t).get(t.Context(), "/metrics/queues")
		must(t, err)
		told := samplesOf(text)
		if len(told) < 7*4 {
			t.Errorf("%s tells %d samples", s.name, len(told))
		}
		if first == nil {
			first = told
		} else if !maps.Equal(first, told) {
			t.Errorf("%s tells %v, and %s %v", all[0].name, first, s.name, told)
		}
	}
}

// samplesOf are the samples of a scrape but for those that are ages, by what stands before the value.
func samplesOf(text string) map[string]string {
	told := map[string]string{}
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if name != "" && name != "#" && !strings.HasPrefix(name, "oarlock_queue_lag_") && !strings.HasPrefix(name, "oarlock_queue_census_age_") {
			told[name] = value
		}
	}
	return told
}

// Very many who send slowly, do not read, or send far too much, keep a viewer from nothing and jobs from nothing, and what they used is
// given back.
func slowAndHugeClients(t *testing.T, r *rig) {
	socket := filepath.Join(r.dir, "web.sock")
	a := r.start(t, "a", pool{top: fmt.Sprintf("[web]\nlisten = %q\nauth = \"none\"", "unix:"+socket)})
	a.said(t, "answering over HTTP")
	b := browse(t, socket)
	r.put(t, 20, work{MS: 5})
	r.settled(t)
	before, quiet := a.footprint(t), b.slowest(t)
	var held []net.Conn
	for i := range scaled(200, 2000) {
		conn := got(net.Dial("unix", socket))(t)
		held = append(held, conn)
		begins := []string{
			"GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow: ",
			"POST /api/v1/queues/work/jobs HTTP/1.1\r\nHost: localhost\r\nX-Oarlock: 1\r\nContent-Length: 30000\r\n\r\n{",
			"GET /live?view=/ HTTP/1.1\r\nHost: localhost\r\n\r\n",
			strings.Repeat("GET /pools/work HTTP/1.1\r\nHost: localhost\r\n\r\n", 40), // more than a socket holds of answers
		}[i%4]
		got(io.WriteString(conn, begins))(t)
	}
	for range 4 {
		answer, err := b.client.Do(newPut(t, bytes.Repeat([]byte(" "), 33<<20)))
		if err != nil || answer.StatusCode != http.StatusRequestEntityTooLarge {
			t.Errorf("33 MiB: %v %v", answer, err)
		} else {
			answer.Body.Close()
		}
	}
	r.put(t, 20, work{MS: 5})
	r.settled(t)
	busy, with := b.slowest(t), a.footprint(t)
	r.note("viewer_ms", fmt.Sprintf("%.0f→%.0f", quiet.Seconds()*1e3, busy.Seconds()*1e3))
	r.note("mib", fmt.Sprintf("%d→%d", before.resident>>20, with.resident>>20))
	if grown := int(with.resident-before.resident) >> 20; grown > scaled(200, 300) { // a page for each that does not read
		t.Errorf("the supervisor has %d MiB more", grown)
	}
	for _, conn := range held {
		conn.Close()
	}
	b.client.CloseIdleConnections()
	await(t, func() error {
		if after := a.footprint(t); after.descriptors > before.descriptors+10 || after.goroutines > before.goroutines+10 {
			return fmt.Errorf("the supervisor has %+v, and had %+v", after, before)
		}
		return nil
	})
	jobs := readJobs(t, r.db, r.jids)
	r.doneFree(t, jobs)
	r.check(t, allowed{})
}

// slowest is how long the slowest of some pages takes.
func (b browser) slowest(t testing.TB) (longest time.Duration) {
	t.Helper()
	for _, path := range []string{"/", "/queues/work", "/pools/work", "/api/v1/queues", "/api/v1/status"} {
		began := time.Now()
		if status, text, err := b.get(t.Context(), path); status != 200 {
			t.Errorf("%s: %d %v %.300s", path, status, err, text)
		}
		longest = max(longest, time.Since(began))
	}
	return longest
}

// newPut is a request that puts what body says.
func newPut(t testing.TB, body []byte) *http.Request {
	t.Helper()
	r := got(http.NewRequestWithContext(t.Context(), "POST", "http://localhost/api/v1/queues/work/jobs", bytes.NewReader(body)))(t)
	r.Header.Set("X-Oarlock", "1")
	return r
}

// The screen of top goes on while Redis stands still, says so, and says so no more when it is back; then it gives the terminal back.
func TestTopWhileRedisIsAway(t *testing.T) {
	t.Parallel()
	long(t, "it waits for an outage")
	r := newRig(t, 1, rigOptions{lock: 20 * time.Second})
	a, _ := r.idle(t, pool{})
	ours, theirs, err := pty.Open()
	must(t, err)
	must(t, pty.Setsize(ours, &pty.Winsize{Rows: 24, Cols: 120}))
	top := exec.Command(oarlock(t), "top", "-c", a.config)
	top.Env, top.Dir = append(os.Environ(), "TERM=xterm-256color", r.mark), r.dir
	top.Stdin, top.Stdout, top.Stderr = theirs, theirs, theirs
	top.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	must(t, top.Start())
	theirs.Close()
	var mu sync.Mutex
	var screen bytes.Buffer
	gone := make(chan struct{})
	go func() { // until the terminal is closed, with the last who has it
		defer close(gone)
		buffer := make([]byte, 4096)
		for {
			n, err := ours.Read(buffer)
			mu.Lock()
			screen.Write(buffer[:n])
			mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() { top.Process.Kill(); top.Wait(); ours.Close(); <-gone })
	shows := func(words string) { // from now on
		t.Helper()
		mu.Lock()
		screen.Reset()
		mu.Unlock()
		await(t, func() error {
			mu.Lock()
			defer mu.Unlock()
			if !strings.Contains(screen.String(), words) {
				return fmt.Errorf("no %q on the screen: %q", words, screen.String())
			}
			return nil
		})
	}
	shows("work")
	r.redis.Pause()
	shows("away")
	r.redis.Resume()
	shows("ready")
	got(io.WriteString(ours, "q"))(t)
	if err := top.Wait(); err != nil {
		t.Errorf("it ends with %v", err)
	}
	<-gone // what it wrote last is read
	if !strings.Contains(screen.String(), "\x1b[?1049l") || !strings.Contains(screen.String(), "\x1b[?25h") {
		t.Errorf("it does not give the terminal back: %q", screen.String())
	}
}
