package config

import (
	"strings"
	"testing"
)

func TestNesting(t *testing.T) {
	deep := func(open, inner, end string, n int) string {
		return strings.Repeat(open, n) + inner + strings.Repeat(end, n)
	}
	for _, tt := range []struct {
		name string
		text string
		line int // 0: fine
	}{
		{"nothing", "", 0},
		{"as deep as may be", "a = " + deep("[", "", "]", mostNesting), 0},
		{"lists", "\n\na = " + deep("[", "", "]", mostNesting+1), 3},
		{"tables", "b = 1\na = " + deep("{a=", "1", "}", mostNesting+1), 2},
		{"tables of a key of dots", "b = 1\na = " + deep("{a.a.a=", "1", "}", mostNesting-1), 2},
		{"dots", "a" + strings.Repeat(".a", mostNesting+1) + " = 1", 1},
		{"dots in a header", "\n[" + strings.Repeat("a.", mostNesting+1) + "a]", 2},
		{"on many lines", "a = " + deep("[\n", "", "]\n", mostNesting+1), mostNesting + 1},
		{"beside each other", strings.Repeat("a = {b = [1.5, 2.5]}\n", 1000), 0},
		{"numbers", "a = [" + strings.Repeat("1.5, ", 1000) + "]", 0},
		{"in strings", `a = "` + deep("{", "", "", 99) + `"` + "\nb = '" + deep("[", "", "", 99) + "'\nc = \"\"\"\n" + deep("[.", "", "", 99) + "\"\"\"", 0},
		{"in a comment", "# " + deep("[", "", "", 99) + "\na = 1", 0},
		{"behind an escaped quote", `a = "\"` + deep("{", "", "", 99) + `"`, 0},
		{"behind a string without an end", "a = \"\nb = " + deep("[", "", "]", 99), 2},
		{"behind too many ends", "a = " + strings.Repeat("]", 99) + deep("[", "", "", 99), 1},
		{"no TOML, and an end behind a backslash", `a = "\`, 0},
		{"a string of many lines without an end", `a = """`, 0},
	} {
		if got := nesting(tt.text); got != tt.line {
			t.Errorf("%s: line %d, want %d", tt.name, got, tt.line)
		}
	}
	path := write(t, "c.toml", "\na = "+deep("{a=", "1", "}", 15_000))
	if _, err := Load(Options{Path: path, Env: environment()}); err == nil || !strings.Contains(err.Error(), path+":2: tables and lists stand more than 32 deep") {
		t.Errorf("60 KB of brackets: %v", err)
	}
}
