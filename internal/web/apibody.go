package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"oarlock/internal/ops"
)

// body reads a JSON object into the struct at out. An empty body is one that says nothing; a field that is not known is an
// error that names the nearest.
func (c *Call) body(out any) error {
	text, err := io.ReadAll(c.R.Body)
	if err != nil {
		return err
	}
	if kind, _, _ := mime.ParseMediaType(c.R.Header.Get("Content-Type")); len(text) > 0 && foreignTypes[kind] {
		return problem(http.StatusUnsupportedMediaType, "media_type", "%s is not understood here; send application/json", shown(kind))
	}
	return decode(text, out)
}

// foreignTypes are kinds of bodies that are certainly no JSON. `curl -d` says the first of JSON, too, so it is not among them
// but read.
var foreignTypes = map[string]bool{"multipart/form-data": true, "text/html": true, "application/xml": true, "text/xml": true}

// mostDepth is how deep the JSON of a request may be nested.
const mostDepth = 64

// dryRun reads a body that says nothing but whether something is only to be counted.
func (c *Call) dryRun() (bool, error) {
	var in struct {
		DryRun bool `json:"dry_run"`
	}
	err := c.body(&in)
	return in.DryRun, err
}

// decode reads a JSON object into the struct at out.
func decode(text []byte, out any) error {
	text = bytes.TrimSpace(text)
	if len(text) == 0 {
		return nil
	}
	if deeper(text, mostDepth) {
		return problem(http.StatusBadRequest, "bad_request", "the JSON is nested more than %d deep", mostDepth)
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(out)
	if err == nil {
		if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
			return problem(http.StatusBadRequest, "bad_request", "there is more behind the JSON; one object is wanted")
		}
		return nil
	}
	var kind *json.UnmarshalTypeError
	if errors.As(err, &kind) && kind.Field != "" {
		return badField(inJSON(kind.Field, out), "%s is not what it could be; %s is", kind.Value, jsonKind(kind.Type))
	}
	if name, is := strings.CutPrefix(err.Error(), "json: unknown field "); is {
		name = strings.Trim(name, `"`)
		return badField(name, "there is no such field%s", ops.Nearest(name, fields(out)))
	}
	return problem(http.StatusBadRequest, "bad_request", "not JSON as it is wanted: %s", strings.TrimPrefix(err.Error(), "json: "))
}

// inJSON is the path of a field of the struct at out without the names of structs that are embedded in it, of which JSON knows nothing.
func inJSON(path string, out any) string {
	for of := reflect.TypeOf(out).Elem(); of.Kind() == reflect.Struct; {
		first, rest, _ := strings.Cut(path, ".")
		f, is := of.FieldByName(first)
		if !is || !f.Anonymous || rest == "" {
			break
		}
		path, of = rest, f.Type
	}
	return path
}

// fields are the names of the fields of the struct at out, in JSON, and of those within them.
func fields(out any) (names []string) {
	var of func(t reflect.Type)
	of = func(t reflect.Type) {
		for _, f := range reflect.VisibleFields(t) {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name == "" || name == "-" {
				continue
			}
			names = append(names, name)
			within := f.Type
			if within.Kind() == reflect.Pointer {
				within = within.Elem()
			}
			if within.Kind() == reflect.Struct {
				of(within)
			}
		}
	}
	of(reflect.TypeOf(out).Elem())
	slices.Sort(names)
	return names
}

// jsonKind is what a type of ours is in JSON, in words.
func jsonKind(t reflect.Type) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Float32, reflect.Float64:
		return "a number"
	}
	return "a whole number"
}

// deeper reports whether objects and lists stand more than most deep in each other, whether or not the text is JSON.
func deeper(text []byte, most int) bool {
	depth, inString := 0, false
	for i := 0; i < len(text); i++ {
		switch b := text[i]; {
		case inString && b == '\\':
			i++
		case b == '"':
			inString = !inString
		case inString:
		case b == '{', b == '[':
			if depth++; depth > most {
				return true
			}
		case b == '}', b == ']':
			depth--
		}
	}
	return false
}
