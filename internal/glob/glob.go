// Package glob matches names with globs, in time proportional to the name. All globs of configurations and command lines are of this
// kind: * matches any bytes, including none and /; ? matches one byte; every other byte matches itself, [ and \ too. Names are bytes; they need not be UTF-8. queue/lua/lib/glob.lua does the same for scripts.
package glob

import "strings"

// Longest is the longest name that a glob is tried on. A longer one matches no glob, only the name that is equal.
const Longest = 1024

// Is reports whether pattern can match more than one name.
func Is(pattern string) bool { return strings.ContainsAny(pattern, "*?") }

// Match reports whether pattern, a name or a glob, matches name. A name matches itself, whatever is in it.
//
// Each part between two * is looked for once, from where the part before it ended: the first place is as good as any later one.
func Match(pattern, name string) bool {
	if !Is(pattern) || len(name) > Longest {
		return pattern == name
	}
	first, rest, stars := strings.Cut(pattern, "*")
	if !begins(name, first) || !stars && len(name) != len(first) {
		return false
	}
	name = name[len(first):]
	for stars {
		var part string
		if part, rest, stars = strings.Cut(rest, "*"); !stars {
			return len(name) >= len(part) && begins(name[len(name)-len(part):], part)
		}
		at := index(name, part)
		if at < 0 {
			return false
		}
		name = name[at+len(part):]
	}
	return true
}

// begins reports whether name begins with a part of a pattern, which may have ? in it.
func begins(name, part string) bool {
	if len(name) < len(part) {
		return false
	}
	for i := range len(part) {
		if part[i] != '?' && part[i] != name[i] {
			return false
		}
	}
	return true
}

// index finds where a part of a pattern is in name for the first time; -1 if it is nowhere.
func index(name, part string) int {
	if !strings.Contains(part, "?") {
		return strings.Index(name, part)
	}
	for at := 0; at+len(part) <= len(name); at++ {
		if begins(name[at:], part) {
			return at
		}
	}
	return -1
}
