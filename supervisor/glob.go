package supervisor

import "strings"

// isGlob reports whether a pattern can stand for several queues.
func isGlob(pattern string) bool { return strings.ContainsAny(pattern, "*?") }

// match reports whether pattern stands for name: * for any characters, ? for one byte,
// every other for itself.
func match(pattern, name string) bool {
	for i := 0; i < len(pattern); i++ {
		switch {
		case pattern[i] == '*':
			rest := pattern[i+1:]
			for j := len(name); j >= 0; j-- {
				if match(rest, name[j:]) {
					return true
				}
			}
			return false
		case name == "", pattern[i] != '?' && pattern[i] != name[0]:
			return false
		}
		name = name[1:]
	}
	return name == ""
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
