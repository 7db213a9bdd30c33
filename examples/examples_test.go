// Package examples_test runs what is in this directory: the helpers against the
// shared cases, the examples through the built binary and a real Redis, and the
// producers' calls.
package examples_test

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"oarlock/internal/must"
)

// TestHelpers runs the test program of each helper: the conversations of
// protocol/testdata, and what is the language's own.
func TestHelpers(t *testing.T) {
	if testing.Short() {
		t.Skip("long: the conversations of protocol/testdata in every language")
	}
	for _, tt := range []struct{ dir, interpreter, program string }{
		{"python", "python3", "test_oarlock.py"},
		{"ruby", "ruby", "test_oarlock.rb"},
		{"node", "node", "test_oarlock.js"},
		{"php", "php", "test_oarlock.php"},
	} {
		t.Run(tt.dir, func(t *testing.T) {
			must.Have(t, tt.interpreter)
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
			defer cancel()
			cmd := exec.CommandContext(ctx, tt.interpreter, tt.program)
			cmd.Dir = tt.dir
			cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
			// What a test left behind must not keep us waiting.
			cmd.WaitDelay = 5 * time.Second
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			t.Log(summary(out))
		})
	}
}

// TestJSONInAwk compares the shell's reader of JSON with what it must find.
func TestJSONInAwk(t *testing.T) {
	for _, tt := range []struct {
		name, line, want, value string
		exit                    int
	}{
		{"a string", `{"@":"job","run":"k7"}`, "run", "k7", 0},
		{"a nested one", `{"run":"k7","data":{"path":"a b"}}`, "data.path", "a b", 0},
		{"every escape", `{"s":"\"\\\/\b\f\n\r\tA\u00e9\ud83d\ude00"}`, "s", "\"\\/\b\f\n\r\tAé😀", 0},
		{"text as it is", `{"s":"é😀 $(id) 'x'"}`, "s", "é😀 $(id) 'x'", 0},
		{"a name with an escape", `{"p\u0061th":"x"}`, "path", "x", 0},
		{"a number", `{"a":[1,{"n":7}],"n": -1.5e3 }`, "n", "-1.5e3", 0},
		{"not from an array or a deeper object", `{"l":[{"run":"no"}],"o":{"run":"no"},"run":"yes"}`, "run", "yes", 0},
		{"not from within a string", `{"s":"{\"run\":\"no\"}","run":"yes"}`, "run", "yes", 0},
		{"an empty string", `{"s":""}`, "s", "", 0},
		{"longer than a piece", `{"s":"` + strings.Repeat(`0123456789\n`, 20000) + `"}`, "s", strings.Repeat("0123456789\n", 20000), 0},
		{"nothing of the name", `{"a":{"run":1}}`, "run", "", 1},
		{"an object", `{"run":{}}`, "run", "", 1},
		{"a string without end", `{"run":"k`, "x", "", 65},
		{"no comma", `{"a":1 "b":2}`, "b", "", 65},
		{"a NUL", `{"a":"\u0000","b":1}`, "b", "", 65},
		{"a bad escape", `{"a":"\x41","b":1}`, "b", "", 65},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), "awk", "-v", "want="+tt.want, "-f", "sh/json.awk")
			cmd.Stdin = strings.NewReader(tt.line + "\n")
			cmd.Env = append(os.Environ(), "LC_ALL=C")
			out, err := cmd.Output()
			if code := cmd.ProcessState.ExitCode(); code != tt.exit {
				t.Fatalf("exit %d (%v), want %d", code, err, tt.exit)
			}
			if string(out) != tt.value {
				t.Errorf("%q is %.60q, want %.60q", tt.want, out, tt.value)
			}
		})
	}
}

// summary is the line in which a test program counts its tests.
func summary(out []byte) string {
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, " tests, ") {
			return strings.TrimSpace(line)
		}
	}
	return "no summary"
}
