package supervisor

import "strings"

// isGlob reports whether a pattern can stand for several queues.
func isGlob(pattern string) bool { return strings.ContainsAny(pattern, "*?") }

// match reports whether pattern stands for name: * for any characters, ? for one byte,
// every other for itself.
func match(pattern, name string) bool {
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

// matches reports whether one of the names and globs stands for the queue.
func matches(patterns []string, queue string) bool {
	for _, pattern := range patterns {
		if match(pattern, queue) {
			return true
		}
	}
	return false
}

// plain returns the names among patterns that are no globs.
func plain(patterns []string) []string { return expand(patterns, nil) }
