package protocol

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"
)

func TestAppendJob(t *testing.T) {
	j := &Job{
		Run: "k7q2vd", JID: "a1", Klass: "Send", Queue: "mail", Key: "k \"1\"", Data: []byte(`{"to":"x"}`), Tags: []string{"a", `b"c`},
		Priority: 1.5, Attempt: 1, Retries: 5, Remaining: 5, Timeout: 5 * time.Minute, Lease: 59500 * time.Millisecond,
		Dir: "/tmp/x", Checkpoint: []byte(`[7]`),
	}
	want := `{"@":"job","run":"k7q2vd","jid":"a1","klass":"Send","queue":"mail","key":"k \"1\"","data":{"to":"x"},"tags":["a","b\"c"],"priority":1.5,` +
		`"attempt":1,"retries":5,"remaining":5,"timeout":300,"lease":59.5,"dir":"/tmp/x","checkpoint":[7]}` + "\n"
	if got := string(AppendJob(nil, j)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	want = `{"@":"job","run":"","jid":"","klass":"","queue":"","data":null,"tags":[],"priority":0,"attempt":0,"retries":0,"remaining":0}` + "\n"
	if got := string(AppendJob(nil, &Job{Priority: math.NaN()})); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := string(AppendData([]byte("x"), j)); got != "x{\"to\":\"x\"}\n" {
		t.Errorf("data line %q", got)
	}
}

// Payloads reach the child byte for byte, whatever a decoder would make of them.
func TestPayloadIsUntouched(t *testing.T) {
	payloads := []string{
		`[]`, `{}`, `{"a":[],"b":{}}`, `9007199254740993`, `-12345678901234567890`, `1e400`, `0.1000000000000000055511151231257827`, `-0`, `1E5`, `1.0`,
		`"\u00e9\ud83d\ude00\/\b\f\n\r\t\"\\"`, `"é😀 "`, `" tab	"`, `{"a":1,"a":2}`, `{"b":1,"a":2}`, ` { "spaced" : [ 1 , 2 ] } `,
		strings.Repeat("[", 5000) + strings.Repeat("]", 5000), `"` + strings.Repeat("x", 1<<20) + `"`, `null`, `true`,
	}
	for _, payload := range payloads {
		if payload == "\" tab\t\"" {
			continue // not JSON: a tab must be escaped
		}
		if !Valid([]byte(payload)) {
			t.Errorf("%.40q is said not to be JSON", payload)
		}
		line := AppendJob(nil, &Job{Data: []byte(payload)})
		if !bytes.Contains(line, []byte(`"data":`+payload+`,"tags"`)) {
			t.Errorf("%.40q became %.200q", payload, line)
		}
	}
}

// A payload that was stored on several lines still makes one line.
func TestPayloadStaysOnOneLine(t *testing.T) {
	line := AppendJob(nil, &Job{Data: []byte("{\r\n \"a\": [1,\n2]\n}")})
	if n := bytes.Count(line, []byte("\n")); n != 1 {
		t.Errorf("%d line feeds in %q", n, line)
	}
	var got struct{ Data struct{ A []int } }
	if err := json.Unmarshal(line, &got); err != nil || len(got.Data.A) != 2 {
		t.Errorf("%v, %+v", err, got)
	}
}

func TestAppendString(t *testing.T) {
	for _, s := range []string{"", "plain", "é😀", "\"\\/\b\f\n\r\t\x00\x1f\x7f", "\u2028", "a\xffb\xc3", "\xed\xa0\x80"} {
		quoted := appendString(nil, s)
		var got string
		if err := json.Unmarshal(quoted, &got); err != nil {
			t.Errorf("%q became %s: %v", s, quoted, err)
		}
		if want := string([]rune(s)); got != want { // invalid bytes become U+FFFD
			t.Errorf("%q came back as %q", s, got)
		}
	}
}

func TestAppendOthers(t *testing.T) {
	for got, want := range map[string]string{
		string(AppendHello(nil, "web1-4711-mail-k7q2", 1048576)):                  `{"@":"hello","v":1,"worker":"web1-4711-mail-k7q2","max_line":1048576}`,
		string(AppendCancel(nil, "aaa", ReasonLockLost, 5*time.Second)):           `{"@":"cancel","run":"aaa","reason":"lock_lost","grace":5}`,
		string(AppendCancel(nil, "aaa", ReasonTimeout, 1234567*time.Microsecond)): `{"@":"cancel","run":"aaa","reason":"timeout","grace":1.235}`,
		string(AppendShutdown(nil, 500*time.Millisecond)):                         `{"@":"shutdown","grace":0.5}`,
		string(AppendFork(nil, 17, nil)):                                          `{"@":"fork","slot":17}`,
		string(AppendFork(nil, 0, map[string]string{"B": "\"", "A": "1"})):        `{"@":"fork","slot":0,"env":{"A":"1","B":"\""}}`,
	} {
		if got != want+"\n" {
			t.Errorf("got %q; want %q", got, want)
		}
	}
}

func TestVisible(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"", ""},
		{"plain, tab\tand é 😀", "plain, tab\tand é 😀"},
		{"\x1b[31mred\x1b[0m", `\x1b[31mred\x1b[0m`},
		{"a\nb\rc", `a\nb\rc`},
		{"\x00\x07\x7f", `\x00\x07\x7f`},
		{"caf\xe9", `caf\xe9`},
		{"\xed\xa0\x80", `\xed\xa0\x80`},
		{"\u202eevil\u2028", `\u{202e}evil\u{2028}`},
		{"\u0085\U000e0001", `\u{0085}\u{e0001}`},
		{"\ufffd", "\ufffd"},
	} {
		if got := string(Visible(nil, []byte(tt.in))); got != tt.want {
			t.Errorf("Visible(%q) = %q; want %q", tt.in, got, tt.want)
		}
	}
	if got := string(Visible([]byte("x"), []byte("\n"))); got != `x\n` {
		t.Errorf("appended %q", got)
	}
}

func TestVisibleJSON(t *testing.T) {
	in := "{\n  \"a\": \"é\\n\x7f\u009b\u202e\U000e0001\xff\"\n}\n"
	want := "{\n  \"a\": \"é\\n" + `\u007f\u009b\u202e\udb40\udc01\ufffd` + "\"\n}\n"
	if got := string(VisibleJSON(nil, []byte(in))); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestAGroupIsAShortNameOnOneLine(t *testing.T) {
	long := strings.Repeat("é", 50000)
	for _, tt := range []struct{ in, want string }{
		{`"disk full"`, "disk full"},
		{`"a\u0000b\nc\td\u001b[2J"`, `a\x00b\nc d\x1b[2J`},
		{`"` + long + `"`, strings.Repeat("é", MaxGroup/2)},
		{`"x` + long + `"`, "x" + strings.Repeat("é", MaxGroup/2-1)},
		{"17", "17"},
		{"null", ""},
	} {
		for _, verb := range []string{VerbRetry, VerbFail} {
			s, ok := ParseStatus([]byte(`{"@":"` + verb + `","group":` + tt.in + `}`))
			if !ok || s.Err != nil || s.Verdict.Group != tt.want {
				t.Errorf("%s in %.40s: got %+v", verb, tt.in, s.Verdict)
			}
		}
	}
}

func TestExitTable(t *testing.T) {
	want := map[int]ExitAction{
		0: ExitAck, 1: ExitOnError, 2: ExitOnError, 64: ExitOnError, 65: ExitFail, 66: ExitFail, 69: ExitRetry, 74: ExitRetry,
		75: ExitRetry, 77: ExitFail, 99: ExitRelease, 100: ExitFail, 111: ExitRetry, 126: ExitMisconfigured, 127: ExitMisconfigured, 255: ExitOnError,
	}
	for code, action := range want {
		if got := ExitTable(nil).Action(code); got != action {
			t.Errorf("exit %d: %v; want %v", code, got, action)
		}
	}
	own := ExitTable{0: ExitFail, 3: ExitRetry}
	if own.Action(0) != ExitFail || own.Action(3) != ExitRetry || own.Action(65) != ExitFail {
		t.Errorf("with %v: %v %v %v", own, own.Action(0), own.Action(3), own.Action(65))
	}
	for _, name := range []string{"ack", "retry", "fail", "release"} {
		action, err := ParseExitAction(name)
		if err != nil || action.String() != name {
			t.Errorf("%s: %v, %v", name, action, err)
		}
	}
	if _, err := ParseExitAction("explode"); err == nil {
		t.Error("an unknown action was accepted")
	}
	if got := ExitGroup(65); got != "exit-65" {
		t.Error(got)
	}
}
