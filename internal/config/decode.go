package config

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// decoder puts TOML values into our tables. It goes on after a problem, so that the
// user learns of all of them at once.
type decoder struct {
	env      func(string) (string, bool)
	noPools  bool
	places   map[string]place // where each key and table was set, by path
	problems Problems
	secrets  []string        // variables that were read for the table of Redis
	unread   map[string]bool // keys that could not be decoded; their values are not the user's
}

// place is where a value came from: a file, the environment or a flag.
type place struct {
	file string // or words for where else
	line int    // 0 if it has none
}

// value is a type of ours that reads itself from a decoded TOML value.
type value interface{ fromTOML(any) error }

// bad notes a problem with the key at path. One whose words are an error of the host may pass.
func (d *decoder) bad(path, why string, args ...any) {
	ofHost := slices.ContainsFunc(args, func(arg any) bool {
		err, ok := arg.(error)
		return ok && Passes(err)
	})
	d.note(path, fmt.Sprintf(why, args...), ofHost)
}

func (d *decoder) note(path, why string, passing bool) {
	if d.unread[path] {
		return
	}
	at := d.place(path)
	d.problems = append(d.problems, Problem{File: at.file, Line: at.line, Key: path, Why: why, Passing: passing})
}

// place is where path was set, or else the nearest table around it.
func (d *decoder) place(path string) place {
	for path != "" {
		if at, ok := d.places[path]; ok {
			return at
		}
		path = path[:max(strings.LastIndexByte(path, '.'), 0)]
	}
	return place{}
}

// isSet reports whether the user said anything about path.
func (d *decoder) isSet(path string) bool {
	_, ok := d.places[path]
	return ok
}

// table decodes in into the struct out, whose tags name the keys.
func (d *decoder) table(path string, in map[string]any, out reflect.Value) {
	fields := fieldsOf(out)
	for _, key := range slices.Sorted(maps.Keys(in)) {
		field, ok := fields[key]
		if !ok {
			d.unknown(path, key, fields)
			continue
		}
		d.value(join(path, key), in[key], field)
	}
}

// unknown tells of a key that the table at path, which has these fields, does not know.
func (d *decoder) unknown(path, key string, fields map[string]reflect.Value) {
	known := slices.Sorted(maps.Keys(fields))
	at := join(path, key)
	if below := below(fields, known, key); below != "" {
		d.bad(at, "unknown key here; it is %s", join(path, below))
		return
	}
	if near := Nearest(key, known); near != "" {
		d.bad(at, "unknown key; did you mean %q?", near)
		return
	}
	d.bad(at, "unknown key; known here: %s", strings.Join(known, ", "))
}

// below is where a table below these fields, whose names are known, has a key, as "sandbox.user"; "" if none has it.
func below(fields map[string]reflect.Value, known []string, key string) string {
	for _, name := range known {
		if fields[name].Kind() != reflect.Struct {
			continue
		}
		inner := fieldsOf(fields[name])
		if _, is := inner[key]; is {
			return join(name, key)
		}
		if deeper := below(inner, slices.Sorted(maps.Keys(inner)), key); deeper != "" {
			return join(name, deeper)
		}
	}
	return ""
}

// value decodes one value into the field out.
func (d *decoder) value(path string, in any, out reflect.Value) {
	if text, ok := in.(string); ok {
		in = d.expand(path, text)
		if isVariable(text) {
			in = typed(in.(string), out)
		}
	}
	if own, ok := out.Addr().Interface().(value); ok {
		if err := own.fromTOML(in); err != nil {
			d.bad(path, "%v", err)
		}
		return
	}
	switch out.Kind() {
	case reflect.String:
		set(d, path, in, "a string", func(v string) { out.SetString(v) })
	case reflect.Bool:
		set(d, path, in, "true or false", func(v bool) { out.SetBool(v) })
	case reflect.Int:
		set(d, path, in, "a whole number", func(v int64) { out.SetInt(v) })
	case reflect.Float64:
		if whole, ok := in.(int64); ok {
			in = float64(whole)
		}
		set(d, path, in, "a number", func(v float64) { out.SetFloat(v) })
	case reflect.Struct:
		set(d, path, in, "a table", func(v map[string]any) { d.table(path, v, out) })
	case reflect.Slice:
		set(d, path, in, `a list, such as ["a", "b"]`, func(v []any) { d.slice(path, v, out) })
	case reflect.Map:
		set(d, path, in, "a table", func(v map[string]any) { d.entries(path, v, out) })
	default:
		panic("config: a field of a kind that no table has: " + out.Kind().String())
	}
}

// set hands in to put if it is a T, or else says what was wanted.
func set[T any](d *decoder, path string, in any, want string, put func(T)) {
	if v, ok := in.(T); ok {
		put(v)
		return
	}
	d.bad(path, "must be %s; got %s", want, describe(in))
}

func (d *decoder) slice(path string, in []any, out reflect.Value) {
	if slices.Contains(splitLists, path[strings.LastIndexByte(path, '.')+1:]) {
		in = d.split(path, in)
	}
	list := reflect.MakeSlice(out.Type(), len(in), len(in))
	for i, item := range in {
		d.value(path, item, list.Index(i))
	}
	out.Set(list)
}

// entries decodes a table whose keys the user chooses. What stands there begins with its defaults.
func (d *decoder) entries(path string, in map[string]any, out reflect.Value) {
	for _, key := range slices.Sorted(maps.Keys(in)) {
		entry := reflect.New(out.Type().Elem()).Elem()
		switch each := entry.Addr().Interface().(type) {
		case *Pool:
			*each = DefaultPool()
		case *Queue:
			*each = DefaultQueue()
		case *Recurring:
			*each = DefaultRecurring()
		case *Throttle:
			*each = DefaultThrottle()
		case *Window:
			*each = DefaultWindow()
		case *Klass:
			*each = DefaultKlass()
		}
		d.value(join(path, key), in[key], entry)
		if out.IsNil() {
			out.Set(reflect.MakeMap(out.Type()))
		}
		out.SetMapIndex(reflect.ValueOf(key), entry)
	}
}

// fieldsOf gives the fields of a struct by the keys of their tags.
func fieldsOf(table reflect.Value) map[string]reflect.Value {
	fields := make(map[string]reflect.Value)
	for i := range table.NumField() {
		if key := table.Type().Field(i).Tag.Get("toml"); key != "-" {
			fields[key] = table.Field(i)
		}
	}
	return fields
}
