package queue

import (
	"bufio"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// example is one executable block of PROTOCOL.md; its preface explains the notation.
type example struct {
	line    int
	dialect string // qless, reqless or mixed
	lines   []string
}

// examples reads the executable blocks of PROTOCOL.md.
func examples(t *testing.T) []example {
	t.Helper()
	file := must(os.Open("PROTOCOL.md"))(t)
	defer file.Close()
	var found []example
	var open *example
	lines := bufio.NewScanner(file)
	for n := 1; lines.Scan(); n++ {
		line := lines.Text()
		switch {
		case open != nil && line == "```":
			found = append(found, *open)
			open = nil
		case open != nil:
			open.lines = append(open.lines, line)
		case line == "```qless" || line == "```reqless" || line == "```mixed":
			open = &example{line: n + 1, dialect: line[3:]}
		}
	}
	ok(t, lines.Err())
	return found
}

// TestExamples plays the examples of PROTOCOL.md through the unified script.
func TestExamples(t *testing.T) {
	l := newLab(t, "redis", DefaultNamespace)
	list := examples(t)
	stop(t, len(list) < 40, "only %d examples", len(list))
	for _, ex := range list {
		t.Run("line "+strconv.Itoa(ex.line), func(t *testing.T) { play(t, l, ex) })
	}
}

func play(t *testing.T, l *lab, ex example) {
	l.redis.FlushDB(t.Context())
	var reply string
	var messages []string // those of the last call that no line has named yet
	for i, line := range ex.lines {
		mark, text, _ := strings.Cut(line, " ")
		where := fmt.Sprintf("line %d: %s", ex.line+i, line)
		switch mark {
		case ">", "q>", "r>", "$":
			dialect := Qless
			if mark == "r>" || ex.dialect == "reqless" {
				dialect = Reqless
			}
			words := shellWords(text)
			if mark == "$" {
				got, err := l.do(t.Context(), words...)
				reply = shown(got, err, words)
			} else {
				got, err := callUnified(t.Context(), l, dialect, step{Argv: words})
				reply = shown(got, err, nil)
			}
			messages = nil
			for _, m := range l.heard(t) {
				messages = append(messages, m[0]+" "+m[1])
			}
		case "=":
			never(t, !matches(text, reply), "%s\n  replied %s", where, reply)
		case "~":
			if text == "none" {
				never(t, len(messages) > 0, "%s\n  published %q", where, messages)
			} else if len(messages) == 0 || !matches(text, messages[0]) {
				t.Errorf("%s\n  published %q", where, messages)
			} else {
				messages = messages[1:]
			}
		case "#", "":
		default:
			t.Errorf("%s: no such mark", where)
		}
	}
}

// shown is a reply in the notation of the examples; words are the plain Redis
// command it is to, if it is to one.
func shown(reply any, err error, words []string) string {
	if err != nil {
		return "(err) " + err.Error()
	}
	switch r := reply.(type) {
	case nil:
		return "(nil)"
	case int64:
		return fmt.Sprintf("(int) %d", r)
	case []any:
		items := make([]string, len(r))
		for i, item := range r {
			if item != nil {
				items[i] = fmt.Sprint(item)
			}
		}
		switch {
		case len(words) > 0 && words[0] == "HGETALL":
			items = pairs(items, "=")
			slices.Sort(items)
		case len(words) > 0 && words[len(words)-1] == "WITHSCORES":
			items = pairs(items, "@")
		case len(words) > 0 && (words[0] == "KEYS" || words[0] == "SMEMBERS"):
			slices.Sort(items)
		}
		return strings.TrimSpace("(list) " + strings.Join(items, " | "))
	}
	return fmt.Sprint(reply)
}

func pairs(flat []string, by string) []string {
	var joined []string
	for i := 0; i+1 < len(flat); i += 2 {
		joined = append(joined, flat[i]+by+flat[i+1])
	}
	return joined
}

// matches compares a reply with an expectation in which … stands for anything. An
// error matches by a part of its text.
func matches(want, got string) bool {
	if want, isError := strings.CutPrefix(want, "(err) "); isError {
		text, failed := strings.CutPrefix(got, "(err) ")
		return failed && strings.Contains(text, want)
	}
	parts := strings.Split(want, "…")
	for i, part := range parts {
		parts[i] = regexp.QuoteMeta(part)
	}
	return regexp.MustCompile("(?s)^" + strings.TrimSpace(strings.Join(parts, ".*")) + `\s*$`).MatchString(got)
}

// shellWords splits a line as a shell does: quotes group, nothing else is special.
func shellWords(line string) []string {
	var words []string
	for _, m := range shellWord.FindAllStringSubmatch(line, -1) {
		words = append(words, m[1]+m[2]+m[3])
	}
	return words
}

var shellWord = regexp.MustCompile(`'([^']*)'|"([^"]*)"|([^\s'"]+)`)

func TestShellWords(t *testing.T) {
	got := shellWords(`put 0 w "" 'a b' '{"x": 1}'`)
	want := []string{"put", "0", "w", "", "a b", `{"x": 1}`}
	never(t, !slices.Equal(got, want), "shellWords = %q, want %q", got, want)
}
