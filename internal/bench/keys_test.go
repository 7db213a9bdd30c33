package bench

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"oarlock/internal/must"
)

// Jobs with keys and ordinary ones are worked in turns, as they come and of a backlog, and so are ordinary ones by another build.
func TestJobsInOrderAreCompared(t *testing.T) {
	if testing.Short() {
		t.Skip("long: a measurement")
	}
	b := newBench(t)
	b.Scratch = t.TempDir()
	var out bytes.Buffer
	shape := Shape{Mode: "reuse", Children: 2}
	must.Do(t, b.inOrder(t.Context(), Series{shape, 150}, Keys{Keys: 7, Pairs: 2, Before: b.Self[0]}, NewReport(&out, io.Discard, true)))
	in := json.NewDecoder(&out)
	for _, want := range []struct {
		name string
		keys int
	}{{"coming", 7}, {"backlog", 7}, {"before", 0}} {
		var got Compared
		must.Do(t, in.Decode(&got))
		if got.Name != want.name || got.Keys != want.keys || got.Jobs != 150 || got.Pairs != 2 {
			t.Errorf("compared is %+v, want %v", got, want)
		}
		if got.This <= 0 || got.Other <= 0 || got.Low > got.Ratio || got.Ratio > got.High || got.Low <= 0 {
			t.Errorf("compared is %+v", got)
		}
	}
	if keys := must.Get(b.Client.Redis().Keys(t.Context(), "*").Result())(t); len(keys) > 0 {
		t.Errorf("keys are left: %q", keys)
	}
}

// The interval of a median holds that of what was drawn from 95 times in a hundred, or a little more often.
func TestIntervals(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{leastPairs, 31, 100} {
		held := 0
		const draws = 4000
		for range draws {
			values := make([]float64, n)
			for i := range values {
				values[i] = random.ExpFloat64() // whose median is ln 2
			}
			if _, low, high := interval(values); low <= 0.6931 && 0.6931 <= high {
				held++
			}
		}
		if share := float64(held) / draws; share < 0.94 || share > 0.985 {
			t.Errorf("of %d values it holds the median %.1f times in a hundred", n, 100*share)
		}
	}
	values := make([]float64, 31)
	for i := range values {
		values[i] = float64(31 - i)
	}
	if median, low, high := interval(values); fmt.Sprint(median, low, high) != "16 10 22" {
		t.Errorf("of 1 to 31: %v between %v and %v", median, low, high)
	}
	if median, low, high := interval([]float64{3}); fmt.Sprint(median, low, high) != "3 3 3" {
		t.Errorf("of one: %v between %v and %v", median, low, high)
	}
}

// What is asked for of keys is refused in a sentence where it will not do.
func TestKeysThatAreWanted(t *testing.T) {
	keys := func(n, pairs int) *Keys { return &Keys{Keys: n, Pairs: pairs} }
	p, err := Wanted{Keys: keys(10, 31), Children: ptr(3)}.Plan()
	if err != nil || !p.One || p.Keys.Keys != 10 || p.Series[0].Shape.Children != 3 {
		t.Errorf("planned %+v, %v", p, err)
	}
	for want, w := range map[string]Wanted{
		"--keys must be 1 or more":                 {Keys: keys(0, 31)},
		"--pairs must be 6 or more":                {Keys: keys(1, 5)},
		"--keys goes without --list and --profile": {Keys: keys(1, 31), Profile: "x"},
		"--keys needs --jobs of 1 or more":         {Keys: keys(1, 31), Jobs: ptr(0)},
		"--before does not start: exec: \"nosuchthing\": executable file not found in $PATH": {Keys: &Keys{Keys: 1, Pairs: 31, Before: "nosuchthing"}},
	} {
		if _, err := w.Plan(); err == nil || err.Error() != want {
			t.Errorf("%+v: %v, want %s", w, err, want)
		}
	}
}
