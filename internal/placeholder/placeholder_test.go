package placeholder

import (
	"errors"
	"strings"
	"testing"

	"oarlock/internal/must"
)

func TestFill(t *testing.T) {
	value := func(n Name) (string, error) {
		if n.What == Slot {
			return "", errors.New("no slot")
		}
		return "<" + n.String()[1:len(n.String())-1] + ">", nil
	}
	for text, want := range map[string]string{
		"":                           "",
		"plain":                      "plain",
		"{jid}":                      "<jid>",
		"a{jid}b{data.x.y}c":         "a<jid>b<data.x.y>c",
		"{data}{data}":               "<data><data>",
		"{{jid}}":                    "{jid}",
		"{{{jid}}}":                  "{<jid>}",
		`{{"a":{{}}}}`:               `{"a":{}}`,
		"${data.x}":                  "$<data.x>",
		"{data.first name}":          "<data.first name>",
		"{data.größe}":               "<data.größe>",
		"{":                          "! a single '{' is half of a placeholder",
		"}":                          "! a single '}' is half",
		"a}b":                        "! a single '}' is half",
		"{jid":                       "! a single '{' is half",
		"{}":                         "! there is no placeholder {}",
		"{ jid}":                     "! there is no placeholder { jid}",
		"{JID}":                      "! there is no placeholder {JID}",
		"{jid.x}":                    "! {jid.x} has nothing in it",
		"{data.}":                    "! {data.} is no path",
		"{data..x}":                  "! {data..x} is no path",
		"{data.{jid}}":               "! {data.{jid} is no path",
		"{pool}-{slot}":              "! no slot",
		strings.Repeat("{{", 1<<16):  strings.Repeat("{", 1<<16),
		strings.Repeat("{jid}", 999): strings.Repeat("<jid>", 999),
	} {
		parsed, err := Parse(text)
		got := ""
		if err == nil {
			got, err = parsed.Fill(value)
		}
		if problem, bad := strings.CutPrefix(want, "! "); bad {
			if err == nil || !strings.HasPrefix(err.Error(), problem) {
				t.Errorf("%.40q gives %.40q, %v; want the error %s", text, got, err, problem)
			}
		} else if err != nil || got != want {
			t.Errorf("%.40q gives %.40q, %v; want %.40q", text, got, err, want)
		}
	}
}

// What a value says is not looked through again.
func TestFillOnlyOnce(t *testing.T) {
	text := must.Get(Parse("{data.x}{{jid}}"))(t)
	if got, err := text.Fill(func(Name) (string, error) { return "{jid}}}{{", nil }); err != nil || got != "{jid}}}{{{jid}" {
		t.Errorf("filled %q, %v", got, err)
	}
}
