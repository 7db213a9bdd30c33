package protocol

import (
	"strings"
	"testing"
)

func TestMemberAsText(t *testing.T) {
	deep := strings.Repeat("[", 20000) + strings.Repeat("]", 20000)
	for _, tt := range []struct{ data, path, want string }{
		{`{"a":"b"}`, "a", "b"},
		{` { "a" : { "b" : 1.50 } } `, "a.b", "1.50"},
		{`{"a":9007199254740993}`, "a", "9007199254740993"},
		{`{"a":1e400}`, "a", "1e400"},
		{`{"a":-0.0}`, "a", "-0.0"},
		{`{"a":true,"b":false}`, "a", "true"},
		{`{"a":""}`, "a", ""},
		{`{"a":1,"a":2}`, "a", "2"},
		{`{"a":{"b":1},"a":{}}`, "a.b", "-"},
		{`{"\u0061":"x"}`, "a", "x"},
		{`{"a":"\u00e9\n\"\\ $(rm)"}`, "a", "é\n\"\\ $(rm)"},
		{`{"a":"\u0000"}`, "a", "\x00"},
		{`{"a":"\ud800"}`, "a", "\ufffd"},
		{"{\"a\":\"\xff\"}", "a", "\ufffd"},
		{`{"a":{"x": [1, "a b\" ]"] , "y" : {}}}`, "a", `{"x":[1,"a b\" ]"],"y":{}}`},
		{`{"a":` + deep + `}`, "a", deep},
		{`{"a":null}`, "a", "-"},
		{`{"a":{"b":1}}`, "a.c", "-"},
		{`{"a":"text"}`, "a.b", "-"},
		{`[1]`, "0", "-"},
		{`{}`, "a", "-"},
		{` "whole" `, "", "whole"},
		{`{"a": 1}`, "", `{"a":1}`},
		{`null`, "", "-"},
		{``, "", "-"},
	} {
		var path []string
		if tt.path != "" {
			path = strings.Split(tt.path, ".")
		}
		value, found := Member([]byte(tt.data), path...)
		got := "-"
		if found {
			got = Text(value)
		}
		if got != tt.want {
			t.Errorf("%q of %.60q is %.60q, want %.60q", tt.path, tt.data, got, tt.want)
		}
	}
}
