// Package chart turns numbers into the shapes of small charts: sparklines, bars and histograms, each with its
// numbers in words for those who cannot see it. It owns arithmetic only: the strings it makes are attributes of SVG,
// and a template writes them. It must not know jobs, pages, or where the numbers come from.
package chart

import (
	"math"
	"strconv"
	"strings"
)

// The size of a sparkline in units of its view box; the page scales it.
const (
	Width  = 120
	Height = 24
)

// How finely a sparkline is drawn and told of: more points than that cannot be seen, nor read.
const (
	mostPoints = 120
	mostRows   = 24
)

// Row is one number of a chart in words.
type Row struct{ At, Value string }

// Line is a sparkline from the oldest value on the left to the newest on the right.
type Line struct {
	Title string // what it shows, and the newest and the largest value
	Path  string // of the line: attribute d; "" if there are not two neighbouring values
	Area  string // below the line, likewise
	Rows  []Row  // newest first, so many at most as can be read
}

// Spark draws values, taken at equal steps of time, the last one just now. NaN is a gap. at says of a value how
// long ago it was, in steps; words says it with its unit.
func Spark(what string, values []float64, at func(steps int) string, words func(float64) string) Line {
	most := 0.0
	for _, v := range values {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			most = max(most, v)
		}
	}
	line := Line{Title: what + ": measuring"}
	if n := len(values); n > 0 && usable(values[n-1]) {
		line.Title = what + ": " + words(values[n-1]) + " now, " + words(most) + " at most"
	}
	drawn := thin(values, mostPoints)
	line.Path, line.Area = trace(drawn, most)
	step := max(1, (len(values)+mostRows-1)/mostRows)
	for ago := 0; ago < len(values); ago += step {
		if v := values[len(values)-1-ago]; usable(v) {
			line.Rows = append(line.Rows, Row{at(ago), words(v)})
		}
	}
	return line
}

func usable(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// thin keeps n values at most, of neighbours the larger, so that no peak is lost.
func thin(values []float64, n int) []float64 {
	if len(values) <= n {
		return values
	}
	out := make([]float64, n)
	for i := range out {
		out[i] = math.NaN()
		for _, v := range values[i*len(values)/n : (i+1)*len(values)/n] {
			if usable(v) && !(out[i] >= v) {
				out[i] = v
			}
		}
	}
	return out
}

// trace gives the path of the line through values and that of what is below it, each stretch between gaps apart.
func trace(values []float64, most float64) (line, area string) {
	var l, a strings.Builder
	for begin := 0; begin < len(values); {
		if !usable(values[begin]) {
			begin++
			continue
		}
		end := begin
		for end < len(values) && usable(values[end]) {
			end++
		}
		if end-begin > 1 {
			stretch(&l, &a, values, begin, end, most)
		}
		begin = end
	}
	return l.String(), a.String()
}

// stretch adds the values of [begin, end) to the paths.
func stretch(line, area *strings.Builder, values []float64, begin, end int, most float64) {
	const edge = 1 // room for half a stroke
	x := func(i int) float64 { return float64(i) * Width / float64(len(values)-1) }
	area.WriteString("M" + number(x(begin)) + " " + strconv.Itoa(Height))
	for i := begin; i < end; i++ {
		y := float64(Height - edge)
		if most > 0 {
			y -= max(values[i], 0) / most * (Height - 2*edge)
		}
		point := number(x(i)) + " " + number(y)
		if i == begin {
			line.WriteString("M" + point)
		} else {
			line.WriteString("L" + point)
		}
		area.WriteString("L" + point)
	}
	area.WriteString("L" + number(x(end-1)) + " " + strconv.Itoa(Height) + "Z")
}

// number is a coordinate with one decimal at most.
func number(v float64) string { return strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64) }

// Bar is one bar of a chart of bars, which is 100 high.
type Bar struct {
	X, Y, Width, Height string // attributes of a rect
	Row                        // what it stands for; it is its title
}

// Bars are some, from left to right.
type Bars struct {
	Title string
	Width int // of the view box
	Bars  []Bar
}

// Columns draws counts, each called by its name. What is not zero can be seen, however small it is.
func Columns(what string, names []string, counts []float64, words func(float64) string) Bars {
	const wide, gap, high = 12, 2, 100
	most, sum := 0.0, 0.0
	for _, n := range counts {
		if usable(n) {
			most, sum = max(most, n), sum+max(n, 0)
		}
	}
	bars := Bars{Title: what + ": " + words(sum) + " in all", Width: max(1, len(counts)) * (wide + gap)}
	for i, n := range counts {
		if !usable(n) || n < 0 {
			n = 0
		}
		h := 0.0
		if most > 0 && n > 0 {
			h = max(1.5, n/most*high)
		}
		bars.Bars = append(bars.Bars, Bar{
			X: strconv.Itoa(i * (wide + gap)), Y: number(high - h), Width: strconv.Itoa(wide), Height: number(h),
			Row: Row{names[i], words(n)},
		})
	}
	return bars
}
