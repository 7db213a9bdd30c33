package main

import (
	"bytes"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestReport(t *testing.T) {
	t.Parallel()
	in := strings.NewReader(strings.Join([]string{
		`{"Action":"output","Package":"p","Test":"TestA","Output":"    row A1 ok 4\n"}`,
		`{"Action":"pass","Package":"p","Test":"TestA"}`,
		`{"Action":"output","Package":"p","Test":"TestB","Output":"    b_test.go:4: no such tool\n"}`,
		`{"Action":"skip","Package":"p","Test":"TestB"}`,
		`{"Action":"output","Package":"p","Test":"TestE","Output":"    b_test.go:9: long: a soak\n"}`,
		`{"Action":"skip","Package":"p","Test":"TestE"}`,
		`{"Action":"output","Package":"p","Test":"TestC/one","Output":"want 1, got 2\n"}`,
		`{"Action":"fail","Package":"p","Test":"TestC/one"}`,
		`{"Action":"fail","Package":"p","Test":"TestC"}`,
		`{"Action":"fail","Package":"p"}`,
		`{"Action":"output","Package":"q","Test":"TestD","Output":"it died here\n"}`,
		`{"Action":"output","Package":"q","Output":"panic: no\n"}`,
		`{"Action":"fail","Package":"q"}`,
		`not JSON`,
	}, "\n"))
	var out bytes.Buffer
	sum := report(in, &out)
	if sum.passed != 1 || sum.failed != 3 || sum.long != 1 {
		t.Errorf("%d passed, %d failed, %d long; want 1, 3, 1", sum.passed, sum.failed, sum.long)
	}
	if want := []string{"p TestB: b_test.go:4: no such tool"}; !slices.Equal(sum.skips, want) {
		t.Errorf("skips = %q, want %q", sum.skips, want)
	}
	if want := []string{"p TestC/one", "p TestC", "q "}; !slices.Equal(sum.failures, want) {
		t.Errorf("failures = %q, want %q", sum.failures, want)
	}
	for _, want := range []string{"row A1 ok 4", "want 1, got 2", "panic: no", "NOT ENDED q TestD\nit died here", "not JSON"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the report does not show %q:\n%s", want, out.String())
		}
	}
}

// Each package is tested once: with the race detector or without it.
func TestEachPackageIsTestedOnce(t *testing.T) {
	t.Chdir("../..")
	plain, err := without(raced)
	if err != nil {
		t.Fatal(err)
	}
	list := func(patterns ...string) []string {
		out, err := exec.Command("go", append([]string{"list"}, patterns...)...).Output()
		if err != nil {
			t.Fatal(err)
		}
		return strings.Fields(string(out))
	}
	got, want := append(list(plain...), list(raced...)...), list("./...")
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("tested are %v, want %v", got, want)
	}
}

// A test is in quarantine for two weeks at most.
func TestQuarantine(t *testing.T) {
	t.Parallel()
	for _, q := range quarantined {
		until, err := time.Parse(time.DateOnly, q.until)
		if left := time.Until(until); err != nil || left < -24*time.Hour || left > 14*24*time.Hour || q.why == "" {
			t.Errorf("%s is in quarantine until %q, because %q: make it steady, or delete it", q.test, q.until, q.why)
		}
	}
}
