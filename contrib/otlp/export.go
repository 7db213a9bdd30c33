package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

// A batch has so many spans at most, and waits so long for more; so many events wait while a batch is on its way. Who does not
// answer is asked again after a while, which doubles from the least to the most.
const (
	mostSpans = 512
	gather    = time.Second
	mostWait  = 4096
	leastRest = 200 * time.Millisecond
	mostRest  = 30 * time.Second
	lastWords = 5 * time.Second // for what is left when we end
)

// export follows the source, and sends what comes to the sink, until ctx ends. While the sink does not take it, the source waits.
func export(ctx context.Context, from *source, to *sink, p *place) {
	events := make(chan event, mostWait)
	done := make(chan struct{})
	go func() { // waited for below
		defer close(done)
		to.drain(ctx, events, p)
	}()
	last := p.read()
	for rest := leastRest; ctx.Err() == nil; {
		before := last
		var err error
		last, err = from.follow(ctx, last, func(e event) {
			select {
			case events <- e:
			case <-ctx.Done():
			}
		})
		if last != before {
			rest = leastRest
		}
		if ctx.Err() == nil {
			from.log.Warn("no events", "why", err, "again_in", rest)
			pause(ctx, rest)
			rest = min(2*rest, mostRest)
		}
	}
	close(events)
	<-done
}

// sink is the collector.
type sink struct {
	endpoint string
	headers  map[string]string
	service  string
	log      *slog.Logger
}

// drain sends events in batches until there are no more, which is soon after ctx has ended.
func (s *sink) drain(ctx context.Context, events <-chan event, p *place) {
	for {
		spans, last, more := collect(events)
		if s.send(ctx, spans) {
			p.write(last)
		}
		if !more {
			return
		}
	}
}

// collect waits for an event, and for a while for more; last is the id of the last one, 0 if there is none. more is false when there will be no more.
func collect(events <-chan event) (spans []span, last uint64, more bool) {
	var full <-chan time.Time
	for len(spans) < mostSpans {
		select {
		case e, is := <-events:
			if !is {
				return spans, last, false
			}
			last = e.ID
			if e.wanted() {
				spans = append(spans, spanOf(e))
			}
			if full == nil {
				full = time.After(gather)
			}
		case <-full:
			return spans, last, true
		}
	}
	return spans, last, true
}

// send sends a batch, again and again until it is taken, or refused for good. When ctx ends it is tried for a little longer. It reports
// whether nothing more is to be done about it.
func (s *sink) send(ctx context.Context, spans []span) (done bool) {
	if len(spans) == 0 {
		return true
	}
	body, err := encode(s.service, spans)
	if err != nil {
		s.log.Error("spans cannot be told", "why", err)
		return true
	}
	rest := leastRest
	for {
		once, over := context.WithTimeout(context.WithoutCancel(ctx), 2*lastWords)
		stop := context.AfterFunc(ctx, func() { time.AfterFunc(lastWords, over) })
		again, err := s.post(once, body)
		stop()
		over()
		switch {
		case err == nil:
			return true
		case !again:
			s.log.Error("the collector refuses spans: they are dropped", "spans", len(spans), "why", err)
			return true
		case ctx.Err() != nil:
			s.log.Warn("the collector did not take the last spans", "spans", len(spans), "why", err)
			return false
		}
		s.log.Warn("the collector takes nothing", "spans", len(spans), "why", err, "again_in", rest)
		pause(ctx, rest)
		rest = min(2*rest, mostRest)
	}
}

// post sends a request; again says that the error may pass.
func (s *sink) post(ctx context.Context, body []byte) (again bool, err error) {
	r, err := http.NewRequestWithContext(ctx, "POST", s.endpoint, bytes.NewReader(body))
	if err != nil {
		return false, err
	}
	r.Header.Set("Content-Type", "application/json")
	for name, value := range s.headers {
		r.Header.Set(name, value)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return true, err
	}
	defer answer.Body.Close()
	says, _ := io.ReadAll(io.LimitReader(answer.Body, 1<<10))
	switch code := answer.StatusCode; {
	case code < 300:
		return false, nil
	case code == http.StatusTooManyRequests, code >= 500:
		return true, fmt.Errorf("it answers %s", answer.Status)
	}
	return false, fmt.Errorf("it answers %s: %.200q", answer.Status, says)
}

// place is how far the events were told, in a file; "" keeps it nowhere.
type place struct {
	file string
	log  *slog.Logger
}

// read is the id of the last event; 0 of none.
func (p *place) read() uint64 {
	if p.file == "" {
		return 0
	}
	text, err := os.ReadFile(p.file)
	if os.IsNotExist(err) {
		return 0
	}
	id, wrong := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
	if err != nil || wrong != nil {
		p.log.Warn("the state is not understood: begins with what comes now", "file", p.file)
		return 0
	}
	return id
}

// write keeps the id of an event; 0 is none.
func (p *place) write(id uint64) {
	if p.file == "" || id == 0 {
		return
	}
	err := os.WriteFile(p.file+".new", []byte(strconv.FormatUint(id, 10)+"\n"), 0o600)
	if err == nil {
		err = os.Rename(p.file+".new", p.file)
	}
	if err != nil {
		p.log.Warn("the state is not kept", "why", err)
	}
}

// pause waits, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
