package screen

import (
	"regexp"
	"strings"
)

// plainWord is a word that no shell changes, nor takes for an option.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9_.:/@%+][A-Za-z0-9_.:/@%+-]*$`)

// InShell is a name as it can be copied into a shell behind a command of ours. Whoever chose
// the name of a job or a queue must not command who follows our advice.
func InShell(name string) string {
	quoted := name
	if !plainWord.MatchString(name) {
		quoted = "'" + strings.ReplaceAll(name, "'", `'\''`) + "'"
	}
	if strings.HasPrefix(name, "-") {
		return "-- " + quoted
	}
	return quoted
}
