package top

import (
	"strings"
	"unicode/utf8"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"oarlock/internal/screen"
)

// Colours are of the sixteen that every terminal has, and say nothing that no word says.
var (
	plain  = lipgloss.NewStyle()
	bold   = plain.Bold(true)
	dim    = plain.Faint(true)
	red    = plain.Foreground(lipgloss.Red)
	green  = plain.Foreground(lipgloss.Green)
	yellow = plain.Foreground(lipgloss.Yellow)
	cyan   = plain.Foreground(lipgloss.Cyan)
)

// shown is a text of others as it may be drawn: on one line, of so many columns at most, and nothing that a
// terminal would obey.
func shown(text string, columns int) string {
	if most := 8 * max(columns, 1); len(text) > most { // combining marks have no width
		for most > 0 && !utf8.RuneStart(text[most]) {
			most--
		}
		text = text[:most] + "…"
	}
	return ansi.Truncate(strings.ReplaceAll(screen.Visible(text), "\t", " "), max(columns, 0), "…")
}

// cut is a line of ours, perhaps in colours, of so many columns at most.
func cut(line string, columns int) string { return ansi.Truncate(line, max(columns, 0), "…") }

// column is one of a table.
type column struct {
	name  string
	right bool
	most  int // columns; 0: what is left, shared by those of 0
	rank  int // the highest is left out first where there is no room; 0 never
}

// row is one of a table: its cells are texts of others as they are.
type row struct {
	cells  []string
	style  lipgloss.Style
	marked bool
}

// gap is between two columns.
const gap = "  "

// table draws rows below a heading, each line of width columns at most.
func table(width int, columns []column, rows []row) (heading string, lines []string) {
	widths := widthsOf(columns, rows)
	kept := fit(width-1, columns, widths) // one is for the mark
	draw := func(cell func(i int) string) string {
		var b strings.Builder
		for n, i := range kept {
			if n > 0 {
				b.WriteString(gap)
			}
			text := shown(cell(i), widths[i])
			pad := strings.Repeat(" ", max(widths[i]-lipgloss.Width(text), 0))
			if columns[i].right {
				text, pad = pad, text
			}
			b.WriteString(text + pad)
		}
		return strings.TrimRight(b.String(), " ")
	}
	heading = " " + draw(func(i int) string { return columns[i].name })
	for _, r := range rows {
		mark := " "
		if r.marked {
			mark = "▸"
		}
		lines = append(lines, mark+r.style.Render(draw(func(i int) string { return r.cells[i] })))
	}
	return heading, lines
}

// widthsOf is how wide each column would be.
func widthsOf(columns []column, rows []row) []int {
	widths := make([]int, len(columns))
	for i, c := range columns {
		widths[i] = lipgloss.Width(c.name)
		for _, r := range rows {
			widths[i] = max(widths[i], lipgloss.Width(shown(r.cells[i], 200)))
		}
		if c.most > 0 {
			widths[i] = min(widths[i], max(c.most, lipgloss.Width(c.name)))
		}
	}
	return widths
}

// least is how narrow a column may get that has no width of its own.
const least = 12

// fit chooses the columns for which there is room, and narrows those without a width of their own.
func fit(width int, columns []column, widths []int) (kept []int) {
	out := map[int]bool{}
	for {
		kept = kept[:0]
		need, worst := 0, -1
		for i, c := range columns {
			if out[i] {
				continue
			}
			kept = append(kept, i)
			w := widths[i]
			if c.most == 0 {
				w = min(w, least)
			}
			need += w + len(gap)
			if c.rank > 0 && (worst < 0 || c.rank > columns[worst].rank) {
				worst = i
			}
		}
		if need-len(gap) <= width || worst < 0 {
			break
		}
		out[worst] = true
	}
	left := width - len(gap)*(len(kept)-1)
	for _, i := range kept {
		if columns[i].most > 0 {
			left -= widths[i]
		}
	}
	for n, i := range kept {
		if columns[i].most == 0 {
			flexible := 0
			for _, j := range kept[n:] {
				if columns[j].most == 0 {
					flexible++
				}
			}
			widths[i] = max(min(widths[i], left-least*(flexible-1)), 1)
			left -= widths[i]
		}
	}
	return kept
}

// sparkline draws numbers, newest last, on so many columns.
func sparkline(numbers []float64, columns int) string {
	const bars = "▁▂▃▄▅▆▇█"
	if len(numbers) == 0 || columns <= 0 {
		return ""
	}
	numbers = numbers[max(0, len(numbers)-60):]
	var most float64
	points := make([]float64, min(columns, len(numbers)))
	for i := range points { // the largest of each part
		for _, n := range numbers[i*len(numbers)/len(points) : (i+1)*len(numbers)/len(points)] {
			points[i] = max(points[i], n)
		}
		most = max(most, points[i])
	}
	var b strings.Builder
	all := []rune(bars)
	for _, n := range points {
		at := 0
		if most > 0 {
			at = int(n / most * float64(len(all)-1))
		}
		b.WriteRune(all[at])
	}
	return b.String()
}

// rule is a line with a title.
func rule(title string, width int) string {
	title = "─ " + shown(title, width-4) + " "
	return dim.Render(cut(title+strings.Repeat("─", max(width-lipgloss.Width(title), 0)), width))
}

// window is the part of lines around the one that is marked, of height at most.
func window(lines []string, marked, height int) []string {
	if height <= 0 {
		return nil
	}
	if len(lines) <= height {
		return lines
	}
	from := min(max(marked-height/2, 0), len(lines)-height)
	return lines[from : from+height]
}
