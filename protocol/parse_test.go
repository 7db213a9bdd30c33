package protocol

import (
	"bytes"
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"
)

func ptr[T any](v T) *T { return &v }

func TestParseStatus(t *testing.T) {
	tests := []struct {
		line string
		want Status
	}{
		{`{"@":"ack"}`, Status{Verb: VerbAck, Verdict: &Verdict{Kind: Ack}}},
		{`{"@":"ack","run":"k7q2vd"}`, Status{Verb: VerbAck, Run: "k7q2vd", Verdict: &Verdict{Kind: Ack}}},
		{`{ "run" : "a" , "@" : "ack" } `, Status{Verb: VerbAck, Run: "a", Verdict: &Verdict{Kind: Ack}}},
		{`{"@":"ack","data":{"a":[9007199254740993]}}`, Status{Verb: VerbAck, Verdict: &Verdict{Kind: Ack, Data: []byte(`{"a":[9007199254740993]}`)}}},
		{`{"@":"ack","data":null}`, Status{Verb: VerbAck, Verdict: &Verdict{Kind: Ack}}},
		{`{"@":"ack","next":"b","delay":2,"depends":["x","y"]}`, Status{Verb: VerbAck, Verdict: &Verdict{Kind: Ack, Next: "b", Delay: ptr(2 * time.Second), Depends: []string{"x", "y"}}}},
		{`{"@":"retry"}`, Status{Verb: VerbRetry, Verdict: &Verdict{Kind: Retry}}},
		{`{"@":"retry","delay":0,"group":"g","message":"m\n","data":1}`, Status{Verb: VerbRetry, Verdict: &Verdict{Kind: Retry, Delay: ptr(time.Duration(0)), Group: "g", Message: "m\n", Data: []byte("1")}}},
		{`{"@":"retry","delay":-5}`, Status{Verb: VerbRetry, Verdict: &Verdict{Kind: Retry, Delay: ptr(time.Duration(0))}}},
		{`{"@":"retry","delay":1e400}`, Status{Verb: VerbRetry, Verdict: &Verdict{Kind: Retry, Delay: ptr(100 * 365 * 24 * time.Hour)}}},
		{`{"@":"fail","group":"g","message":404}`, Status{Verb: VerbFail, Verdict: &Verdict{Kind: Fail, Group: "g", Message: "404"}}},
		{`{"@":"release","delay":0.25}`, Status{Verb: VerbRelease, Verdict: &Verdict{Kind: Release, Delay: ptr(250 * time.Millisecond)}}},
		{`{"@":"park","run":"a","correlation":"order 17","timeout":3600,"checkpoint":{"step":2},"data":[1],"then":"complete"}`, Status{Verb: VerbPark, Run: "a", Verdict: &Verdict{
			Kind: Park, Correlation: "order 17", Timeout: ptr(time.Hour), Checkpoint: []byte(`{"step":2}`), Data: []byte("[1]"), Completes: true}}},
		{`{"@":"park","correlation":17,"then":"resume"}`, Status{Verb: VerbPark, Verdict: &Verdict{Kind: Park, Correlation: "17"}}},
		{`{"@":"park"}`, Status{Verb: VerbPark, Verdict: &Verdict{Kind: Park}}},
		{`{"@":"retry","response":"drop"}`, Status{Verb: VerbRetry, Verdict: &Verdict{Kind: Retry, DropResponse: true}}},
		{`{"@":"unknown"}`, Status{Verb: VerbUnknown, Verdict: &Verdict{Kind: Unknown}}},
		{`{"@":"unknown","run":"a","klass":"K","message":"no K here"}`, Status{Verb: VerbUnknown, Run: "a", Verdict: &Verdict{Kind: Unknown, Klass: "K", Message: "no K here"}}},
		{`{"@":"retry","raised":true,"message":"boom"}`, Status{Verb: VerbRetry, Verdict: &Verdict{Kind: Retry, Message: "boom", Raised: true}}},
		{`{"@":"retry","raised":false}`, Status{Verb: VerbRetry, Verdict: &Verdict{Kind: Retry}}},
		{`{"@":"fail","raised":true,"group":"g"}`, Status{Verb: VerbFail, Verdict: &Verdict{Kind: Fail, Group: "g", Raised: true}}},
		{`{"@":"fail","raised":null}`, Status{Verb: VerbFail, Verdict: &Verdict{Kind: Fail}}},
		{`{"@":"hello","v":[1,2],"lib":"python/1.0","caps":["cancel","x"],"slots":4,"threads":3}`, Status{Verb: VerbHello, Hello: &Hello{Versions: []int{1, 2}, Lib: "python/1.0", Caps: []string{"cancel", "x"}, Threads: 3}}},
		{`{"@":"hello","v":[1]}`, Status{Verb: VerbHello, Hello: &Hello{Versions: []int{1}}}},
		{`{"@":"progress","pct":40.5,"message":"m"}`, Status{Verb: VerbProgress, Progress: &Progress{Percent: ptr(40.5), Message: "m"}}},
		{`{"@":"progress","pct":400}`, Status{Verb: VerbProgress, Progress: &Progress{Percent: ptr(100.0)}}},
		{`{"@":"progress"}`, Status{Verb: VerbProgress, Progress: &Progress{}}},
		{`{"@":"heartbeat","run":"a"}`, Status{Verb: VerbHeartbeat, Run: "a"}},
		{`{"@":"checkpoint","data":[1]}`, Status{Verb: VerbCheckpoint, Data: []byte("[1]")}},
		{`{"@":"tag","run":"a","tags":["x","y"]}`, Status{Verb: VerbTag, Run: "a", Wish: &Wish{Verb: VerbTag, Tags: []string{"x", "y"}}}},
		{`{"@":"untag","jid":"j","tags":["x"]}`, Status{Verb: VerbUntag, JID: "j", Wish: &Wish{Verb: VerbUntag, JID: "j", Tags: []string{"x"}}}},
		{`{"@":"track"}`, Status{Verb: VerbTrack, Wish: &Wish{Verb: VerbTrack}}},
		{`{"@":"untrack"}`, Status{Verb: VerbUntrack, Wish: &Wish{Verb: VerbUntrack}}},
		{`{"@":"priority","priority":-1.5}`, Status{Verb: VerbPriority, Wish: &Wish{Verb: VerbPriority, Priority: -1.5}}},
		{`{"@":"note","message":"m","data":{"a":1}}`, Status{Verb: VerbNote, Wish: &Wish{Verb: VerbNote, Message: "m", Data: []byte(`{"a":1}`)}}},
		{`{"@":"cancel","jid":"j"}`, Status{Verb: VerbCancel, JID: "j", Wish: &Wish{Verb: VerbCancel, JID: "j"}}},
		{`{"@":"cancel","run":"a","reason":"shutdown","grace":5}`, Status{Verb: VerbEcho, Run: "a"}},
		{`{"@":"requeue","queue":"q","delay":2}`, Status{Verb: VerbRequeue, Wish: &Wish{Verb: VerbRequeue, Queue: "q", Delay: 2 * time.Second}}},
		{`{"@":"bye","reason":"old"}`, Status{Verb: VerbBye, Reason: "old"}},
		{`{"@":"log","run":"a","level":"warn","message":"m","rows":7,"x":null}`, Status{Verb: VerbLog, Run: "a", Log: &LogRecord{Level: "warn", Message: "m", Fields: []Field{{"rows", []byte("7")}, {"x", []byte("null")}}}}},
		{`{"@":"put","queue":"q","klass":"K","data":{"a":1},"delay":3,"priority":2,"retries":0,"tags":["t"],"depends":["d"],"timeout":60,"throttles":["th"],"jid":"j","if_exists":"never"}`,
			Status{Verb: VerbPut, JID: "j", Put: &Put{Queue: "q", Klass: "K", Data: []byte(`{"a":1}`), JID: "j", IfExists: "never", Delay: 3 * time.Second, Priority: 2, Retries: ptr(0), Tags: []string{"t"}, Depends: []string{"d"}, Timeout: time.Minute, Throttles: []string{"th"}}}},
		{`{"@":"put","queue":"q","key":"k","merge":"set","score":1.5}`, Status{Verb: VerbPut, Put: &Put{Queue: "q", Data: []byte("null"), Key: "k", Merge: "set", Score: ptr(1.5)}}},
		{`{"@":"put","queue":"q"}`, Status{Verb: VerbPut, Put: &Put{Queue: "q", Data: []byte("null")}}},
		{`{"@":"weather","run":"a","jid":"b","sky":{"c":1}}`, Status{Verb: "weather", Run: "a", JID: "b"}},
		{`{"@":""}`, Status{}},
		// Of a key that comes twice the last counts; keys and values may be escaped.
		{`{"@":"fail","group":"a","group":"b"}`, Status{Verb: VerbFail, Verdict: &Verdict{Kind: Fail, Group: "b"}}},
		{`{"\u0040":"\u0061ck","r\u0075n":"\ud83d\ude00"}`, Status{Verb: VerbAck, Run: "😀", Verdict: &Verdict{Kind: Ack}}},
		// Text that is not UTF-8 does not lose the verdict.
		{"{\"@\":\"fail\",\"message\":\"caf\xe9\"}", Status{Verb: VerbFail, Verdict: &Verdict{Kind: Fail, Message: "caf\ufffd"}}},
		{"{\"@\":\"ack\",\"data\":\"caf\xe9\"}", Status{Verb: VerbAck, Verdict: &Verdict{Kind: Ack, Data: []byte("\"caf\ufffd\"")}}},
	}
	for _, tt := range tests {
		got, ok := ParseStatus([]byte(tt.line))
		if !ok || !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s\n got  %s\n want %s (status line: %v)", tt.line, show(got), show(tt.want), ok)
		}
	}
}

func show(s Status) string {
	text, err := json.Marshal(s)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// A verdict that cannot be understood is a status line with an error.
func TestParseStatusErrors(t *testing.T) {
	for line, field := range map[string]string{
		`{"@":"ack","delay":"soon"}`:  "delay",
		`{"@":"ack","next":7}`:        "next",
		`{"@":"park","timeout":"1h"}`: "timeout",
		`{"@":"park","timeout":0}`:    "timeout",
		`{"@":"park","then":"fail"}`:  "then",
		`{"@":"park","correlation":"` + strings.Repeat("x", MaxCorrelation+1) + `"}`: "correlation",
		`{"@":"park","checkpoint":"` + strings.Repeat("x", MaxCheckpoint) + `"}`:     "checkpoint",
		`{"@":"retry","response":"keep"}`:                                            "response",
		`{"@":"ack","depends":"x"}`:                                                  "depends",
		`{"@":"ack","depends":["x",1]}`:                                              "depends",
		`{"@":"retry","delay":{}}`:                                                   "delay",
		`{"@":"fail","raised":"yes"}`:                                                "raised",
		`{"@":"unknown","klass":["K"]}`:                                              "klass",
		`{"@":"hello"}`:                                                              "v",
		`{"@":"hello","v":1}`:                                                        "v",
		`{"@":"progress","pct":"half"}`:                                              "pct",
		`{"@":"checkpoint"}`:                                                         "data",
		`{"@":"put","data":1}`:                                                       "queue",
		`{"@":"tag"}`:                                                                "tags",
		`{"@":"tag","tags":[]}`:                                                      "tags",
		`{"@":"tag","tags":"red"}`:                                                   "tags",
		`{"@":"untag","tags":["a",7]}`:                                               "tags",
		`{"@":"tag","tags":[""]}`:                                                    "tags",
		`{"@":"priority"}`:                                                           "priority",
		`{"@":"priority","priority":"high"}`:                                         "priority",
		`{"@":"note"}`:                                                               "message",
		`{"@":"note","message":"done"}`:                                              "message",
		`{"@":"note","message":"m","data":7}`:                                        "data",
		`{"@":"requeue","delay":"soon"}`:                                             "delay",
		`{"@":"requeue","queue":7}`:                                                  "queue",
		`{"@":"put","queue":"q","retries":-1}`:                                       "retries",
		`{"@":"put","queue":"q","timeout":"1h"}`:                                     "timeout",
		`{"@":"put","queue":"q","if_exists":"always"}`:                               "if_exists",
		`{"@":"put","queue":"q","if_exists":true}`:                                   "if_exists",
		`{"@":"put","queue":"q","priority":[],"x":"y"}`:                              "priority",
		`{"@":"put","queue":"q","key":"` + strings.Repeat("x", MaxKey+1) + `"}`:      "key",
		`{"@":"put","queue":"q","merge":"set"}`:                                      "key",
		`{"@":"put","queue":"q","score":1}`:                                          "key",
		`{"@":"put","queue":"q","key":"k","merge":"sum"}`:                            "merge",
		`{"@":"put","queue":"q","key":"k","merge":"set","jid":"j"}`:                  "merge",
		`{"@":"put","queue":"q","key":"k","score":"new"}`:                            "score",
	} {
		s, ok := ParseStatus([]byte(line))
		if !ok || s.Err == nil || !strings.HasPrefix(s.Err.Error(), field+" ") {
			t.Errorf("%s: status line %v, error %v; want one about %s", line, ok, s.Err, field)
		}
	}
}

// isStatus is the definition of a status line in terms of the standard decoder,
// which nests no deeper than 10,000 levels.
func isStatus(line []byte) bool {
	if len(line) == 0 || line[0] != '{' || !json.Valid(line) {
		return false
	}
	object := json.NewDecoder(bytes.NewReader(line))
	object.Token()
	for object.More() {
		name, _ := object.Token()
		var value json.RawMessage
		if object.Decode(&value) != nil {
			return false
		}
		if name == "@" {
			return value[0] == '"'
		}
	}
	return false
}

// Who adds members to a line by a text that was not escaped does not change what it says.
func TestTwiceTheSameKey(t *testing.T) {
	for line, want := range map[string]Status{
		`{"@":"progress","run":"a","message":"x","@":"fail"}`:   {Verb: VerbProgress, Run: "a"},
		`{"@":"fail","run":"a","message":"x","run":"b"}`:        {Verb: VerbFail, Run: "a"},
		`{"@":"ack","\u0040":null}`:                             {Verb: VerbAck},
		`{"@":"ack","run":"","message":"x","r\u0075n":"a"}`:     {Verb: VerbAck},
		`{"@":"weather","run":"a","message":"x","@":["ack"]}`:   {Verb: "weather", Run: "a"},
		`{"@":"put","run":"a","queue":"q","data":1,"@":"ack"}`:  {Verb: VerbPut, Run: "a"},
		`{"@":"checkpoint","data":1,"run":"a","run":"b","x":1}`: {Verb: VerbCheckpoint, Run: "a"},
	} {
		got, ok := ParseStatus([]byte(line))
		if !ok || got.Verb != want.Verb || got.Run != want.Run || got.Err == nil {
			t.Errorf("%s: %q about %q, %v; want an error, and %q about %q", line, got.Verb, got.Run, got.Err, want.Verb, want.Run)
		}
		if begin := Beginning([]byte(line[:len(line)-1])); begin.Verb != want.Verb {
			t.Errorf("%s: its beginning says %q", line, begin.Verb)
		}
	}
}

// A status line within a line is found by the run right behind its verb, in time in proportion to the text.
func isR(run []byte) bool { return string(run) == "r" }

func TestOwnAt(t *testing.T) {
	for _, tt := range []struct {
		text string
		want int
	}{
		{`{"@":"ack","run":"r"}`, 0},
		{`10%{"@":"ack","run":"r"}`, 3},
		{`x{"@": "ack", "run" : "r", "data": 1}`, 1},
		{`{"@":"fail"} {"@":"fail","run":"x"} {"@":"fail","run":"r"}`, 36},
		{`x{"@":"fail","message":"y","run":"r"}`, -1},
		{`x{"@":"weather","run":"r"}`, -1},
		{`{"@":"job","run":"r","data":{"@":"fail"}}`, -1},
		{`x{"@":"fail","run":"r`, -1},
		{`x{"@":"fail","run":"rr"}`, -1},
		{`x{"@":`, -1},
		{``, -1},
	} {
		if got := OwnAt([]byte(tt.text), isR); got != tt.want {
			t.Errorf("%s: at %d; want %d", tt.text, got, tt.want)
		}
	}
	for _, part := range []string{`{"@":`, `{"@":"`, `{"@":"\"`, `{"@":"ack","run":"`, `{"@":"ack",  `} {
		text := []byte(strings.Repeat(part, (1<<20)/len(part)))
		begin := processorTime(t)
		at := OwnAt(text, isR)
		if took := processorTime(t) - begin; at >= 0 || took > time.Minute {
			t.Errorf("a mebibyte of %s: at %d after %v", part, at, took)
		}
	}
}

func corpus(t testing.TB) [][]byte {
	t.Helper()
	text, err := os.ReadFile("testdata/lines.txt")
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.Split(bytes.TrimSuffix(text, []byte("\n")), []byte("\n"))
	if len(lines) < 200 {
		t.Fatalf("the corpus has only %d lines", len(lines))
	}
	return lines
}

func TestCorpusOfOddLines(t *testing.T) {
	statuses := 0
	for i, line := range corpus(t) {
		line = bytes.TrimSuffix(line, []byte("\r"))
		if deep(line) {
			continue // beyond what the standard decoder takes
		}
		_, got := ParseStatus(line)
		if want := isStatus(line); got != want {
			t.Errorf("line %d, %.80q: status line %v; want %v", i+1, line, got, want)
		}
		if got {
			statuses++
		}
		if got, want := Valid(line), json.Valid(line); got != want {
			t.Errorf("line %d, %.80q: valid %v; want %v", i+1, line, got, want)
		}
	}
	t.Logf("%d of them are status lines of unknown verbs", statuses)
}

func deep(line []byte) bool {
	return bytes.Count(line, []byte("["))+bytes.Count(line, []byte("{")) >= 10000
}

func FuzzParseStatus(f *testing.F) {
	for _, line := range corpus(f) {
		f.Add(line)
	}
	f.Add([]byte(`{"@":"ack","run":"k7q2vd","next":"b","delay":1.5,"depends":["a"]}`))
	f.Add([]byte(`{"@":"put","queue":"q","klass":"K","data":{},"retries":3,"tags":["x"]}`))
	f.Add([]byte(`{"@":"hello","v":[1],"lib":"x","caps":["cancel"],"slots":2}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		before := bytes.Clone(line)
		status, ok := ParseStatus(line)
		if !bytes.Equal(line, before) {
			t.Fatal("the line was changed")
		}
		if deep(line) {
			return
		}
		if want := isStatus(line); ok != want {
			t.Fatalf("status line %v; want %v", ok, want)
		}
		if status.Verdict != nil && status.Verdict.Data != nil && !json.Valid(status.Verdict.Data) {
			t.Fatalf("data %q is not JSON", status.Verdict.Data)
		}
		if Valid(line) != json.Valid(line) {
			t.Fatalf("valid %v; want %v", Valid(line), json.Valid(line))
		}
	})
}

// Nesting costs time in proportion to the text, and no stack.
func TestDeepNesting(t *testing.T) {
	deep := `{"@":"ack","data":` + strings.Repeat("[", 20000) + strings.Repeat("]", 20000) + `}`
	begin := processorTime(t)
	s, ok := ParseStatus([]byte(deep))
	if took := processorTime(t) - begin; !ok || len(s.Verdict.Data) != 40000 || took > 100*time.Millisecond && !testing.Short() {
		t.Errorf("20,000 levels: status line %v, %d bytes of data, %v", ok, len(s.Verdict.Data), took)
	}
	size := 16 << 20
	if raceEnabled {
		size = 1 << 20
	}
	for _, text := range []string{strings.Repeat("[", size), `{"@":"ack","data":` + strings.Repeat("[", size), strings.Repeat(`{"a":`, size/5)} {
		line := []byte(text)
		begin := processorTime(t)
		_, status := ParseStatus(line)
		parsed := processorTime(t)
		valid := Valid(line)
		took := max(parsed-begin, processorTime(t)-parsed)
		if status || valid {
			t.Errorf("%.20q… was accepted", text)
		}
		if took > 100*time.Millisecond && !raceEnabled && !testing.Short() {
			t.Errorf("%.20q… was rejected after %v", text, took)
		}
		t.Logf("%.20q…, %d bytes: %v", text, size, took)
	}
}

// processorTime returns what this process has used: unlike a clock, it does not
// run while others use the machine.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		t.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
