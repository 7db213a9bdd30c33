package asked

import (
	"strings"
	"testing"
)

func TestAnswers(t *testing.T) {
	for _, tt := range []struct {
		name, printed string
		do            string // "" is none
		err           string // in the error
	}{
		{"by itself", `{"do":"retry"}`, "retry", ""},
		{"named", `{"@":"answer","do":"ack"}` + "\n\n", "ack", ""},
		{"behind words of a library", "warming up\n" + `{"do":"fail"}` + "\n \n", "fail", ""},
		{"none", " \n", "", "it printed nothing, and not a JSON object with do"},
		{"words", "sure", "", `its answer "sure" is no JSON object with do`},
		{"words behind it", `{"do":"retry"}` + "\nbye", "", `its answer "bye" is no JSON object`},
		{"a list", `["retry"]`, "", "is no JSON object with do"},
		{"null", `null`, "", "is no JSON object with do"},
		{"another kind", `{"do":5}`, "", "is no JSON object with do: do is of the wrong type: number"},
		{"another line", `{"@":"ack","do":"retry"}`, "", `it answered "ack", and not answer`},
		{"long", strings.Repeat("x", 1000), "", strings.Repeat("x", 80) + `"… is no JSON object`},
	} {
		var got struct {
			Do string `json:"do"`
		}
		err := Answer([]byte(tt.printed), "do", &got)
		switch {
		case tt.err == "" && (err != nil || got.Do != tt.do):
			t.Errorf("%s: %q, %v", tt.name, got.Do, err)
		case tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)):
			t.Errorf("%s: %v, want %q", tt.name, err, tt.err)
		case err != nil && strings.Contains(err.Error(), "Go "):
			t.Errorf("%s: %v speaks of our types", tt.name, err)
		}
	}
}

func TestJSONOrNull(t *testing.T) {
	for text, want := range map[string]string{`{"a":1}`: `{"a":1}`, `{"a"`: "null", "": "null", "\xff": "null"} {
		if got := string(JSON([]byte(text))); got != want {
			t.Errorf("%q is %s, want %s", text, got, want)
		}
	}
}
