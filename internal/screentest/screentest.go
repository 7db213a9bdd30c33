// Package screentest has the text that somebody else may have chosen, and tells whether a terminal would obey it: for
// tests of what is printed for people.
package screentest

import (
	"reflect"
	"strings"
	"testing"
	"unicode"
)

// Hostile is a text as somebody else may have chosen it: for a job, a queue, a group, a line
// of log. It tries to be a line of its own, to name the window, to colour and to turn what
// follows, and to be more than one column.
const Hostile = "v\nFORGED\n<2>FORGED\r\x1b]0;own\a\x1b[31m\u009b2J\u202e\u2028\x7f\xff\tFORGED\x00w"

// Clean fails if a terminal would obey any of text, or take a part of Hostile for a line.
func Clean(t *testing.T, what, text string) {
	t.Helper()
	for line := range strings.SplitSeq(text, "\n") {
		if bad := strings.IndexFunc(line, func(r rune) bool { return !unicode.IsGraphic(r) && r != '\t' }); bad >= 0 {
			t.Errorf("%s: shows %q in %q", what, line[bad:min(bad+4, len(line))], line)
			return
		}
		if strings.HasPrefix(line, "FORGED") || strings.HasPrefix(line, "<2>") {
			t.Errorf("%s: a line is forged: %q", what, line)
			return
		}
	}
}

// Fill makes all texts below v, which can be set, Hostile, and all lists one long.
func Fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(Hostile)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		Fill(v.Elem())
	case reflect.Slice:
		if v.Type().Elem().Kind() != reflect.Uint8 {
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
			Fill(v.Index(0))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				Fill(v.Field(i))
			}
		}
	}
}
