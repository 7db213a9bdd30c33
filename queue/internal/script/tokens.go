package script

import (
	"iter"
	"regexp"
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

// oneToken matches one token at the start of a text. The long forms of strings
// and comments are not used in our sources.
var oneToken = regexp.MustCompile(`^(?:` +
	`--[^\n]*|` +
	`'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|` +
	`[A-Za-z_][A-Za-z_0-9]*|` +
	`\.[A-Za-z_][A-Za-z_0-9]*|\.+|` +
	`[0-9][0-9A-Za-z.]*|` +
	`[^-'"A-Za-z_0-9.]+|-)`)

// luaTokens takes a piece of Lua apart.
func luaTokens(text string) iter.Seq[luaToken] {
	return func(yield func(luaToken) bool) {
		for text != "" {
			t := luaToken{text: oneToken.FindString(text)}
			if t.text == "" {
				t.text = text[:1] // a quote that is never closed: for Lua to complain about
			}
			switch c := t.text[0]; {
			case c == '\'' || c == '"':
				t.kind = literal
			case c == '_' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z':
				t.kind = identifier
			}
			text = strings.TrimPrefix(text, t.text)
			if !yield(t) {
				return
			}
		}
	}
}
