package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"oarlock/internal/must"
	"oarlock/queue"
)

// TestPutKeepsOrder puts jobs by the command line and pops them as any client of the
// protocol does.
func TestPutKeepsOrder(t *testing.T) {
	s, client := scriptOn(t, "")
	lines := func(format string, n int) string {
		var text strings.Builder
		for i := range n {
			fmt.Fprintf(&text, format+"\n", i)
		}
		return text.String()
	}
	for _, tt := range []struct {
		name, stdin string
		args        []string
		times, want int
	}{
		{"lines of data", lines("%d", 1000), []string{"put", "q", "-"}, 1, 1000},
		{"lines of whole jobs", lines(`{"data":%d,"klass":"K","tags":["red"]}`, 1000), []string{"put", "--jobs", "--file", "-", "q"}, 1, 1000},
		{"delayed lines", lines("%d", 1000), []string{"put", "--delay", "1ms", "q", "-"}, 1, 1000},
		{"one by one", "", []string{"put", "q"}, 20, 20},
		{"one by one, of a priority that leaves no room for time", "", []string{"put", "--priority", "1e9", "q"}, 20, 20},
	} {
		t.Run(tt.name, func(t *testing.T) {
			must.Do(t, client.Redis().FlushDB(t.Context()).Err())
			for i := range tt.times {
				args := tt.args
				if tt.stdin == "" {
					args = append(slices.Clone(args), strconv.Itoa(i))
				}
				s.stdin = tt.stdin
				if err := s.oarlock(0, args); err != nil {
					t.Fatalf("%v\n%s", err, s.said["stderr"])
				}
			}
			pop, _ := queue.Script(queue.Qless, "pop", queue.DefaultNamespace)
			got := []string{}
			for range tt.want { // by no more than 100, so that what is delayed comes in by parts
				now := strconv.FormatFloat(float64(time.Now().Add(time.Second).UnixMicro())/1e6, 'f', 6, 64)
				text := must.Get(client.Redis().Eval(t.Context(), pop, nil, now, "q", "w", 100).Text())(t)
				if text == "{}" {
					break
				}
				var jobs []struct{ Data string }
				must.Do(t, json.Unmarshal([]byte(text), &jobs))
				for _, job := range jobs {
					got = append(got, job.Data)
				}
			}
			for i, data := range got {
				if data != strconv.Itoa(i) {
					t.Fatalf("job %s came as number %d", data, i)
				}
			}
			if len(got) != tt.want {
				t.Errorf("%d jobs came, want %d", len(got), tt.want)
			}
		})
	}
}

// A put that too few replicas have is made, says so, and is told apart by its exit code.
func TestPutTellsOfMissingReplicas(t *testing.T) {
	s, client := scriptOn(t, "")
	for _, tt := range []struct {
		stdin string
		args  []string
		out   string
	}{
		{"", []string{"put", "--wait-replicas", "1", "--jid", "j1", "q", "1"}, "j1\n"},
		{"1\n2\n", []string{"put", "--wait-replicas", "1", "q", "-"}, "2 jobs put into q\n"},
		{`{"jid":"j2","wait_replicas":1,"throttles":["slow"]}`, []string{"put", "--jobs", "--file", "-", "q"}, "1 job put into q\n"},
	} {
		s.stdin = tt.stdin
		if err := s.oarlock(exitTempFail, tt.args); err != nil {
			t.Errorf("%v: %v", tt.args, err)
		}
		if said := s.said["stderr"]; s.said["stdout"] != tt.out || !strings.Contains(said, "put, but only 0 of 1 replicas had it within 1s") {
			t.Errorf("%v said %q and %q", tt.args, s.said["stdout"], said)
		}
	}
	if n := client.Redis().ZCard(t.Context(), "ql:q:q-work").Val(); n != 4 {
		t.Errorf("%d jobs are there, want 4", n)
	}
	if throttles := client.Redis().HGet(t.Context(), "ql:j:j2", "throttles").Val(); !strings.Contains(throttles, "slow") {
		t.Errorf("the throttles of a line are %q", throttles)
	}
}

// What is wrong in a file is named by its line, as an editor counts it: empty ones count, too.
func TestPutNamesLinesAsEditorsDo(t *testing.T) {
	s, _ := scriptOn(t, "")
	for text, want := range map[string]struct {
		code int
		says string
	}{
		"\n\n{\"data\": 1}\n\n{\"data\":\n": {exitFailed, "line 5: the JSON is cut short; put before it: 1 job"},
		"\n{\"jid\": \"a\", \"correlation\": \"c\"}\n\n{\"jid\": \"b\", \"correlation\": \"c\"}\n": {exitFailed, "line 4: put: correlation c of class job is held by job a"},
		"\n\n{\"depends\": [\"nosuch\"]}\n": {exitUsage, "line 3: There is no job nosuch"},
	} {
		file := filepath.Join(t.TempDir(), "jobs")
		must.Do(t, os.WriteFile(file, []byte(text), 0o600))
		s.says(t, want.code, "put q --jobs --file "+file, want.says)
	}
}
