package queue

import (
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"oarlock/queue/lua"
)

var (
	// keyBuilder is an expression of Lua that makes the name of a key: a literal, and more behind it.
	keyBuilder = regexp.MustCompile(`'ql:[^']*'(?: *\.\. *(?:'[^']*'|[#a-zA-Z_][\w.\[\]#]*(?:\([^()]*\))?))*`)
	// partBuilder names a part of something: a variable, and a literal that begins with a sign.
	partBuilder = regexp.MustCompile(`\b(?:\w+\.)?(key|prefix|of_queue)\b *\.\. *'([-:][^']+)'`)
	luaPiece    = regexp.MustCompile(`'[^']*'|[#a-zA-Z_][\w.\[\]#]*(?:\([^()]*\))?`)
)

// patternOf is what a builder makes, with NUL in place of what is not a literal.
func patternOf(builder string) string {
	var b strings.Builder
	for _, piece := range luaPiece.FindAllString(builder, -1) {
		if strings.HasPrefix(piece, "'") {
			b.WriteString(strings.Trim(piece, "'"))
		} else if !strings.HasSuffix(b.String(), "\x00") {
			b.WriteByte(0)
		}
	}
	return b.String()
}

// keyPatterns are the names of keys that the scripts make.
func keyPatterns(t *testing.T) []string {
	t.Helper()
	found := map[string]bool{}
	parts := map[string]bool{}
	err := fs.WalkDir(lua.Files, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(lua.Files, path)
		for line := range strings.Lines(string(text)) {
			code, _, _ := strings.Cut(line, "--")
			if trimmed := strings.TrimSpace(line); strings.HasPrefix(trimmed, "--") {
				continue
			}
			for _, builder := range keyBuilder.FindAllString(code, -1) {
				found[patternOf(builder)] = true
			}
			for _, m := range partBuilder.FindAllStringSubmatch(code, -1) {
				parts[m[2]] = true
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	// A variable is of a job, a throttle or a queue; which parts these have says which end so in some builder, and a job alone has the others.
	of := map[string][]string{"ql:j:\x00": {"-history", "-dependencies", "-dependents"}, "ql:th:\x00": {"-locks", "-pending"}, "ql:q:\x00": {"-work", "-locks", "-scheduled", "-depends", "-throttled", "-recur"}}
	known := map[string]bool{}
	for stem, ends := range of {
		for _, end := range ends {
			found[stem+end], known[end] = true, true
		}
	}
	for part := range parts {
		if !known[part] && !strings.HasPrefix(part, ":") {
			t.Errorf("a script names a part %q of which this test does not know whose it is", part)
		}
	}
	maps.DeleteFunc(found, func(pattern string, _ bool) bool {
		switch {
		case strings.HasSuffix(pattern, ":"): // a word of ours follows, in another expression
			return true
		case pattern == "ql:q:\x00-\x00": // likewise
			return true
		case pattern == "ql:q:\x00": // what all keys of a queue begin with
			return true
		case strings.HasPrefix(pattern, "ql:oarlock:\x00"), strings.HasPrefix(pattern, "ql:s:\x00"): // by a word of ours that stands elsewhere, too
			return true
		case pattern == "ql:f:killed": // a name
			return true
		}
		shorter, has := strings.CutSuffix(pattern, ":\x00") // a length stands in front, or a day
		return has && strings.HasSuffix(shorter, "\x00") && found[shorter]
	})
	return slices.Sorted(maps.Keys(found))
}

// meet finds a name that two patterns make, nil if they make none alike: the first with its own, the second with others in place of NUL.
func meet(a, b string) (name string, is bool) {
	type state struct{ i, j int }
	seen := map[state]bool{}
	var walk func(i, j int, made string) (string, bool)
	walk = func(i, j int, made string) (string, bool) {
		if i == len(a) && j == len(b) {
			return made, true
		}
		if seen[state{i, j}] {
			return "", false
		}
		seen[state{i, j}] = true
		switch {
		case i < len(a) && a[i] == 0 && j < len(b) && b[j] == 0:
			for _, next := range []state{{i + 1, j + 1}, {i + 1, j}, {i, j + 1}} {
				if name, is := walk(next.i, next.j, made+"x"); is {
					return name, true
				}
			}
		case i < len(a) && a[i] == 0:
			if name, is := walk(i+1, j, made); is {
				return name, true
			}
			if j < len(b) {
				return walk(i, j+1, made+b[j:j+1])
			}
		case j < len(b) && b[j] == 0:
			if name, is := walk(i, j+1, made); is {
				return name, true
			}
			if i < len(a) {
				return walk(i+1, j, made+a[i:i+1])
			}
		case i < len(a) && j < len(b) && a[i] == b[j]:
			return walk(i+1, j+1, made+a[i:i+1])
		}
		return "", false
	}
	return walk(0, 0, "")
}

// TestEachKeyIsOfOneName: of all that builds the names of keys no two make the same, but for names that are refused at entry.
func TestEachKeyIsOfOneName(t *testing.T) {
	patterns := keyPatterns(t)
	if len(patterns) < 60 {
		t.Fatalf("only %d builders of keys were found: %q", len(patterns), patterns)
	}
	checks := map[string]func(string) error{"ql:j:": CheckJID, "ql:th:": CheckThrottle} // by how the names of keys begin
	pairs, shown := 0, strings.NewReplacer("\x00", "*")
	for i, a := range patterns {
		for _, b := range patterns[i+1:] {
			key, is := meet(a, b)
			if !is || apart[shown.Replace(a+" "+b)] != "" {
				continue
			}
			pairs++
			refused := false
			for _, pattern := range []string{a, b} {
				begins, ends, _ := strings.Cut(pattern, "\x00")
				check := checks[begins]
				refused = refused || check != nil && check(strings.TrimSuffix(strings.TrimPrefix(key, begins), ends)) != nil
			}
			if !refused {
				t.Errorf("%s and %s both make %s, and nothing refuses a name for that", shown.Replace(a), shown.Replace(b), key)
			}
		}
	}
	if pairs < 5 {
		t.Errorf("only %d pairs were found", pairs)
	}
}

// apart are pairs of builders that look as if they met, and why they do not.
var apart = map[string]string{
	"ql:w:* ql:w:*:jobs":            "the first is a channel",
	"ql:th:*-locks ql:th:*=*-locks": "no name of the rules has the sign, and a put is refused by what is installed: TestThrottlesOfValues",
}
