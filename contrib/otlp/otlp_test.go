package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

const producer = "00f067aa0ba902b7"

// attempt is what the API tells of an attempt, by its number.
func attempt(n int) event {
	return event{
		ID: uint64(n), At: 1700000000.5, Pool: "mail", JID: fmt.Sprint("j", n), Klass: "Send", Queue: "mail", Attempt: 1, Outcome: "done", Ending: "said",
		Duration: 0.25, TraceID: fmt.Sprintf("%032x", n), SpanID: fmt.Sprintf("%016x", n), ProducerID: producer, Sampled: true,
	}
}

// supervisor tells of attempts as one does, on a control socket, and ends the connection where it is told to.
type supervisor struct {
	socket string
	asked  chan string // Last-Event-ID of each connection
	says   chan string // what is written next; "" ends the connection
}

func newSupervisor(t *testing.T) *supervisor {
	s := &supervisor{filepath.Join(t.TempDir(), "control-1.sock"), make(chan string, 10), make(chan string, 100)}
	listener, err := net.Listen("unix", s.socket)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api/v1/events" || r.URL.Query().Get("kinds") != "attempt-ended" {
			t.Errorf("asked for %s", r.URL)
		}
		s.asked <- r.Header.Get("Last-Event-ID")
		w.Header().Set("Content-Type", "text/event-stream")
		http.NewResponseController(w).Flush()
		for {
			select {
			case text := <-s.says:
				if text == "" {
					return
				}
				fmt.Fprint(w, text)
				http.NewResponseController(w).Flush()
			case <-r.Context().Done():
				return
			}
		}
	}))
	server.Listener.Close()
	server.Listener = listener
	server.Start()
	t.Cleanup(server.CloseClientConnections)
	t.Cleanup(server.Close)
	return s
}

func (s *supervisor) tell(t *testing.T, e event) {
	t.Helper()
	text, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	s.says <- fmt.Sprintf("id: %d\nevent: attempt-ended\ndata: %s\n\n", e.ID, text)
}

// collector takes spans, unless it is told to refuse.
type collector struct {
	*httptest.Server
	mu      sync.Mutex
	answer  int // a status; 0 takes what comes
	refused int
	spans   []span
	came    chan struct{} // a request was answered
	headers http.Header
}

func newCollector(t *testing.T) *collector {
	c := &collector{came: make(chan struct{}, 1000)}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.mu.Lock()
		defer c.mu.Unlock()
		defer func() { c.came <- struct{}{} }()
		c.headers = r.Header
		if c.answer != 0 {
			c.refused++
			w.WriteHeader(c.answer)
			return
		}
		var body request
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil || r.Method != "POST" {
			t.Errorf("%s: %v", r.Method, err)
		}
		for _, of := range body.ResourceSpans {
			c.spans = append(c.spans, of.ScopeSpans[0].Spans...)
		}
	}))
	t.Cleanup(c.Close)
	return c
}

// answers sets what is answered from now on.
func (c *collector) answers(status int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answer = status
}

// await waits until so many spans have come, or so many requests were refused.
func (c *collector) await(t *testing.T, spans, refused int) []span {
	t.Helper()
	timeout := time.After(time.Minute)
	for {
		c.mu.Lock()
		got, no := c.spans, c.refused
		c.mu.Unlock()
		if len(got) >= spans && no >= refused {
			return got
		}
		select {
		case <-c.came:
		case <-timeout:
			t.Fatalf("%d spans came, %d requests were refused; want %d and %d", len(got), no, spans, refused)
		}
	}
}

// exporting runs the program until stop is called, which waits for its end.
func exporting(t *testing.T, args ...string) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- run(ctx, args, func(name string) string {
			return map[string]string{"OTEL_SERVICE_NAME": "shop", "OTEL_EXPORTER_OTLP_HEADERS": "x-key=a%20b,x-other=c"}[name]
		})
	}()
	var once sync.Once
	stop = func() {
		once.Do(func() {
			cancel()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
	}
	t.Cleanup(stop)
	return stop
}

// asks waits for a connection, and checks from which event it goes on.
func (s *supervisor) asks(t *testing.T, last string) {
	t.Helper()
	select {
	case got := <-s.asked:
		if got != last {
			t.Fatalf("it goes on after %q, want %q", got, last)
		}
	case <-time.After(time.Minute):
		t.Fatal("nobody asks")
	}
}

// An attempt is a span of its trace, with its producer for a parent and a link, its time, and what became of it; what nobody
// wants to see, and what was handed on to another child, is none.
func TestAnAttemptIsASpan(t *testing.T) {
	s, c := newSupervisor(t), newCollector(t)
	exporting(t, "-socket", s.socket, "-endpoint", c.URL+"/v1/traces")
	s.asks(t, "")
	unseen, none, handed, bad := attempt(1), attempt(2), attempt(3), attempt(5)
	unseen.Sampled, none.TraceID, handed.Outcome = false, "", "handed-on"
	bad.Outcome, bad.Ending, bad.Group, bad.Message, bad.ProducerID = "retried", "exited", "exit-1", "no\x00 \"disk\"", ""
	for _, e := range []event{unseen, none, handed, attempt(4), bad} {
		s.tell(t, e)
	}
	s.says <- ":\n\n" + "event: other\ndata: {\n\n" // nothing of ours
	spans := c.await(t, 2, 0)
	if len(spans) != 2 {
		t.Fatalf("%d spans", len(spans))
	}
	good := spans[0]
	if good.TraceID != fmt.Sprintf("%032x", 4) || good.SpanID != fmt.Sprintf("%016x", 4) || good.ParentID != producer || len(good.Links) != 1 ||
		good.Links[0] != (link{good.TraceID, producer}) || good.Name != "process mail" || good.Kind != kindConsumer ||
		good.Start != "1700000000250000000" || good.End != "1700000000500000000" || good.Status != (status{}) {
		t.Errorf("%+v", good)
	}
	failed := spans[1]
	kind := ""
	for _, a := range failed.Attributes {
		if a.Key == "error.type" {
			kind = *a.Value.String
		}
	}
	if failed.Status != (status{codeError, bad.Message}) || kind != "exit-1" || failed.ParentID != "" || failed.Links != nil {
		t.Errorf("%+v", failed)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.headers.Get("X-Key") != "a b" || c.headers.Get("X-Other") != "c" {
		t.Errorf("headers %v", c.headers)
	}
}

// A collector that is away and comes back, one that refuses, and a supervisor whose connection ends cost no attempt its span, and
// none has two; what is started again goes on where it was.
func TestEachAttemptOnce(t *testing.T) {
	if testing.Short() {
		t.Skip("long: one test is enough")
	}
	s, c := newSupervisor(t), newCollector(t)
	state := filepath.Join(t.TempDir(), "state")
	args := []string{"-socket", filepath.Join(filepath.Dir(s.socket), "control-*.sock"), "-endpoint", c.URL, "-state", state}
	stop := exporting(t, args...)
	s.asks(t, "")
	c.answers(http.StatusServiceUnavailable)
	for n := range 10 {
		s.tell(t, attempt(n+1))
	}
	c.await(t, 0, 3) // it has tried again
	s.says <- ""
	s.asks(t, "10")
	for n := 10; n < 20; n++ {
		s.tell(t, attempt(n+1))
	}
	c.answers(0)
	c.await(t, 20, 3)
	stop()
	exporting(t, args...)
	s.asks(t, "20")
	s.tell(t, attempt(21))
	spans := c.await(t, 21, 3)
	seen := map[string]bool{}
	for _, one := range spans {
		if seen[one.SpanID] {
			t.Errorf("span %s came twice", one.SpanID)
		}
		seen[one.SpanID] = true
	}
	if len(seen) != 21 {
		t.Errorf("%d spans", len(seen))
	}
}

// What a collector refuses for good is dropped, so that what comes behind it has its turn; what is not understood is asked for again.
func TestWhatIsRefusedForGood(t *testing.T) {
	if testing.Short() {
		t.Skip("long: one test is enough")
	}
	s, c := newSupervisor(t), newCollector(t)
	exporting(t, "-socket", s.socket, "-endpoint", c.URL)
	s.asks(t, "")
	c.answers(http.StatusBadRequest)
	s.tell(t, attempt(1))
	c.await(t, 0, 1)
	c.answers(0)
	s.says <- "event: attempt-ended\ndata: {nonsense\n\n"
	s.asks(t, strconv.Itoa(1))
	s.tell(t, attempt(2))
	if spans := c.await(t, 1, 1); spans[0].SpanID != attempt(2).SpanID {
		t.Errorf("%+v", spans)
	}
}

// A mistake is a sentence, before anything is tried.
func TestMistakes(t *testing.T) {
	for _, tt := range []struct {
		args []string
		env  map[string]string
		want string
	}{
		{nil, nil, "give -socket or -url"},
		{[]string{"-socket", "s", "-url", "http://a"}, nil, "one of them"},
		{[]string{"-url", "web1:7733"}, nil, "is no URL"},
		{[]string{"-url", "http://a", "-endpoint", "collector"}, nil, `"collector" is no URL`},
		{[]string{"-url", "http://a", "more"}, nil, `"more" is no option`},
		{[]string{"-url", "http://a"}, map[string]string{"OTEL_EXPORTER_OTLP_HEADERS": "secret"}, "is none of name=value"},
	} {
		err := run(t.Context(), tt.args, func(name string) string { return tt.env[name] })
		if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v, want %q", tt.args, err, tt.want)
		}
	}
	env := func(name string) string {
		return map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318/"}[name]
	}
	if got := endpointOf(env); got != "http://c:4318/v1/traces" {
		t.Errorf("the endpoint is %s", got)
	}
}
