package web

import (
	"encoding/json"
	"mime"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"oarlock/internal/explain"
	"oarlock/internal/hub"
	"oarlock/internal/must"
	"oarlock/internal/ops"
	"oarlock/internal/rollcall"
	"oarlock/queue"
	"oarlock/supervisor"
)

// documented is the description of the API.
var documented = sync.OnceValues(func() (*openapi3.T, error) { return openapi3.NewLoader().LoadFromData(description) })

func theDescription(t *testing.T) *openapi3.T {
	t.Helper()
	doc := must.Get(documented())(t)
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
	if path == "" || w.Code/100 == 3 { // net/http leads to the path as it is written without dots
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

// Every field that a reply may have is described: a new one belongs into openapi.json.
func TestEveryFieldIsDescribed(t *testing.T) {
	doc := theDescription(t)
	walked := map[reflect.Type]bool{}
	var walk func(of reflect.Type, schema *openapi3.SchemaRef, at string)
	walk = func(of reflect.Type, schema *openapi3.SchemaRef, at string) {
		switch {
		case schema == nil || of == reflect.TypeFor[json.RawMessage]() || of == reflect.TypeFor[time.Time]():
		case of.Kind() == reflect.Pointer:
			walk(of.Elem(), schema, at)
		case of.Kind() == reflect.Slice:
			walk(of.Elem(), schema.Value.Items, at+"[]")
		case of.Kind() == reflect.Struct && !walked[of]:
			walked[of] = true
			for _, field := range reflect.VisibleFields(of) {
				name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
				if !field.IsExported() || field.Anonymous || name == "-" || name == "" {
					continue
				}
				inner := schema.Value.Properties[name]
				if inner == nil {
					t.Errorf("openapi.json lacks %s.%s, %s", at, name, field.Type)
				}
				walk(field.Type, inner, at+"."+name)
			}
		}
	}
	for name, value := range map[string]any{
		"Job": ops.Job{}, "JobList": ops.Part[ops.Job]{}, "Queue": queueTold{}, "Stats": ops.Stats{}, "Backlogs": ops.Backlogs{}, "Hold": explain.Hold{}, "EntryList": ops.Part[explain.Entry]{},
		"FailureGroups": ops.FailureGroups{}, "Worker": ops.Worker{}, "Deed": deed{}, "Recurring": ops.Recurring{}, "Throttle": ops.Throttle{}, "Results": ops.Results{}, "BulkPlan": ops.BulkPlan{},
		"BulkDone": ops.BulkDone{}, "Roll": rollcall.Roll{}, "Snapshot": supervisor.Snapshot{}, "Line": hub.Line{}, "Event": hub.Event{}, "RedisEvent": ops.Event{}, "Problem": Problem{},
		"PutDone": putDone{}, "PutLine": putLine{}, "Bulk": bulk{}, "KeyList": ops.Keys{}, "PassedKey": ops.PassedKey{}, "DroppedKey": ops.DroppedKey{}, "FreedKeys": ops.FreedKeys{},
		"SortedJobs": ops.SortedJobs{}, "ScheduledDeed": ops.ScheduledDeed{}, "Rules": ops.Rules{}, "RulesDifference": ops.RulesDifference{}, "RuleChanges": ops.ChangedRules{}, "Needs": ops.Needs{},
		"WindowList": ops.Part[ops.NextWindow]{}, "KlassList": ops.Part[ops.KlassRule]{}, "ListList": ops.Part[ops.ListCounts]{}, "ListCounts": queue.ListCounts{}, "EntryPart": ops.Part[ops.Entry]{},
		"Pushed": pushed{}, "Retried": retried{},
	} {
		walk(reflect.TypeOf(value), doc.Components.Schemas[name], name)
	}
}
