package queue

import (
	"regexp"
	"strings"
)

var (
	luaWord  = regexp.MustCompile(`[.']?[A-Za-z_][A-Za-z_0-9]*`)
	luaField = regexp.MustCompile(`rare\d+\.([A-Za-z_][A-Za-z_0-9]*)`)
)

// mistaken puts a piece of Lua in place of another in an assembled script, both as they stand in the sources: there functions have
// their own names, and in a script some are fields of tables.
func mistaken(text, old, with string) string {
	pattern := luaWord.ReplaceAllStringFunc(regexp.QuoteMeta(old), func(word string) string {
		if strings.ContainsAny(word[:1], ".'") {
			return word
		}
		return `(?:rare\d+\.)?` + word
	})
	fields := luaField.FindAllString(text, -1)
	return regexp.MustCompile(pattern).ReplaceAllStringFunc(text, func(found string) string {
		return luaWord.ReplaceAllStringFunc(with, func(word string) string {
			if strings.Contains(old, word) && !strings.Contains(found, "."+word) {
				return word
			}
			for _, field := range fields {
				if strings.HasSuffix(field, "."+word) {
					return field
				}
			}
			return word
		})
	})
}
