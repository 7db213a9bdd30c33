package protocol

import (
	"regexp"
	"strings"
	"sync"
)

// places match what a language prints behind the line that says what went wrong, to tell where that was.
var places = sync.OnceValue(func() *regexp.Regexp { // few who start ever need it
	return regexp.MustCompile(`^(?:` + strings.Join([]string{
		`at .*(?:\)|:\d+|:line \d+)(?: \{)?`,    // JavaScript, Java, C#
		`Node\.js v\d\S*`,                       // likewise
		`\.\.\. \d+ (?:more|lines matching .*)`, // likewise
		"(?:from )?\\S.*:\\d+:in [`'][^']*'",    // Ruby
		`Stack trace:|#\d+ (?:.*\(\d+\): .*|\[internal function\]: .*|\{main\})|thrown in .* on line \d+`, // PHP
		"note: run with `RUST_BACKTRACE=.*|exit status \\d",                                               // Rust, Go
		`\[signal SIG.*\]`,
	}, "|") + `)$`)
})

// goroutine is where Go begins to tell places.
var goroutine = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^goroutine \d+ .*\[.*\]:$`) })

// Why returns the line of a text that says what went wrong, if the text is what a program printed last, or a message made of that: the
// last one, of those that do not only tell where. It is without blanks around it, and "" only if there is no line.
func Why(text string) string {
	if at := goroutine().FindStringIndex(text); at != nil && strings.TrimSpace(text[:at[0]]) != "" {
		text = text[:at[0]]
	}
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for i := len(lines) - 1; i >= 0; i-- {
		line := strings.TrimSpace(lines[i])
		if line == "}" {
			if opened := opens(lines[:i]); opened >= 0 {
				i = opened
				continue
			}
		}
		if line != "" && !places().MatchString(line) {
			return line
		}
	}
	return strings.TrimSpace(lines[len(lines)-1])
}

// opens returns the last place behind which Node shows the members of an error, one a line, or -1.
func opens(lines []string) int {
	for i := len(lines) - 1; i >= 0 && lines[i] == "" || i >= 0 && lines[i] != strings.TrimSpace(lines[i]); i-- {
		if line := strings.TrimSpace(lines[i]); strings.HasSuffix(line, " {") && places().MatchString(line) {
			return i
		}
	}
	return -1
}
