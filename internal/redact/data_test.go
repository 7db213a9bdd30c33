package redact

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"oarlock/internal/must"
)

func TestSecretsAreInNoData(t *testing.T) {
	r := must.Get(New([]string{"$..password", "$.card.number", "$.users[*].id", "$..deep.inner"}, []string{`card \d+ s3cr3t`, `^40\d\d$`}))(t)
	for text, want := range map[string]string{
		`{"user":"ann","password":"s3cr3t"}`:                    `{"user":"ann","password":"•••"}`,
		`{ "a" : [ {"b":{"dbPassword" : "s3cr3t"} } ] }`:        `{ "a" : [ {"b":{"dbPassword" : "•••"} } ] }`,
		`{"pass\u0077ord":"s3cr3t","password":"s3cr3t"}`:        `{"pass\u0077ord":"•••","password":"•••"}`,
		`{"password":{"old":"s3cr3t}","n":["s3cr3t"]},"x":1.0}`: `{"password":"•••","x":1.0}`,
		`{"password":12345,"n":12345678901234567890}`:           `{"password":"•••","n":12345678901234567890}`,
		`{"card":{"number":"s3cr3t","x":"n"},"number":7}`:       `{"card":{"number":"•••","x":"n"},"number":7}`,
		`{"a":{"card":{"number":7}}}`:                           `{"a":{"card":{"number":7}}}`,
		`{"users":[{"id":"s3cr3t"},{"id":["s3cr3t"]}]}`:         `{"users":[{"id":"•••"},{"id":"•••"}]}`,
		`{"a":[{"deep":{"inner":"s3cr3t","outer":1}}]}`:         `{"a":[{"deep":{"inner":"•••","outer":1}}]}`,
		`{"body":"{\"password\":\"s3cr3t\"}"}`:                  `{"body":"{\"password\":•••}"}`,
		`{"body":"x\nDB_PASSWORD=s3cr3t\ny"}`:                   `{"body":"x\nDB_PASSWORD=•••\ny"}`,
		`"card 4111 s3cr3t"`:                                    `"•••"`,
		`[4011,4111]`:                                           `["•••",4111]`,
		`{"password":"s3cr3t with \" quote s3cr`:                `{"password":"•••"`,
		`{"password":["s3cr3t`:                                  `{"password":"•••"`,
		`{"password":"s3cr3t\`:                                  `{"password":"•••"`,
		`{"a":1}}]{"password":"s3cr3t"}`:                        `{"a":1}}]{"password":"•••"}`,
		`{"a":"b","c":[true,null,{}]}`:                          "",
		``:                                                      "",
		`not json`:                                              "",
	} {
		got, did := r.Data([]byte(text))
		if want == "" {
			want = text
		}
		if string(got) != want || did != (want != text) {
			t.Errorf("%s\n  becomes %s, %v\n  wanted  %s", text, got, did, want)
		}
	}
}

// Whatever is cut off, what is left of a secret is blanked; and whole documents stay documents.
func TestCutData(t *testing.T) {
	r := must.Get(New([]string{"$..password"}, nil))(t)
	whole := []byte(`{"a":[1,{"password":{"x":["s3cr3t","s3cr3t"]}}],"password":"s3cr3t \"s3cr3t\"","z":"fine"}`)
	for end := range whole {
		if got, _ := r.Data(whole[:end]); bytes.Contains(got, []byte("s3c")) {
			t.Errorf("%s becomes %s", whole[:end], got)
		}
	}
	if got, _ := r.Data(whole); !json.Valid(got) || !bytes.Contains(got, []byte("fine")) {
		t.Errorf("it becomes %s", got)
	}
	for _, piece := range []string{"{", "[", `{"a":`, `{"password":`, `{"password":[`, `\`, `"`} {
		r.Data([]byte(strings.Repeat(piece, 1<<17/len(piece))))
	}
}

func FuzzData(f *testing.F) {
	r := must.Get(New([]string{"$..password", "$.a[*].b"}, []string{"x+y"}))(f)
	f.Add([]byte(`{"password":"s3cr3t","a":[{"b":1}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		got, did := r.Data(text)
		if !did && !bytes.Equal(got, text) {
			t.Errorf("%q becomes %q, and nothing was blanked", text, got)
		}
		if json.Valid(text) && !json.Valid(got) {
			t.Errorf("%q becomes %q", text, got)
		}
	})
}
