package config

import "strings"

// mostNesting is how deep tables and lists may stand in each other, by brackets or by the
// dots of a key. Ours stand four deep. The parser's memory grows with the square of it and
// more: of 60 KB, all of them brackets, it made 10 GB.
const mostNesting = 32

// nesting returns the line, from 1, where a TOML text is nested deeper than that; 0: nowhere.
// It looks at the text before anybody parses it, so it may be anything.
func nesting(text string) int {
	f := finder{text: text, line: 1, found: nil}
	depth, dots := 0, 0
	for f.at < len(text) {
		switch c := text[f.at]; c {
		case '"', '\'':
			f.quotedLine()
			continue
		case '#':
			f.skipTo("\n")
			continue
		case '[', '{':
			depth++
			dots = 0
		case ']', '}':
			depth = max(depth-1, 0)
			dots = 0
		case '.':
			dots++
		case '=', ',':
			dots = 0
		case '\n':
			f.line++
			dots = 0
		}
		if depth+dots > mostNesting {
			return f.line
		}
		f.at++
	}
	return 0
}

// quotedLine skips a string, of which the text may lack the end: one that may not stand on
// several lines ends with its own.
func (f *finder) quotedLine() {
	mark := f.text[f.at : f.at+1]
	if strings.HasPrefix(f.text[f.at:], mark+mark+mark) {
		f.quoted()
		return
	}
	for f.at++; f.at < len(f.text) && f.text[f.at] != '\n'; f.at++ {
		switch {
		case f.text[f.at] == mark[0]:
			f.at++
			return
		case f.text[f.at] == '\\' && mark == `"`:
			f.at++
		}
	}
}
