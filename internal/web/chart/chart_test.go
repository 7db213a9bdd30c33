package chart

import (
	"fmt"
	"math"
	"regexp"
	"strings"
	"testing"
)

func ago(steps int) string    { return fmt.Sprintf("%d steps ago", steps) }
func plain(v float64) string  { return fmt.Sprintf("%g", v) }
func spark(v ...float64) Line { return Spark("rate", v, ago, plain) }
func moves(path string) int   { return strings.Count(path, "M") }
func corners(path string) int { return strings.Count(path, "M") + strings.Count(path, "L") }

// pathOfNumbers is all that may stand in an attribute d.
var pathOfNumbers = regexp.MustCompile(`^(?:[ML]-?[0-9]+(?:\.[0-9])? -?[0-9]+(?:\.[0-9])?|Z)*$`)

func TestSpark(t *testing.T) {
	gap := math.NaN()
	for _, c := range []struct {
		name   string
		values []float64
		path   string
		title  string
	}{
		{"nothing yet", nil, "", "rate: measuring"},
		{"one value is no line", []float64{3}, "", "rate: 3 now, 3 at most"},
		{"the largest is on top and zero at the bottom", []float64{0, 10, 5}, "M0 23L60 1L120 12", "rate: 5 now, 10 at most"},
		{"all zero lies at the bottom", []float64{0, 0}, "M0 23L120 23", "rate: 0 now, 0 at most"},
		{"a gap parts the line", []float64{1, 1, gap, 1, 1}, "M0 1L30 1M90 1L120 1", "rate: 1 now, 1 at most"},
		{"a lonely value between gaps is no line", []float64{gap, 1, gap}, "", "rate: measuring"},
		{"below zero does not leave the chart", []float64{-5, 5}, "M0 23L120 1", "rate: 5 now, 5 at most"},
		{"no end is no value", []float64{1, 2, math.Inf(1)}, "M0 12L60 1", "rate: measuring"},
	} {
		line := spark(c.values...)
		if line.Path != c.path || line.Title != c.title {
			t.Errorf("%s: %q %q, want %q %q", c.name, line.Path, line.Title, c.path, c.title)
		}
		if !pathOfNumbers.MatchString(line.Path) || !pathOfNumbers.MatchString(line.Area) {
			t.Errorf("%s: more than numbers in %q, %q", c.name, line.Path, line.Area)
		}
		if moves(line.Path) != moves(line.Area) {
			t.Errorf("%s: %d stretches of line, %d of area", c.name, moves(line.Path), moves(line.Area))
		}
	}
}

// A long series is drawn with few points, and the peak of a moment is among them.
func TestALongSparkKeepsItsPeaks(t *testing.T) {
	values := make([]float64, 5000)
	values[1234] = 7
	line := spark(values...)
	if n := corners(line.Path); n != mostPoints {
		t.Errorf("%d points", n)
	}
	if !strings.Contains(line.Path, " 1L") {
		t.Errorf("the peak is gone: %s", line.Path)
	}
	if len(line.Rows) > mostRows || line.Rows[0] != (Row{"0 steps ago", "0"}) {
		t.Errorf("%d rows, the first %v", len(line.Rows), line.Rows[0])
	}
}

func TestColumns(t *testing.T) {
	bars := Columns("ran", []string{"a", "b", "c", "d"}, []float64{0, 1000, 1, math.NaN()}, plain)
	if bars.Title != "ran: 1001 in all" || len(bars.Bars) != 4 {
		t.Errorf("%+v", bars)
	}
	want := []string{"0", "100", "1.5", "0"}
	for i, bar := range bars.Bars {
		if bar.Height != want[i] {
			t.Errorf("bar %d is %s high, want %s", i, bar.Height, want[i])
		}
	}
	if bars.Bars[1].Row != (Row{"b", "1000"}) {
		t.Errorf("%v", bars.Bars[1].Row)
	}
	if empty := Columns("ran", nil, nil, plain); empty.Width < 1 || len(empty.Bars) != 0 {
		t.Errorf("%+v", empty)
	}
}
