package web

import (
	"bufio"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"oarlock/internal/hub"
	"oarlock/internal/must"
	"oarlock/internal/redistest"
	"oarlock/internal/screen"
	"oarlock/internal/web/pagestest"
	"oarlock/protocol"
	"oarlock/queue"
	"oarlock/runner"
	"oarlock/supervisor"
)

// hostileTexts are texts as others may have chosen them, each in a place where there may be any.
var hostileTexts = slices.Concat(pagestest.Hostile, []string{
	"x\ndata: {\"forged\":1}\n\nevent: forged\ndata: {}\n\n", "\r\rid: 1\revent: forged\r\r", "\u2028\u2029\u0085\x7f\u009b2J", "\xed\xa0\x80half", "\ufffd",
})

// raw is JSON as somebody may have put it: with bytes in its text that no encoder writes.
const raw = "\xff\xfe\u202e\u2028\x7f\u009b</script><!--"

// decoded is a text as somebody reads it who is told of it in JSON.
func decoded(text string) string { return string([]rune(text)) }

// inert fails if JSON that is answered has anything in it that a terminal obeys, that ends a line for somebody, or that is
// not UTF-8.
func inert(t *testing.T, what, text string) {
	t.Helper()
	if !utf8.ValidString(text) {
		t.Errorf("%s is not UTF-8: %.300q", what, text)
	}
	if at := strings.IndexFunc(text, func(r rune) bool { return !unicode.IsGraphic(r) && r != '\t' }); at >= 0 {
		t.Errorf("%s: there is %q in %.300q", what, text[at:min(at+4, len(text))], text[max(0, at-100):])
	}
}

// putHostile puts the texts wherever there may be one: into waiting jobs, into one that failed, and into what jobs share.
func putHostile(t *testing.T, q *queue.Client) {
	t.Helper()
	ctx := t.Context()
	for _, text := range hostileTexts {
		jid := strings.ReplaceAll(text, "\x00", "\x01") // which may have no NUL
		quoted := must.Get(json.Marshal(text))(t)
		data := []byte(`{"text":` + string(quoted) + `}`)
		for _, p := range []queue.Put{
			{Queue: "fails", JID: "f" + jid, Klass: text, Data: data, Tags: []string{text}},
			{Queue: text, JID: jid, Klass: text, Data: data, Tags: []string{text}, Throttles: []string{text}},
		} {
			must.Get(q.Put(ctx, p))(t)
		}
		must.Get(q.Pop(ctx, "fails", text, 1))(t)
		must.Do(t, q.Fail(ctx, "f"+jid, text, text, text))
		must.Do(t, q.Log(ctx, jid, text, data))
		must.Get(q.Track(ctx, jid))(t)
		must.Do(t, q.SetThrottle(ctx, queue.Throttle{ID: text, Maximum: 1}))
		must.Do(t, q.Set(ctx, "s"+text, text))
		must.Get(q.Recur(ctx, queue.Recurring{Queue: "recurs", JID: "r" + text, Klass: text, Data: data, Interval: time.Hour, Tags: []string{text}}))(t)
		for _, key := range []string{"ql:j:f" + jid, "ql:j:" + jid, "ql:r:r" + text} { // as clients may have put it that look at nothing
			must.Do(t, q.Redis().HSet(ctx, key, "data", `{"raw":"`+raw+`","text":`+string(quoted)+`}`).Err())
		}
	}
	must.Get(q.Pop(ctx, hostileTexts[0], hostileTexts[0], 1))(t)
}

// Whatever others wrote is a text in every answer of the API, which is one line of JSON and UTF-8, and nothing in it does
// anything to whoever prints it or takes it apart by lines.
func TestHostileTextInAnswers(t *testing.T) {
	a, q := apart(t)
	putHostile(t, q)
	g, told := everybody(&Door{}), 0
	ask := func(text, path string) {
		w := g.ask(a, "GET", path, "")
		body, ended := strings.CutSuffix(w.Body.String(), "\n")
		if strings.HasPrefix(path, "/api/v1/openapi.json") {
			return // which is ours
		}
		inert(t, path, body)
		if !ended || !json.Valid([]byte(body)) || w.Code >= 500 {
			t.Errorf("%s: %d %.300q", path, w.Code, body)
		}
		if kind := w.Header().Get("Content-Type"); !strings.HasSuffix(kind, "json") || w.Header().Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s is of the type %q, and that may be guessed", path, kind)
		}
		quoted, _ := marshal(decoded(text)) // of a string: cannot fail
		told += strings.Count(body, strings.Trim(string(quoted), "\"\n"))
	}
	for i, text := range hostileTexts {
		for _, route := range a.Routes() {
			if route.Method != "GET" || route.Stream || !strings.HasPrefix(route.Path, "/api/") || i > 0 && !strings.Contains(route.Path, "{") {
				continue
			}
			path := regexp.MustCompile(`\{\w+\}`).ReplaceAllLiteralString(route.Path, url.PathEscape(text))
			ask(text, strings.TrimSuffix(path, "{$}"))
		}
		ask(text, "/api/v1/jobs/"+url.PathEscape("f"+text))
		ask(text, "/api/v1/recurring/"+url.PathEscape("r"+text))
		ask(text, "/api/v1/search?q="+url.QueryEscape(text))
		ask(text, "/api/v1/queues?sort="+url.QueryEscape(text)+"&cursor=x") // which is refused, by a text with it
	}
	if told < 20*len(hostileTexts) {
		t.Errorf("the texts are told only %d times: what is asked for is not there", told)
	}
}

// frames gives the frames of a stream one by one, and fails if one has another line than its id, its event and its data, each
// once at most.
func frames(t *testing.T, client *http.Client, address string, headers ...string) (next func() map[string]string) {
	t.Helper()
	ctx, leave := context.WithTimeout(t.Context(), time.Minute)
	r := must.Get(http.NewRequestWithContext(ctx, "GET", address, nil))(t)
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := must.Get(client.Do(r))(t)
	t.Cleanup(func() { leave(); w.Body.Close() })
	lines := bufio.NewReader(w.Body)
	return func() map[string]string {
		t.Helper()
		frame := map[string]string{}
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				t.Fatalf("%s ends with %q: %v", address, line, err)
			}
			line = strings.TrimSuffix(line, "\n")
			inert(t, address, line)
			name, value, is := strings.Cut(line, ": ")
			switch {
			case line == "" && len(frame) > 0:
				return frame
			case line == "" || line == ":":
			case !is || frame[name] != "" || name != "id" && name != "event" && name != "data":
				t.Fatalf("%s: a frame that begins %v has the line %.300q", address, frame, line)
			default:
				frame[name] = value
			}
		}
	}
}

// saying is what the data of a frame says by some names.
func saying(t *testing.T, frame map[string]string, names ...string) (all []string) {
	t.Helper()
	var data map[string]any
	if err := json.Unmarshal([]byte(frame["data"]), &data); err != nil {
		t.Fatalf("%v: %v", frame, err)
	}
	for _, name := range names {
		text, _ := data[name].(string)
		all = append(all, text)
	}
	return all
}

// streaming is an App with a Redis, a supervisor with a slot and a hub, behind a server.
func streaming(t *testing.T) (q *queue.Client, h *hub.Hub, server *httptest.Server) {
	t.Helper()
	a, q := apartOn(t, redistest.Start(t)) // channels are of a whole server
	sup := aSupervisor()
	sup.shot.Pools[0].Slots = []supervisor.SlotSnapshot{{Slot: 0, State: "busy"}}
	h = hub.New(hub.Options{Snapshot: sup.Snapshot})
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- h.Run(ctx) }()
	a = New(Options{Redis: q, Supervisor: sup, Hub: h, Census: a.o.Census, Log: slog.New(slog.DiscardHandler)})
	server = httptest.NewServer(a.Handler(&Door{Name: "test", Who: func(*http.Request) Caller { return All("anna") }}))
	t.Cleanup(func() {
		stop() // which ends the streams of events and lines
		server.CloseClientConnections()
		server.Close()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return q, h, server
}

// No text ends a frame of a stream, or begins one: not of what happens here, of what a child printed, of what Redis tells, nor
// of a page that is watched.
func TestHostileTextInStreams(t *testing.T) {
	if testing.Short() {
		t.Skip("long: hostile texts in every stream")
	}
	q, h, server := streaming(t)
	at, client := server.URL+"/api/v1", server.Client()
	here := frames(t, client, at+"/events")
	h.Note(supervisor.Event{Kind: supervisor.PoolBegan, Pool: "mail"})
	if frame := here(); frame["event"] != string(supervisor.PoolBegan) {
		t.Fatalf("it begins with %v", frame)
	}
	printed := frames(t, client, at+"/pools/mail/slots/0/log", "Accept", "text/event-stream")
	everywhere := frames(t, client, at+"/events?everywhere=1")
	for heard := int64(0); heard == 0; { // a round trip is a pause
		n := must.Get(q.Redis().PubSubNumSub(t.Context(), "ql:log").Result())(t)
		heard = n["ql:log"]
	}
	for i, text := range hostileTexts {
		want := decoded(text)
		h.Note(supervisor.Event{Kind: supervisor.AttemptStarted, Pool: text, Job: &protocol.Job{JID: text, Klass: text, Queue: text}, Group: text, Message: text})
		if frame := here(); frame["event"] != string(supervisor.AttemptStarted) || slices.ContainsFunc(saying(t, frame, "pool", "jid", "klass", "queue", "group", "message"), func(said string) bool { return said != want }) {
			t.Fatalf("of an event with %q it tells %v", text, frame)
		}
		h.Line(supervisor.Line{Pool: "mail", JID: text, LogLine: runner.LogLine{Stream: runner.Stdout, Text: []byte(text)}})
		if frame := printed(); frame["event"] != "line" || saying(t, frame, "jid")[0] != want || saying(t, frame, "text")[0] != screen.Visible(text) {
			t.Fatalf("of a line %q it tells %v", text, frame)
		}
		message := must.Get(json.Marshal(map[string]string{"event": text, "jid": text, "queue": text, "message": text}))(t)
		for _, jid := range []string{text, want} { // only events of jobs that are here are told
			must.Do(t, q.Redis().HSet(t.Context(), "ql:j:"+jid, "jid", jid).Err())
		}
		for channel, payload := range map[string]any{"ql:log": message, "ql:put": text} {
			must.Do(t, q.Redis().Publish(t.Context(), channel, payload).Err())
			kind := "put"
			if channel == "ql:log" {
				kind = screen.Visible(want)
			}
			if frame := everywhere(); frame["event"] != kind || saying(t, frame, "jid")[0] != want {
				t.Fatalf("of what Redis tells of %q, %d, it tells %v", text, i, frame)
			}
		}
		must.Do(t, q.Redis().Del(t.Context(), "ql:j:"+text, "ql:j:"+want).Err())
	}
	putHostile(t, q)
	for _, view := range []string{"/queues", "/failures", "/queues/" + url.PathEscape(hostileTexts[0])} {
		if frame := frames(t, client, server.URL+"/live?view="+url.QueryEscape(view))(); !json.Valid([]byte(frame["data"])) || len(frame) != 1 {
			t.Errorf("%s tells %v", view, frame)
		}
	}
}

// Whoever a proxy says it is, that name is a text: in answers, on pages, among the deeds, and in the log.
func TestHostileNamesOfUsers(t *testing.T) {
	a, log := quietly(aSupervisor())
	told := 0
	for _, text := range hostileTexts {
		g := guest{t: t, door: &Door{Name: "test", Gate: &Gate{Header: "X-Forwarded-User"}}, shows: []string{"X-Forwarded-User", text, "X-Oarlock", "1"}}
		if w := g.ask(a, "POST", "/api/v1/pools/mail/recycle", ""); w.Code != http.StatusAccepted && w.Code != http.StatusUnauthorized {
			t.Errorf("%.40q: %d %s", text, w.Code, w.Body)
		}
		w := g.ask(a, "GET", "/api/v1/audit", "")
		inert(t, "the deeds", strings.TrimSuffix(w.Body.String(), "\n"))
		page := g.ask(a, "GET", "/audit", "").Body.String()
		inert(t, "the page of deeds", strings.ReplaceAll(page, "\n", " "))
		if n := strings.Count(page, "<script"); w.Code == http.StatusOK && n != 1 || strings.Contains(page, "<img") || strings.Contains(page, "<svg onload") {
			t.Errorf("%.40q: %d scripts, and perhaps more, on %s", text, n, mainOf(page))
		}
		if w.Code == http.StatusOK {
			told++
		}
	}
	inert(t, "the log", strings.ReplaceAll(log.String(), "\n", " "))
	if told < len(hostileTexts)/2 || len(a.deeds.newest()) < told {
		t.Errorf("%d names of %d came in, and %d deeds are kept", told, len(hostileTexts), len(a.deeds.newest()))
	}
}
