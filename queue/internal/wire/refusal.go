package wire

import (
	"regexp"
	"strings"
)

// Words takes a command's own words out of the four shapes that servers wrap
// around them:
//
//	ERR user_script:1: Boo: x script: <sha>, on @user_script:1.
//	ERR Error running script (call to f_<sha>): @user_script:1: user_script:1: Boo: x
//	ERR Error compiling script (new function): :1: Boo: x stack traceback: …
//	WRONGTYPE … and other texts of Redis itself, which stay as they are
func Words(text string) string {
	text = strings.TrimPrefix(text, "ERR ")
	if rest, _, found := strings.Cut(text, " stack traceback:"); found {
		text = strings.TrimSpace(rest)
	}
	if i := strings.LastIndex(text, " script: "); i >= 0 && strings.Contains(text[i:], ", on @") {
		text = text[:i]
	}
	for _, mark := range []string{"user_script:", "(new function): :"} {
		if i := strings.LastIndex(text, mark); i >= 0 {
			_, rest, found := strings.Cut(text[i+len(mark):], ": ")
			if found {
				return rest
			}
		}
	}
	return line.ReplaceAllString(text, "")
}

// line is all that the embedded server says of where an error was raised that a script caught.
var line = regexp.MustCompile(`^:\d+: `)

// position is where in a script an error was raised, as servers put it before its text.
var position = regexp.MustCompile(`(?:@?user_script|\(new function\): ):\d+: `)

// DamageWords is Words for what a script says of a job: words of ours, and behind them
// perhaps an error, all of which counts.
func DamageWords(text string) string {
	return strings.ToValidUTF8(Words(position.ReplaceAllString(text, "")), "\uFFFD")
}
