package queue

import (
	"slices"

	"oarlock/internal/glob"
)

// IsGlob reports whether pattern can stand for more than one name.
func IsGlob(pattern string) bool { return glob.Is(pattern) }

// Match reports whether pattern, a name or a glob, stands for name: * stands for any bytes, ? for one byte, and every other byte for itself.
// A name stands for itself, whatever is in it. A glob stands for no name of more than MaxName bytes.
func Match(pattern, name string) bool { return glob.Match(pattern, name) }

// MatchAny reports whether one of the names and globs stands for name.
func MatchAny(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool { return Match(pattern, name) })
}
