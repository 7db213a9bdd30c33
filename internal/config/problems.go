package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Problem is one thing that is wrong with a configuration.
type Problem struct {
	File   string `json:"file"`             // "" if it came from a flag or the environment
	Line   int    `json:"line"`             // from 1; 0 if it has none
	Column int    `json:"column,omitempty"` // from 1, of what is no TOML; 0 if it has none
	Key    string `json:"key"`              // with its tables: pools.mail.command
	Why    string `json:"why"`

	// Passing says that the file may be as it should: the host is short of something, or what
	// the file names is to come. A later try may go well.
	Passing bool `json:"passing,omitempty"`
}

func (p Problem) String() string {
	var where string
	switch {
	case p.File != "" && p.Line > 0 && p.Column > 0:
		where = fmt.Sprintf("%s:%d:%d: ", p.File, p.Line, p.Column)
	case p.File != "" && p.Line > 0:
		where = fmt.Sprintf("%s:%d: ", p.File, p.Line)
	case p.File != "":
		where = p.File + ": "
	}
	if p.Key != "" {
		where += p.Key + ": "
	}
	return where + p.Why
}

// Problems is everything that is wrong with a configuration, and an error. It is never
// empty.
type Problems []Problem

func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i, problem := range p {
		lines[i] = problem.String()
	}
	return strings.Join(lines, "\n")
}

// sorted orders problems as a reader of the files meets them; those of one line by their keys.
func (p Problems) sorted() Problems {
	slices.SortStableFunc(p, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Key, b.Key))
	})
	return p
}

// Nearest gives the word among known that is most like word, or "" if none is alike.
// Letters may be wrong, missing, doubled or swapped in about a third of the word.
func Nearest(word string, known []string) string {
	best, least := "", len(word)/3+2
	for _, candidate := range known {
		if d := distance(word, candidate); d < least {
			best, least = candidate, d
		}
	}
	return best
}

// distance counts the edits from a to b; two neighbours that changed places are one.
func distance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}
