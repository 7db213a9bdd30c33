package script

import (
	"iter"
	"strings"
)

// luaToken is a piece of Lua source. The pieces of a text, joined, are the text.
type luaToken struct {
	kind tokenKind
	text string
}

type tokenKind int

const (
	other      tokenKind = iota // numbers, operators, blanks, comments, fields after a dot
	identifier                  // a name that stands for a variable, or a keyword
	literal                     // a string in quotes, with them
)

// tokenLength returns how long the token at the start of a text is, which is not empty. The long forms of strings and
// comments are not used in our sources. By hand, for a regular expression took most of the time in which a program that
// does one thing ends.
func tokenLength(text string) int {
	switch c := text[0]; {
	case strings.HasPrefix(text, "--"):
		return run(text, 2, func(c byte) bool { return c != '\n' })
	case c == '-':
		return 1
	case c == '\'' || c == '"':
		return literalLength(text)
	case isLetter(c):
		return run(text, 1, isWord)
	case c == '.' && len(text) > 1 && isLetter(text[1]):
		return run(text, 1, isWord)
	case c == '.':
		return run(text, 1, func(c byte) bool { return c == '.' })
	case isDigit(c):
		return run(text, 1, func(c byte) bool { return c == '.' || c != '_' && isWord(c) })
	}
	return run(text, 1, func(c byte) bool { return !isWord(c) && c != '-' && c != '\'' && c != '"' && c != '.' })
}

// literalLength is that of the string at the start of a text; 1 if the quote is never closed: for Lua to complain about.
func literalLength(text string) int {
	for i := 1; i < len(text) && text[i] != '\n'; i++ {
		switch text[i] {
		case text[0]:
			return i + 1
		case '\\':
			i++
			if i < len(text) && text[i] == '\n' {
				return 1
			}
		}
	}
	return 1
}

// run returns the first place from one on whose byte is not one of those.
func run(text string, from int, of func(c byte) bool) int {
	for from < len(text) && of(text[from]) {
		from++
	}
	return from
}

func isLetter(c byte) bool { return c == '_' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z' }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isWord(c byte) bool { return isLetter(c) || isDigit(c) }

// luaTokens takes a piece of Lua apart.
func luaTokens(text string) iter.Seq[luaToken] {
	return func(yield func(luaToken) bool) {
		for text != "" {
			n := tokenLength(text)
			t := luaToken{text: text[:n]}
			switch c := text[0]; {
			case c == '\'' || c == '"':
				t.kind = literal
			case isLetter(c):
				t.kind = identifier
			}
			text = text[n:]
			if !yield(t) {
				return
			}
		}
	}
}
