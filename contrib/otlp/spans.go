package main

import (
	"encoding/json"
	"os"
	"strconv"
	"time"
)

// What OTLP wants in JSON, as far as it is said here.
type (
	attribute struct {
		Key   string `json:"key"`
		Value struct {
			String *string `json:"stringValue,omitempty"`
			Int    string  `json:"intValue,omitempty"`
		} `json:"value"`
	}
	link struct {
		TraceID string `json:"traceId"`
		SpanID  string `json:"spanId"`
	}
	status struct {
		Code    int    `json:"code,omitempty"`
		Message string `json:"message,omitempty"`
	}
	span struct {
		TraceID    string      `json:"traceId"`
		SpanID     string      `json:"spanId"`
		ParentID   string      `json:"parentSpanId,omitempty"`
		Name       string      `json:"name"`
		Kind       int         `json:"kind"`
		Start      string      `json:"startTimeUnixNano"`
		End        string      `json:"endTimeUnixNano"`
		Attributes []attribute `json:"attributes"`
		Links      []link      `json:"links,omitempty"`
		Status     status      `json:"status"`
	}
	scopeSpans struct {
		Scope struct {
			Name string `json:"name"`
		} `json:"scope"`
		Spans []span `json:"spans"`
	}
	resourceSpans struct {
		Resource struct {
			Attributes []attribute `json:"attributes"`
		} `json:"resource"`
		ScopeSpans []scopeSpans `json:"scopeSpans"`
	}
	request struct {
		ResourceSpans []resourceSpans `json:"resourceSpans"`
	}
)

// kindConsumer and codeError are numbers of OTLP.
const (
	kindConsumer = 5
	codeError    = 2
)

func text(key, value string) (a attribute) {
	a.Key, a.Value.String = key, &value
	return a
}

func number(key string, value int) (a attribute) {
	a.Key, a.Value.Int = key, strconv.Itoa(value)
	return a
}

// spanOf is the span of an attempt, by the conventions for messaging: a consumer that processes, linked to the producer.
func spanOf(e event) span {
	end := time.UnixMilli(int64(e.At * 1e3))
	s := span{
		TraceID: e.TraceID, SpanID: e.SpanID, ParentID: e.ProducerID, Name: "process " + e.Queue, Kind: kindConsumer,
		Start: nano(end.Add(-time.Duration(e.Duration * float64(time.Second)))), End: nano(end),
		Attributes: []attribute{
			text("messaging.system", "oarlock"), text("messaging.operation.type", "process"), text("messaging.operation.name", "process"),
			text("messaging.destination.name", e.Queue), text("messaging.message.id", e.JID),
			text("oarlock.klass", e.Klass), text("oarlock.pool", e.Pool), number("oarlock.attempt", e.Attempt), text("oarlock.outcome", e.Outcome),
		},
	}
	if e.ProducerID != "" {
		s.Links = []link{{e.TraceID, e.ProducerID}}
	}
	if e.Outcome == "failed" || e.Outcome == "retried" || e.Group != "" {
		s.Attributes = append(s.Attributes, text("error.type", first(e.Group, e.Ending)))
		s.Status = status{codeError, e.Message}
	}
	return s
}

func nano(t time.Time) string { return strconv.FormatInt(t.UnixNano(), 10) }

// encode is the body of a request that tells of spans.
func encode(service string, spans []span) ([]byte, error) {
	var of resourceSpans
	host, _ := os.Hostname()
	of.Resource.Attributes = []attribute{text("service.name", service), text("host.name", host)}
	of.ScopeSpans = []scopeSpans{{Spans: spans}}
	of.ScopeSpans[0].Scope.Name = "oarlock"
	return json.Marshal(request{[]resourceSpans{of}})
}
