package queue

import (
	"slices"
	"strings"
)

// The one language of patterns for names of queues (and kinds of jobs), wherever a configuration
// or a command line takes a glob: * stands for any bytes, none and / included, ? for one byte,
// and every other for itself, [ and \ too. Names are bytes; they need not be UTF-8.

// IsGlob reports whether pattern can stand for more than one name.
func IsGlob(pattern string) bool { return strings.ContainsAny(pattern, "*?") }

// Match reports whether pattern, a name or a glob, stands for name. It takes time in proportion to
// the product of both lengths at most. A name stands for itself, whatever is in it.
func Match(pattern, name string) bool {
	p, n := 0, 0
	star, from := -1, 0 // the last *, and up to where of name it reaches
	for n < len(name) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, from = p, n
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == name[n]):
			p++
			n++
		case star >= 0: // let it reach one further
			from++
			p, n = star+1, from
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}

// MatchAny reports whether one of the names and globs stands for name.
func MatchAny(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool { return Match(pattern, name) })
}
