package integration

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"oarlock/queue"
)

// traced is the configuration of a supervisor whose jobs of the first queue fail once, and then put one into the second;
// all write down what they were told.
const traced = `
[redis]
url = %[1]q
[supervisor]
state_dir = %[2]q
poll_interval = "200ms"
[log]
format = "json"
[pools.first]
queues = ["first"]
next_queues = ["second"]
command = ["sh", "-c", 'echo "$OARLOCK_QUEUE $TRACEPARENT $TRACESTATE" >>%[3]s; [ "$OARLOCK_ATTEMPT" = 2 ] || exit 1; echo "{\"@\":\"put\",\"run\":\"$OARLOCK_RUN\",\"queue\":\"second\",\"jid\":\"child\",\"data\":{}}"']
[pools.first.retry]
delay = "1ms"
[pools.second]
queues = ["second"]
trace_path = "$.meta.traceparent"
command = ["sh", "-c", 'echo "$OARLOCK_QUEUE $TRACEPARENT $TRACESTATE" >>%[3]s']
`

// span is what a collector is told of an attempt, as far as it is looked at here.
type span struct {
	TraceID, SpanID, ParentSpanID, Name string
	Links                               []struct{ TraceID, SpanID string }
	Status                              struct{ Code int }
}

// collector takes spans, and can be killed and started again.
type collector struct {
	address string
	server  *http.Server
	mu      sync.Mutex
	spans   []span
}

// start serves, at the address that it had before.
func (c *collector) start(t *testing.T) {
	t.Helper()
	listener := got(net.Listen("tcp", max(c.address, "127.0.0.1:0")))(t)
	c.address = listener.Addr().String()
	c.server = &http.Server{Handler: http.HandlerFunc(c.take)}
	go c.server.Serve(listener) // until it is closed
}

func (c *collector) take(_ http.ResponseWriter, r *http.Request) {
	var body struct {
		ResourceSpans []struct{ ScopeSpans []struct{ Spans []span } }
	}
	text, _ := io.ReadAll(r.Body)
	_ = json.Unmarshal(text, &body)
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, of := range body.ResourceSpans {
		for _, scope := range of.ScopeSpans {
			c.spans = append(c.spans, scope.Spans...)
		}
	}
}

// exporter builds the program that exports, and runs it until the test ends; it listens when this returns.
func exporter(t *testing.T, s *supervisor, c *collector) {
	t.Helper()
	program := filepath.Join(s.rig.dir, "otlp")
	build := exec.Command("go", "build", "-o", program, ".")
	build.Dir = "../contrib/otlp"
	ran(t, build)
	cmd := exec.Command(program, "-socket", filepath.Join(s.rig.stateDir(s.name), "control-*.sock"), "-endpoint", "http://"+c.address+"/v1/traces")
	cmd.Stderr = os.Stderr
	must(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			t.Errorf("the exporter ends with %v", err)
		}
	})
	await(t, func() error {
		if text := s.control(t, "metrics"); !strings.Contains(text, "oarlock_web_streams 1") {
			return fmt.Errorf("it does not listen")
		}
		return nil
	})
}

// A trace goes from a request of the API by the attempts of its job, each a span of its own that its producer is linked to, to
// what a child puts; an exporter tells a collector each attempt once, though that was killed meanwhile. A client that knows nothing of traces has its jobs
// within the one that their data names, and a job without any has none.
func TestATraceFromTheAPIToWhatAChildPuts(t *testing.T) {
	t.Parallel()
	const trace, caller = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
	r := newRig(t, 1, rigOptions{})
	told := filepath.Join(r.dir, "told")
	s := r.startConfig(t, "a", fmt.Sprintf(traced, r.url, r.stateDir("a"), told))
	s.said(t, `"msg":"ready"`)
	c := &collector{}
	c.start(t)
	t.Cleanup(func() { c.server.Close() })
	exporter(t, s, c)
	c.server.Close()

	sockets, _ := filepath.Glob(filepath.Join(r.stateDir("a"), "control-*.sock"))
	client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", sockets[0])
	}}}
	put := got(http.NewRequest("PUT", "http://oarlock/api/v1/jobs/order-17", strings.NewReader(`{"queue":"first"}`)))(t)
	put.Header.Set("traceparent", "00-"+trace+"-"+caller+"-01")
	put.Header.Set("tracestate", "vendor=1")
	answer, err := client.Do(put)
	if err != nil || answer.StatusCode != http.StatusCreated {
		t.Fatal(answer, err)
	}
	answer.Body.Close()
	client.CloseIdleConnections()
	complete := func(jid string) func() error {
		return func() error {
			if job, err := r.client.Get(t.Context(), jid); err != nil || job.State != "complete" {
				return fmt.Errorf("%s is not complete: %w", jid, err)
			}
			return nil
		}
	}
	await(t, complete("child"))
	named, none := "00-"+strings.Repeat("a", 32)+"-"+caller+"-01", "none"
	r.putAll(t, []queue.Put{
		{Queue: "second", JID: "named", Klass: "K", Data: fmt.Appendf(nil, `{"meta": {"traceparent": %q}}`, named)}, {Queue: "second", JID: none, Klass: "K"},
	})
	await(t, complete("named"))
	await(t, complete(none))

	c.start(t)
	var spans []span
	await(t, func() error {
		c.mu.Lock()
		defer c.mu.Unlock()
		if spans = slices.Clone(c.spans); len(spans) < 4 {
			return fmt.Errorf("%d spans", len(spans))
		}
		return nil
	})
	if len(spans) != 4 {
		t.Fatalf("%d spans for four attempts that are traced: %+v", len(spans), spans)
	}
	for i, want := range []struct {
		trace, parent, name string
		code                int
	}{
		{trace, caller, "process first", 2}, {trace, caller, "process first", 0}, {trace, spans[1].SpanID, "process second", 0},
		{strings.Repeat("a", 32), caller, "process second", 0},
	} {
		got := spans[i]
		if got.TraceID != want.trace || got.ParentSpanID != want.parent || got.Name != want.name || got.Status.Code != want.code ||
			len(got.Links) != 1 || got.Links[0].SpanID != want.parent || got.Links[0].TraceID != want.trace {
			t.Errorf("span %d is %+v, want %+v", i, got, want)
		}
	}
	wrote := got(os.ReadFile(told))(t)
	want := ""
	for i, queue := range []string{"first", "first", "second", "second"} {
		state := " vendor=1"
		if i == 3 {
			state = " "
		}
		want += fmt.Sprintf("%s 00-%s-%s-01%s\n", queue, spans[i].TraceID, spans[i].SpanID, state)
	}
	lines := strings.SplitAfter(string(wrote), "\n")
	if !slices.Contains(lines, "second  \n") || !strings.HasPrefix(strings.Replace(string(wrote), "second  \n", "", 1), want) {
		t.Errorf("children were told\n%swant\n%s", wrote, want)
	}
	if n := s.saying(`"msg":"attempt ended"`, `"trace_id":"`+trace+`"`); n != 3 {
		t.Errorf("the log names the trace %d times", n)
	}
	s.stop(t)
}
