package config

import "strings"

// lines tells on which line of a TOML text each key and table stands, by its path with
// dots: "pools.mail.command". The decoder keeps no positions of keys. The text must be
// valid TOML.
func lines(text string) map[string]int {
	f := finder{text: text, line: 1, found: map[string]int{}}
	table := ""
	for f.blank(); f.at < len(f.text); f.blank() {
		if f.text[f.at] != '[' {
			f.pair(table)
			continue
		}
		for f.text[f.at] == '[' { // twice for an array of tables
			f.at++
		}
		table = f.key("", "]")
		for f.at < len(f.text) && f.text[f.at] == ']' {
			f.at++
		}
	}
	return f.found
}

// finder walks over a TOML text.
type finder struct {
	text  string
	at    int
	line  int
	found map[string]int
}

// blank skips white space, line ends and comments.
func (f *finder) blank() {
	for f.at < len(f.text) {
		switch f.text[f.at] {
		case '\n':
			f.line++
			f.at++
		case ' ', '\t', '\r':
			f.at++
		case '#':
			f.skipTo("\n")
		default:
			return
		}
	}
}

// skipTo moves to the next of the characters in stop, or to the end.
func (f *finder) skipTo(stop string) {
	if n := strings.IndexAny(f.text[f.at:], stop); n >= 0 {
		f.at += n
	} else {
		f.at = len(f.text)
	}
}

// pair reads key = value under the table.
func (f *finder) pair(table string) {
	path := f.key(table, "=")
	f.at++ // the sign
	f.value(path)
}

// key reads a dotted key up to end, notes its line, and gives its path.
func (f *finder) key(table, end string) string {
	path := table
	for f.at < len(f.text) && !strings.ContainsRune(end, rune(f.text[f.at])) {
		var part string
		switch c := f.text[f.at]; c {
		case ' ', '\t', '.':
			f.at++
			continue
		case '"', '\'':
			from := f.at + 1
			f.quoted()
			part = f.text[from : f.at-1]
		default:
			from := f.at
			f.skipTo(" \t." + end)
			part = f.text[from:f.at]
		}
		path = join(path, part)
		if _, again := f.found[path]; !again {
			f.found[path] = f.line
		}
	}
	return path
}

// value skips a value; the keys of an inline table are noted under path.
func (f *finder) value(path string) {
	f.blank()
	if f.at >= len(f.text) {
		return
	}
	switch f.text[f.at] {
	case '"', '\'':
		f.quoted()
	case '[':
		f.list("]", func() { f.value(path) })
	case '{':
		f.list("}", func() { f.pair(path) })
	default:
		f.skipTo(",]}\n#")
	}
}

// list reads items with commas between them up to end.
func (f *finder) list(end string, item func()) {
	f.at++
	for f.blank(); f.at < len(f.text) && f.text[f.at:f.at+1] != end; f.blank() {
		if f.text[f.at] == ',' {
			f.at++
			continue
		}
		item()
	}
	f.at++
}

// quoted skips a string of any of the four kinds.
func (f *finder) quoted() {
	mark := f.text[f.at : f.at+1]
	if strings.HasPrefix(f.text[f.at:], mark+mark+mark) {
		mark += mark + mark
	}
	for f.at += len(mark); f.at < len(f.text); f.at++ {
		switch {
		case strings.HasPrefix(f.text[f.at:], mark):
			f.at += len(mark)
			for len(mark) == 3 && f.at < len(f.text) && f.text[f.at] == mark[0] {
				f.at++ // up to two more belong to the string
			}
			return
		case f.text[f.at] == '\\' && mark[0] == '"':
			f.at++
			if f.at < len(f.text) && f.text[f.at] == '\n' {
				f.line++
			}
		case f.text[f.at] == '\n':
			f.line++
		}
	}
}

func join(table, key string) string {
	if table == "" {
		return key
	}
	return table + "." + key
}
