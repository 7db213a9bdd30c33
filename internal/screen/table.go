package screen

import (
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/charmbracelet/x/ansi"
	"golang.org/x/term"
)

const (
	columnGap = 2
	// leastLast is how narrow the last column of a table becomes at the least, so that its rows fit a terminal.
	leastLast = 20
	// narrow is a terminal on which a table that does not fit is no table any more: on wider ones a row or two of it is easier to read.
	narrow = 60
)

// Table prints rows in columns; the first row is the heading, unless that is nil. Without
// rows it says so in the words of empty. On a terminal that is too narrow, texts of the last column
// go on below, or, on a very narrow one, each row is a paragraph of a line for each column: nothing is left out.
func Table(w io.Writer, empty string, heading []string, rows [][]string) {
	if len(rows) == 0 {
		PrintLine(w, empty)
		return
	}
	if heading != nil {
		rows = append([][]string{heading}, rows...)
	}
	cells := make([][]string, len(rows))
	for i, row := range rows {
		cells[i] = make([]string, len(row))
		for k, cell := range row {
			cells[i][k] = strings.ReplaceAll(Visible(cell), "\t", `\t`)
		}
	}
	if width := Width(w); width > 0 {
		before, last := widths(cells)
		switch {
		case before+last <= width:
		case width-before >= leastLast:
			cells = folded(cells, width-before)
		case heading != nil && width < narrow:
			paragraphs(w, cells[0], cells[1:], width)
			return
		}
	}
	columns := tabwriter.NewWriter(w, 0, 0, columnGap, ' ', 0)
	for _, row := range cells {
		fmt.Fprintln(columns, strings.Join(row, "\t"))
	}
	columns.Flush()
}

// Width is how many columns a terminal has; 0 for what is none.
func Width(w io.Writer) int {
	file, is := Under(w).(*os.File)
	if !is {
		return 0
	}
	width, _, err := term.GetSize(int(file.Fd()))
	if err != nil {
		return 0
	}
	return width
}

// widths are what a table takes: before its last column, and for that.
func widths(rows [][]string) (before, last int) {
	var columns []int
	for _, row := range rows {
		columns = append(columns, make([]int, max(len(row)-len(columns), 0))...)
		for k, cell := range row {
			columns[k] = max(columns[k], ansi.StringWidth(cell))
		}
	}
	end := len(columns) - 1
	for _, width := range columns[:end] {
		before += width + columnGap
	}
	return before, columns[end]
}

// folded are rows whose last column is no wider than width: what is goes on in rows below.
func folded(rows [][]string, width int) (all [][]string) {
	for _, row := range rows {
		end := len(row) - 1
		for i, line := range fold(row[end], width) {
			if i == 0 {
				all = append(all, append(row[:end:end], line))
				continue
			}
			more := make([]string, len(row))
			more[end] = line
			all = append(all, more)
		}
	}
	return all
}

// fold parts a text into lines, between words where it can.
func fold(text string, width int) []string { return strings.Split(ansi.Wrap(text, width, ""), "\n") }

// paragraphs prints each row as lines with a name each; what is empty is left out.
func paragraphs(w io.Writer, heading []string, rows [][]string, width int) {
	names := 0
	for _, name := range heading {
		names = max(names, ansi.StringWidth(name))
	}
	for i, row := range rows {
		if i > 0 {
			fmt.Fprintln(w)
		}
		for k, cell := range row {
			if cell == "" {
				continue
			}
			for n, line := range fold(cell, max(width-names-columnGap, 1)) {
				name := ""
				if n == 0 {
					name = heading[k]
				}
				fmt.Fprintln(w, strings.TrimRight(name+strings.Repeat(" ", names-ansi.StringWidth(name)+columnGap)+line, " "))
			}
		}
	}
}
