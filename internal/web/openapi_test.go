package web

import (
	"encoding/json"
	"mime"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
)

// described is the description of the API.
var described = sync.OnceValues(func() (*openapi3.T, error) { return openapi3.NewLoader().LoadFromData(description) })

func theDescription(t *testing.T) *openapi3.T {
	t.Helper()
	doc, err := described()
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// shortPath is the path of a route as the description has it; "" if it is none of the API.
func shortPath(pattern string) string {
	_, path, _ := strings.Cut(pattern, " ")
	path, is := strings.CutPrefix(path, "/api/v1")
	if !is {
		return ""
	}
	return strings.TrimSuffix(path, "{$}")
}

// The description is sound, and of the very routes that there are.
func TestDescription(t *testing.T) {
	doc := theDescription(t)
	if err := doc.Validate(t.Context()); err != nil {
		t.Error(err)
	}
	var there, told []string
	a, _ := quietly(nil)
	for _, route := range a.Routes() {
		if path := shortPath(route.pattern()); path != "" {
			there = append(there, route.Method+" "+path)
		}
	}
	for path, item := range doc.Paths.Map() {
		for method := range item.Operations() {
			told = append(told, method+" "+path)
		}
	}
	slices.Sort(there)
	slices.Sort(told)
	if !slices.Equal(there, told) {
		t.Errorf("there are\n%v\ndescribed are\n%v", there, told)
	}
	if w := as(t, "read").ask(a, "GET", "/api/v1/openapi.json", ""); w.Code != 200 || !json.Valid(w.Body.Bytes()) {
		t.Errorf("it is answered by %d", w.Code)
	}
}

// asDescribed fails the test if an answer is not one of those described for the request.
func asDescribed(t *testing.T, a *App, r *http.Request, w *httptest.ResponseRecorder) {
	t.Helper()
	_, pattern := a.mux.Handler(unprefixed(r, a.o.Prefix))
	path := shortPath(pattern)
	if path == "" || w.Body.Len() == 0 {
		return
	}
	operation := theDescription(t).Paths.Value(path).GetOperation(r.Method)
	response := operation.Responses.Status(w.Code)
	if response == nil {
		t.Errorf("%s: status %d is not described", pattern, w.Code)
		return
	}
	kind, _, _ := mime.ParseMediaType(w.Header().Get("Content-Type"))
	media := response.Value.Content[kind]
	if media == nil {
		t.Errorf("%s: %d with %q is not described", pattern, w.Code, kind)
		return
	}
	texts := [][]byte{w.Body.Bytes()}
	if kind == "application/x-ndjson" {
		texts = texts[:0]
		for line := range strings.Lines(w.Body.String()) {
			texts = append(texts, []byte(line))
		}
		texts = texts[:min(len(texts), 100)]
	}
	for _, text := range texts {
		var value any
		if err := json.Unmarshal(text, &value); err != nil {
			t.Errorf("%s: %v in %.200s", pattern, err, text)
			return
		}
		if err := media.Schema.Value.VisitJSON(value); err != nil {
			t.Errorf("%s: not as described: %.800v\n%.400s", pattern, err, text)
		}
	}
}
