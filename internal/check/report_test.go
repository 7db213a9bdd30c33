package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestReport(t *testing.T) {
	in := strings.Join([]string{
		`{"Action":"run","Package":"p","Test":"TestA"}`,
		`{"Action":"output","Package":"p","Test":"TestA","Output":"    row A1 ok 4\n"}`,
		`{"Action":"pass","Package":"p","Test":"TestA"}`,
		`{"Action":"output","Package":"p","Test":"TestA","Output":"row A2 ok 5\n"}`,
		`{"Action":"run","Package":"p","Test":"TestB"}`,
		`{"Action":"output","Package":"p","Test":"TestB","Output":"--- SKIP: TestB\n"}`,
		`{"Action":"output","Package":"p","Test":"TestB","Output":"    b_test.go:3: no ruby here\n"}`,
		`{"Action":"skip","Package":"p","Test":"TestB"}`,
		`{"Action":"run","Package":"p","Test":"TestC"}`,
		`{"Action":"output","Package":"p","Test":"TestC","Output":"want 1, got 2\n"}`,
		`{"Action":"fail","Package":"p","Test":"TestC"}`,
		`{"Action":"fail","Package":"p"}`,
		`{"Action":"run","Package":"q","Test":"TestD"}`,
		`{"Action":"output","Package":"q","Test":"TestD","Output":"it died here\n"}`,
		`{"Action":"output","Package":"q","Output":"panic: no\n"}`,
		`{"Action":"fail","Package":"q"}`,
		`not JSON at all`,
	}, "\n")
	var out bytes.Buffer
	sum := report(strings.NewReader(in), &out)
	if sum.passed != 1 || sum.failed != 2 || len(sum.skips) != 1 {
		t.Errorf("report = %d passed, %d failed, %d skipped; want 1, 2, 1", sum.passed, sum.failed, len(sum.skips))
	}
	if want := "p TestB: b_test.go:3: no ruby here"; len(sum.skips) > 0 && sum.skips[0] != want {
		t.Errorf("skip = %q, want %q", sum.skips[0], want)
	}
	// A row that the next test prints before it is named is the first one's to test2json, which had ended.
	if strings.Contains(out.String(), "NOT ENDED p TestA") {
		t.Errorf("a test that had passed is told as not ended:\n%s", out.String())
	}
	for _, want := range []string{"row A1 ok 4", "row A2 ok 5", "want 1, got 2", "panic: no", "NOT ENDED q TestD\nit died here", "not JSON at all"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the report does not show %q:\n%s", want, out.String())
		}
	}
}
