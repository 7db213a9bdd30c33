package main

import (
	"cmp"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
)

// rows is what the rows of the fault matrix have shown, by id.
type rows map[string]*row

// row sums up the runs of one row, each from a seed of its own.
type row struct {
	id               string
	runs, ok         int
	fastest, slowest float64  // seconds
	names            []string // of its numbers, as they came
	shown            map[string]*span
	reason           string // why this machine cannot show it
}

// span is between which values a number was, or its words if it is none.
type span struct {
	low, high float64
	words     []string
}

var (
	ranRow   = regexp.MustCompile(`^row (.+) seed \d+ (ok|FAILED) (.*)\(([\d.]+) s\)$`)
	leftRow  = regexp.MustCompile(`^row (.+) not shown on this machine: (.*)$`)
	inMatrix = regexp.MustCompile(`^([A-Z])-?(\d+)$`)
)

// add reads a line by which a row reports itself; others are ignored.
func (rs rows) add(line string) {
	line = strings.TrimSpace(line)
	if m := leftRow.FindStringSubmatch(line); m != nil {
		rs.of(m[1]).reason = m[2]
		return
	}
	m := ranRow.FindStringSubmatch(line)
	if m == nil {
		return
	}
	r := rs.of(m[1])
	seconds, _ := strconv.ParseFloat(m[4], 64) // digits, by the pattern
	if r.runs == 0 || seconds < r.fastest {
		r.fastest = seconds
	}
	r.slowest = max(r.slowest, seconds)
	r.runs++
	if m[2] == "ok" {
		r.ok++
	}
	for field := range strings.FieldsSeq(m[3]) {
		if name, value, found := strings.Cut(field, "="); found {
			r.number(name).add(value)
		}
	}
}

func (rs rows) of(id string) *row {
	if rs[id] == nil {
		rs[id] = &row{id: id, shown: make(map[string]*span)}
	}
	return rs[id]
}

func (r *row) number(name string) *span {
	if r.shown[name] == nil {
		r.names = append(r.names, name)
		r.shown[name] = &span{}
	}
	return r.shown[name]
}

func (s *span) add(value string) {
	n, err := strconv.ParseFloat(value, 64)
	switch {
	case err != nil && !slices.Contains(s.words, value):
		s.words = append(s.words, value)
	case err == nil && s.words == nil:
		s.words, s.low, s.high = []string{}, n, n
	case err == nil:
		s.low, s.high = min(s.low, n), max(s.high, n)
	}
}

func (s *span) String() string {
	switch {
	case len(s.words) > 0:
		return strings.Join(s.words, "|")
	case s.low == s.high:
		return short(s.low)
	}
	return short(s.low) + "…" + short(s.high)
}

func short(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }

// print writes a table: the rows of the matrix in its order, then the others.
func (rs rows) print(w io.Writer) {
	var all []*row
	for _, r := range rs {
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b *row) int {
		aSection, aNumber := place(a.id)
		bSection, bNumber := place(b.id)
		return cmp.Or(cmp.Compare(aSection, bSection), cmp.Compare(aNumber, bNumber), cmp.Compare(a.id, b.id))
	})
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "ROW\tPASSED\tSECONDS\tSHOWED")
	for _, r := range all {
		if r.runs == 0 {
			fmt.Fprintf(table, "%s\t-\t-\tnot on this machine: %s\n", r.id, r.reason)
			continue
		}
		passed := fmt.Sprintf("%d of %d", r.ok, r.runs)
		if r.ok < r.runs {
			passed += " FAILED"
		}
		took := span{low: r.fastest, high: r.slowest}
		var shown []string
		for _, name := range r.names {
			shown = append(shown, name+"="+r.shown[name].String())
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", r.id, passed, took.String(), strings.Join(shown, " "))
	}
	table.Flush()
}

// place is where a row stands in the matrix; those that are not in it come last.
func place(id string) (section string, number int) {
	m := inMatrix.FindStringSubmatch(id)
	if m == nil {
		return "~", 0
	}
	number, _ = strconv.Atoi(m[2]) // digits, by the pattern
	return m[1], number
}
