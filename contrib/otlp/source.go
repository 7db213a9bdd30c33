package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// event is what the API tells of an attempt that ended, as far as it concerns a span.
type event struct {
	ID         uint64  `json:"id"`
	At         float64 `json:"at"` // when it ended, in seconds since the epoch
	Pool       string  `json:"pool"`
	JID        string  `json:"jid"`
	Klass      string  `json:"klass"`
	Queue      string  `json:"queue"`
	Attempt    int     `json:"attempt"`
	TraceID    string  `json:"trace_id"`
	SpanID     string  `json:"span_id"`
	ProducerID string  `json:"producer_span_id"`
	Sampled    bool    `json:"sampled"`
	Outcome    string  `json:"outcome"`
	Ending     string  `json:"ending"`
	Duration   float64 `json:"duration"` // seconds
	Group      string  `json:"group"`
	Message    string  `json:"message"`
}

// wanted reports whether there is a span of it: one that was handed on to another child was no attempt.
func (e *event) wanted() bool { return e.TraceID != "" && e.Sampled && e.Outcome != "handed-on" }

// silence is how long nothing may come: the supervisor says something four times as often.
const silence = time.Minute

// source is where events come from.
type source struct {
	client *http.Client
	base   string
	token  string
	log    *slog.Logger
}

// newSource is one by a control socket, which may be a pattern, or by an address.
func newSource(socket, address, token string, log *slog.Logger) *source {
	transport := &http.Transport{ResponseHeaderTimeout: 10 * time.Second}
	if socket != "" {
		address = "http://oarlock"
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx, socket) }
	}
	return &source{&http.Client{Transport: transport}, strings.TrimSuffix(address, "/"), token, log}
}

// dial connects to the newest socket of a pattern that answers.
func dial(ctx context.Context, pattern string) (net.Conn, error) {
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		return nil, fmt.Errorf("there is no socket %s", pattern)
	}
	age := func(path string) time.Duration {
		info, err := os.Stat(path)
		if err != nil {
			return time.Duration(1<<63 - 1)
		}
		return time.Since(info.ModTime())
	}
	slices.SortFunc(paths, func(a, b string) int { return int(min(max(age(a)-age(b), -1), 1)) })
	for _, path := range paths {
		var c net.Conn
		if c, err = new(net.Dialer).DialContext(ctx, "unix", path); err == nil {
			return c, nil
		}
	}
	return nil, err
}

// follow hands on the attempts that end after the event of that id, 0 for those from now on, until the connection is over, which is the
// error; and the id of the last event that it has handed on.
func (s *source) follow(ctx context.Context, last uint64, hand func(event)) (uint64, error) {
	ctx, over := context.WithCancel(ctx)
	defer over()
	r, err := http.NewRequestWithContext(ctx, "GET", s.base+"/api/v1/events?kinds=attempt-ended", nil)
	if err != nil {
		return last, err
	}
	if last > 0 {
		r.Header.Set("Last-Event-ID", strconv.FormatUint(last, 10))
	}
	if s.token != "" {
		r.Header.Set("Authorization", "Bearer "+s.token)
	}
	answer, err := s.client.Do(r)
	if err != nil {
		return last, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return last, fmt.Errorf("the supervisor answers %s", answer.Status)
	}
	quiet := time.AfterFunc(silence, over)
	defer quiet.Stop()
	lines, kind := bufio.NewScanner(answer.Body), ""
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		quiet.Stop() // whoever is handed an event may take his time
		name, value, _ := strings.Cut(lines.Text(), ": ")
		switch name {
		case "event":
			kind = value
			if kind == "missed" {
				s.log.Warn("attempts have ended that the supervisor does not remember: they have no span")
			}
		case "data":
			var e event
			if kind != "attempt-ended" {
				break
			}
			if err := json.Unmarshal([]byte(value), &e); err != nil {
				return last, fmt.Errorf("what the supervisor tells is not understood: %w", err)
			}
			hand(e)
			last = e.ID
		}
		quiet.Reset(silence)
	}
	return last, errors.Join(lines.Err(), errors.New("the supervisor has ended the connection"))
}
