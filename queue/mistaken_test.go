package queue

import (
	"regexp"
	"strings"
	"testing"
)

var (
	luaWord  = regexp.MustCompile(`[.']?[A-Za-z_][A-Za-z_0-9]*`)
	luaField = regexp.MustCompile(`rare\d+\.([A-Za-z_][A-Za-z_0-9]*)`)
)

// mistaken puts a piece of Lua in place of another in an assembled script, both as they stand in the sources: there functions have
// their own names, and in a script some are fields of tables.
func mistaken(text, old, with string) string {
	for _, word := range luaWord.FindAllString(old, -1) {
		if !strings.Contains(text, word) { // most scripts: to match a pattern in all of it takes a hundred times as long
			return text
		}
	}
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

// mustFind plays programs, so many at most, on scripts with a mistake until one of them finds something wrong.
//
//	changes   pairs of a piece of Lua and what stands in its place, as mistaken takes them
//	play      plays the program of a number with scripts that are changed before; it returns what was wrong, "" if nothing
func mustFind(t *testing.T, changes []string, programs int, play func(number uint64, change func(string) string) (wrong string)) {
	t.Helper()
	made, texts := false, map[string]string{}
	change := func(text string) string {
		if _, known := texts[text]; !known {
			with := text
			for i := 0; i < len(changes); i += 2 {
				with = mistaken(with, changes[i], changes[i+1])
			}
			texts[text], made = with, made || with != text
		}
		return texts[text]
	}
	for number := range uint64(programs) {
		if wrong := play(number, change); wrong != "" {
			if !made {
				t.Fatalf("%s, and nothing was changed", wrong)
			}
			t.Logf("program %d: %.200s", number, wrong)
			return
		}
	}
	t.Errorf("no program found it (changed: %t)", made)
}
