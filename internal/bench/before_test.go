package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"oarlock/internal/must"
)

// build writes a program that says of itself when it is called, and how, and prints what a build of ours would.
func build(t *testing.T, name, prints string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	text := fmt.Sprintf("#!/bin/sh\necho %s \"$@\" >> \"$CALLS\"\n%s\n", name, prints)
	must.Do(t, os.WriteFile(path, []byte(text), 0o755))
	return path
}

// A series is worked by two builds in turns, each first as often as the other, and what is told are medians of pairs.
func TestBuildsAreCompared(t *testing.T) {
	calls := filepath.Join(t.TempDir(), "calls")
	t.Setenv("CALLS", calls)
	result := func(rate, cpu float64) string {
		return fmt.Sprintf(`echo '{"name":"put","jobs":7}'; echo '{"name":"reuse-2","mode":"reuse","jobs":7,"jobs_per_s":%v,"supervisor_cpu_s":%v,"redis_calls_per_job":0.5}'`, rate, cpu)
	}
	b := Builds{This: build(t, "new", result(300, 1)), Other: build(t, "old", result(100, 2)), Options: []string{"--mode=reuse", "--command=a b"}, Jobs: 7, Pairs: 6}
	var out bytes.Buffer
	must.Do(t, b.Compare(t.Context(), NewReport(&out, io.Discard, true)))
	var got Beside
	must.Do(t, json.Unmarshal(out.Bytes(), &got))
	want := Beside{Name: "reuse-2", Jobs: 7, Pairs: 6, Rate: Ratio{300, 100, 3, 3, 3}, Supervisor: Ratio{1, 2, 0.5, 0.5, 0.5}, RedisCalls: Ratio{0.5, 0.5, 1, 1, 1}}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	text := must.Get(os.ReadFile(calls))(t)
	call := " bench --json --latency=0 --jobs=7 --mode=reuse --command=a b\n"
	if want := strings.Repeat("new"+call+"old"+call+"old"+call+"new"+call, 3); string(text) != want {
		t.Errorf("called were\n%swant\n%s", text, want)
	}
	out.Reset()
	must.Do(t, b.Compare(t.Context(), NewReport(&out, io.Discard, false)))
	if !strings.Contains(out.String(), "jobs/s         300         100        3.00   3.00 to 3.00") {
		t.Errorf("printed is\n%s", &out)
	}
}

// What a build says that cannot work the series is passed on, with its name.
func TestABuildThatFailsIsNamed(t *testing.T) {
	t.Setenv("CALLS", os.DevNull)
	good := build(t, "new", `echo '{"mode":"reuse","jobs_per_s":1}'`)
	for name, tt := range map[string]struct{ prints, want string }{
		"refuses":       {"echo 'oarlock: --prefetch: auto is no number' >&2; echo more >&2; exit 64", "auto is no number"},
		"tells nothing": {"echo '{\"name\":\"put\"}'", "told of no series"},
		"babbles":       {"echo jobs: 3", "cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			other := build(t, "old", tt.prints)
			err := Builds{This: good, Other: other, Jobs: 1, Pairs: 6}.Compare(t.Context(), NewReport(io.Discard, io.Discard, true))
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), other) || strings.Contains(err.Error(), "more") {
				t.Errorf("the error is %v, want one with %q and %s", err, tt.want, other)
			}
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := (Builds{This: good, Other: good, Jobs: 1, Pairs: 6}).Compare(ctx, NewReport(io.Discard, io.Discard, true)); err != context.Canceled {
		t.Errorf("interrupted, it says %v", err)
	}
}

func TestBuildsThatCannotBeCompared(t *testing.T) {
	for want, b := range map[string]Builds{
		"--pairs must be 6 or more":       {Other: "sh", Jobs: 1, Pairs: 5},
		"--before needs --jobs of 1":      {Other: "sh", Pairs: 6},
		"--before does not start: exec: ": {Other: "/nowhere/oarlock", Jobs: 1, Pairs: 6},
	} {
		if err := b.Check(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("the error is %v, want %q", err, want)
		}
	}
}
