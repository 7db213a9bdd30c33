package web

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"oarlock/internal/hub"
	"oarlock/internal/must"
	"oarlock/internal/redact"
	"oarlock/protocol"
	"oarlock/runner"
	"oarlock/supervisor"
)

// heard is an App whose supervisor has a slot, and the hub that tells it what happens, behind a server for whoever may read.
func heard(t *testing.T) (h *hub.Hub, at string, client *http.Client) {
	t.Helper()
	sup := aSupervisor()
	sup.shot.Pools[0].Slots = []supervisor.SlotSnapshot{{Slot: 0, State: "busy"}}
	h = hub.New(hub.Options{Snapshot: sup.Snapshot})
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- h.Run(ctx) }()
	secrets := must.Get(redact.New([]string{"$..password"}, nil))(t)
	a := New(Options{Supervisor: sup, Hub: h, Redactor: secrets, Log: slog.New(slog.DiscardHandler)})
	server := httptest.NewServer(a.Handler(&Door{Name: "test", Who: func(*http.Request) Caller { return All("anna") }}))
	t.Cleanup(func() {
		stop() // which ends the streams
		server.Close()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return h, server.URL + "/api/v1", server.Client()
}

// listen begins a stream, of which next gives event after event without what comes between them.
func listen(t *testing.T, client *http.Client, address string, headers ...string) (next func() map[string]string) {
	t.Helper()
	r := must.Get(http.NewRequestWithContext(t.Context(), "GET", address, nil))(t)
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := must.Get(client.Do(r))(t)
	t.Cleanup(func() { w.Body.Close() })
	if kind := w.Header.Get("Content-Type"); w.StatusCode != 200 || kind != "text/event-stream" {
		t.Fatalf("%s: %d %s", address, w.StatusCode, kind)
	}
	lines := bufio.NewScanner(w.Body)
	return func() map[string]string {
		t.Helper()
		event := map[string]string{}
		for lines.Scan() {
			name, value, is := strings.Cut(lines.Text(), ": ")
			if !is && len(event) > 0 {
				return event
			}
			event[name] = value
		}
		t.Fatalf("the stream ended: %v", lines.Err())
		return nil
	}
}

// Whoever listens again goes on where it was, and hears what was chosen only, without secrets.
func TestEvents(t *testing.T) {
	h, at, client := heard(t)
	next := listen(t, client, at+"/events?jid=j2")
	for i := range 4 {
		h.Note(supervisor.Event{Kind: supervisor.AttemptStarted, Pool: "mail", Job: &protocol.Job{JID: fmt.Sprintf("j%d", i), Queue: "q"}, Message: "password=s3cr3t"})
	}
	event := next()
	if !strings.Contains(event["data"], `"jid":"j2"`) || strings.Contains(event["data"], "s3cr3t") || event["event"] == "" {
		t.Errorf("it tells %v", event)
	}
	again := listen(t, client, at+"/events?queue=q*", "Last-Event-ID", event["id"])
	if event := again(); !strings.Contains(event["data"], `"jid":"j3"`) {
		t.Errorf("after j2 comes %v", event)
	}
	chosen := listen(t, client, at+"/events?kinds=attempt-started,missed", "Last-Event-ID", event["id"])
	if event := chosen(); event["event"] != "attempt-started" {
		t.Errorf("of a kind it tells %v", event)
	}
	for _, test := range []struct{ query, says string }{
		{"kinds=attempt-started,nope", "kinds: there are no events of kind nope; there are missed, child-started"}, {"kinds=,", "no events of kind ;"},
		{"kinds=settled", "no events of kind settled"}, {"everywhere=1&kinds=attempt-started", "there are put, merged, popped"}, {"kinds=%0a%1b[2J", `\\x1b`},
	} {
		w := must.Get(client.Get(at + "/events?" + test.query))(t)
		text := new(strings.Builder)
		if _, err := bufio.NewReader(w.Body).WriteTo(text); err != nil || w.StatusCode != 400 || !strings.Contains(text.String(), test.says) {
			t.Errorf("%s: %d %s, %v; want %s", test.query, w.StatusCode, text, err, test.says)
		}
		w.Body.Close()
	}
	long := listen(t, client, at+"/events", "Last-Event-ID", "1")
	if event := long(); event["event"] != "missed" || !strings.Contains(event["data"], `"kind":"missed"`) {
		t.Errorf("of an id that is long gone it tells %v", event)
	}
}

// A stream ends when the token of who listens is void, or may read no more; those of others go on.
func TestAStreamEndsWithItsToken(t *testing.T) {
	h := hub.New(hub.Options{Snapshot: aSupervisor().Snapshot})
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- h.Run(ctx) }()
	anna, first, _ := NewToken("anna", "read")
	bert, second, _ := NewToken("bert", "read")
	cleo, third, _ := NewToken("cleo", "read")
	tokens := tokensOf(t, first+"\n"+second+"\n"+third+"\n")
	gate := &Gate{Tokens: tokens}
	server := httptest.NewServer(New(Options{Hub: h, Log: slog.New(slog.DiscardHandler)}).Handler(&Door{Name: "test", Gate: gate}))
	defer func() {
		stop()
		server.Close()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}()
	opened := func(token string) io.ReadCloser {
		t.Helper()
		r, _ := http.NewRequestWithContext(ctx, "GET", server.URL+"/api/v1/events", nil)
		r.Header.Set("Authorization", "Bearer "+token)
		w, err := server.Client().Do(r)
		if err != nil || w.StatusCode != 200 {
			t.Fatalf("%v, %v", w, err)
		}
		t.Cleanup(func() { w.Body.Close() })
		return w.Body
	}
	gone, less, stays := opened(anna), opened(bert), opened(cleo)
	must.Do(t, os.WriteFile(tokens.path, []byte(strings.Replace(second, "read", "put:mail", 1)+"\n"+third+"\n"), 0o600))
	for name, stream := range map[string]io.Reader{"anna": gone, "bert": less} {
		ended := make(chan error, 1)
		go func() { _, err := io.ReadAll(stream); ended <- err }()
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("the stream of %s ended with %v", name, err)
			}
		case <-time.After(time.Minute):
			t.Errorf("the stream of %s goes on", name)
		}
	}
	h.Note(supervisor.Event{Kind: supervisor.AttemptStarted, Pool: "mail", Job: &protocol.Job{JID: "j1", Queue: "q"}})
	if line, err := bufio.NewReader(stays).ReadString('\n'); err != nil || !strings.HasPrefix(line, "id: ") {
		t.Errorf("that of who may still tells %q, %v", line, err)
	}
	if len(gate.wrong.count) > 0 {
		t.Error("the void tokens were counted as wrong ones")
	}
}

// The lines of a slot can be read, and followed.
func TestSlotLog(t *testing.T) {
	h, at, client := heard(t)
	say := func(stream runner.Stream, text string) {
		h.Line(supervisor.Line{Pool: "mail", JID: "j", LogLine: runner.LogLine{Stream: stream, Text: []byte(text)}})
	}
	h.Note(supervisor.Event{Kind: supervisor.PoolBegan, Pool: "mail"})
	say(runner.Stdout, "one")
	say(runner.Stderr, "password=s3cr3t")
	next := listen(t, client, at+"/pools/mail/slots/0/log?stream=stdout", "Accept", "text/event-stream")
	if event := next(); !strings.Contains(event["data"], `"text":"one"`) {
		t.Errorf("it tells %v", event)
	}
	say(runner.Stdout, "two")
	event := next()
	if !strings.Contains(event["data"], `"text":"two"`) || event["id"] != "3" {
		t.Errorf("it tells %v", event)
	}
	w := must.Get(client.Get(at + "/pools/mail/slots/0/log?stream=stderr"))(t)
	defer w.Body.Close()
	text := new(strings.Builder)
	if _, err := bufio.NewReader(w.Body).WriteTo(text); err != nil || strings.Contains(text.String(), "s3cr3t") || !strings.Contains(text.String(), `"total":1`) {
		t.Errorf("all of it: %s, %v", text, err)
	}
	for path, want := range map[string]int{"/pools/mail/slots/1/log": 404, "/pools/mail/slots/x/log": 404, "/pools/nope/slots/0/log": 404, "/pools/mail/slots/0/log?lines=x": 400} {
		w := must.Get(client.Get(at + path))(t)
		w.Body.Close()
		if w.StatusCode != want {
			t.Errorf("%s: %d", path, w.StatusCode)
		}
	}
}

// The document lists the kinds of events that are told, and no other.
func TestTheDocumentListsTheKinds(t *testing.T) {
	source := must.Get(os.ReadFile("../../supervisor/report/event.go"))(t)
	text := must.Get(os.ReadFile("../../docs/web.md"))(t)
	_, list, _ := strings.Cut(string(text), "`/events` tells, as `kind`:")
	list, _, _ = strings.Cut(list, "\n\n")
	var api struct {
		Components struct {
			Schemas struct {
				Event struct {
					Properties struct {
						Kind struct {
							OneOf []struct{ Const, Description string }
						}
					}
				}
			}
		}
	}
	must.Do(t, json.Unmarshal(description, &api))
	described := map[string]string{}
	for _, kind := range api.Components.Schemas.Event.Properties.Kind.OneOf {
		described[kind.Const] = kind.Description
	}
	for _, kind := range hub.KindNames() {
		if described[kind] == "" {
			t.Errorf("openapi.json does not say what %s is", kind)
		}
		delete(described, kind)
	}
	if len(described) > 0 {
		t.Errorf("openapi.json describes what nobody is told: %v", described)
	}
	for _, kind := range regexp.MustCompile(`EventKind = "(.*)"`).FindAllStringSubmatch(string(source), -1) {
		silent := slices.Contains([]string{"settling", "round-trip", "settled", "renewed"}, kind[1]) // see hub.Hub
		if told := strings.Contains(list, "`"+kind[1]+"`"); told == silent {
			t.Errorf("docs/web.md lists the kind %s: %t", kind[1], told)
		}
	}
}

// TestAPageWithoutRoomForAStreamAsks: where as many listen as may, what is live on a page can still be asked for once, again and again; so a page says that it
// is looked at every ten seconds, and not that it stands still.
func TestAPageWithoutRoomForAStreamAsks(t *testing.T) {
	sup := aSupervisor()
	h := hub.New(hub.Options{Snapshot: sup.Snapshot})
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- h.Run(ctx) }()
	a := New(Options{Supervisor: sup, Hub: h, MaxStreams: 1, Log: slog.New(slog.DiscardHandler)})
	server := httptest.NewServer(a.Handler(&Door{Name: "test", Who: func(*http.Request) Caller { return All("anna") }}))
	defer func() {
		stop()
		server.Close()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}()
	live := server.URL + "/live?view=" + url.QueryEscape("/pools")
	ask := func(address string) (int, string) {
		w := must.Get(server.Client().Get(address))(t)
		defer w.Body.Close()
		text := must.Get(io.ReadAll(w.Body))(t)
		return w.StatusCode, string(text)
	}
	listen(t, server.Client(), live)
	if code, text := ask(live); code != http.StatusServiceUnavailable {
		t.Errorf("a second stream: %d %s", code, text)
	}
	for range 3 {
		if code, text := ask(live + "&once=1"); code != http.StatusOK || !strings.HasPrefix(text, `{"set":{`) {
			t.Errorf("once: %d %s", code, text)
		}
	}
	if code, text := ask(server.URL + "/api/v1/events?once=1"); code == http.StatusOK {
		t.Errorf("a stream is no answer: %d %s", code, text)
	}
}
