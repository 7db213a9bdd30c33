package redact

import (
	"strings"
	"testing"

	"oarlock/internal/must"
)

// hidden is in no line that was redacted.
const hidden = "s3cr3t"

func TestSecretsAreInNoLine(t *testing.T) {
	r := must.Get(New([]string{"$..password", "$..token", "$..authorization"}, []string{`card \d+ s3cr3t`}))(t)
	for _, line := range []string{
		`{"user":"ann","password":"s3cr3t"}`,
		`{"a":[{"b":{"Password":"s3cr3t"}}]}`,
		`{"password":"x","password":"s3cr3t"}`,
		`{"pass\u0077ord":"s3cr3t"}`,
		`{"password":{"old":"s3cr3t","new":["s3cr3t"]}}`,
		`{"password":123,"access_token":"s3cr3t"}`,
		`{"body":"{\"password\":\"s3cr3t\"}"}`,
		`{"body":"{\"body\":\"{\\\"password\\\":\\\"s3cr3t\\\"}\"}"}`,
		`cut: {"user":"ann","password":"s3cr3t with \" quote s3cr3t`,
		`password=s3cr3t`,
		`export DB_PASSWORD='s3cr3t and more'`,
		`Authorization: Bearer s3cr3t`,
		`{'token': 's3cr3t'}`,
		`GET /?a=1&token=s3cr3t&b=2`,
		`connecting to redis://:s3cr3t@db:6379/0`,
		`postgres://ann:s3cr3t@db/x`,
		`card 4111 s3cr3t`,
	} {
		got, did := r.Line(line)
		if strings.Contains(got, hidden) || !did || !strings.Contains(got, Blank) {
			t.Errorf("%s\n  becomes %s, %v", line, got, did)
		}
	}
	for _, line := range []string{"", "working on cat.jpg", `{"user":"ann", "n": 1.0}`, "tokens counted: many", "https://example.org/a:b@c"} {
		if got, did := r.Line(line); got != line || did {
			t.Errorf("%q becomes %q, %v", line, got, did)
		}
	}
	if got, _ := r.Line("GET /?a=1&token=s3cr3t&b=2"); !strings.HasSuffix(got, "&b=2") {
		t.Errorf("more is gone than the secret: %q", got)
	}
}

// Time is in proportion to the line, whatever is in it.
func TestHostileLines(t *testing.T) {
	r := must.Get(New([]string{"$..password"}, nil))(t)
	for _, piece := range []string{"{", "[", `{"password":`, `password="`, `\"`, "://a:", "password=" + hidden + " "} {
		if got, _ := r.Line(strings.Repeat(piece, 1<<20/len(piece))); strings.Contains(got, hidden) {
			t.Errorf("%q repeated: a secret is left", piece)
		}
	}
}

func TestWhatCannotBeAPath(t *testing.T) {
	for _, path := range []string{"password", "$..", "$.a."} {
		if _, err := New([]string{path}, nil); err == nil {
			t.Errorf("%q is taken", path)
		}
	}
	if _, err := New(nil, []string{"("}); err == nil {
		t.Error("a broken expression is taken")
	}
}
