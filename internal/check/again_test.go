package main

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
)

// lines are what go test -json says.
func lines(all ...string) *strings.Reader { return strings.NewReader(strings.Join(all, "\n")) }

// A failed test that passes alone is told as unsteady, with its subtests; whatever more than that is known of stays failed, and so does what
// fails alone.
func TestAgain(t *testing.T) {
	const (
		fails  = `{"Action":"run","Package":"p","Test":"TestA/one"}` + "\n" + `{"Action":"output","Package":"p","Test":"TestA/one","Output":"want 1, got 2\n"}` + "\n" + `{"Action":"fail","Package":"p","Test":"TestA/one"}` + "\n" + `{"Action":"fail","Package":"p","Test":"TestA"}`
		other  = `{"Action":"fail","Package":"q","Test":"TestB"}`
		third  = `{"Action":"fail","Package":"q","Test":"TestC"}`
		ends   = `{"Action":"fail","Package":"p"}`
		endsQ  = `{"Action":"fail","Package":"q"}`
		begins = `{"Action":"run","Package":"q","Test":"TestB"}` + "\n"
		races  = begins + `{"Action":"output","Package":"q","Test":"TestB","Output":"    testing.go:1: race detected during execution of test\n"}`
		panics = begins + `{"Action":"output","Package":"q","Test":"TestB","Output":"panic: no\n"}`
		seeded = begins + `{"Action":"output","Package":"q","Test":"TestB","Output":"    b_test.go:3: seed 17: lost j1\n"}`
		rowed  = begins + `{"Action":"output","Package":"q","Test":"TestB","Output":"=== RUN   TestB/seed=1\n"}` + "\n" + `{"Action":"output","Package":"q","Test":"TestB","Output":"row A1 seed 1 FAILED (1.0 s)\n"}` + "\n" + `{"Action":"output","Package":"q","Test":"TestB","Output":"    --- FAIL: TestB/seed=1 (1.00s)\n"}`
		begun  = `{"Action":"run","Package":"q","Test":"TestD"}`
		stray  = `{"Action":"output","Package":"q","Test":"TestB","Output":"row A2 seed 1 ok (1.0 s)\n"}`
		raced  = `{"Action":"output","Package":"q","Output":"WARNING: DATA RACE\n"}`
	)
	passes := func(failure) error { return nil }
	for name, c := range map[string]struct {
		said     []string
		alone    runAlone
		failed   int
		unsteady []string
	}{
		"one":                 {[]string{fails, ends}, passes, 0, []string{"p TestA"}},
		"two":                 {[]string{fails, ends, other, endsQ}, passes, 0, []string{"p TestA", "q TestB"}},
		"three":               {[]string{fails, ends, other, third, endsQ}, passes, 4, nil},
		"it fails alone":      {[]string{fails, ends}, func(failure) error { return errors.New("again") }, 2, nil},
		"one of two does":     {[]string{fails, ends, other, endsQ}, func(f failure) error { return map[string]error{"p": errors.New("again")}[f.name] }, 2, []string{"q TestB"}},
		"a race":              {[]string{races, other, endsQ}, passes, 1, nil},
		"a panic":             {[]string{panics, other, endsQ}, passes, 1, nil},
		"random input":        {[]string{seeded, other, endsQ}, passes, 1, nil},
		"a row":               {[]string{rowed, other, endsQ}, passes, 0, []string{"q TestB"}},
		"a package that died": {[]string{fails, ends, begun, endsQ}, passes, 3, nil},
		"it died in another":  {[]string{begun, other, endsQ}, passes, 2, nil},
		"it does not build":   {[]string{endsQ}, passes, 1, nil},
		"a row of another":    {[]string{other, stray, endsQ}, passes, 0, []string{"q TestB"}},
		"a race of nobody":    {[]string{other, raced, endsQ}, passes, 2, nil},
		"nothing":             {nil, passes, 0, nil},
	} {
		var out bytes.Buffer
		sum := report(lines(c.said...), &out)
		sum.again(c.alone, &out)
		if sum.failed != c.failed || !slices.Equal(sum.unsteady, c.unsteady) {
			t.Errorf("%s: %d failed, %q unsteady; want %d, %q", name, sum.failed, sum.unsteady, c.failed, c.unsteady)
		}
	}
}
