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
	switch {
	case plainWord.MatchString(name):
	case Visible(name) != name:
		quoted = "$'" + escaped(name) + "'"
	default:
		quoted = "'" + strings.ReplaceAll(name, "'", `'\''`) + "'"
	}
	if strings.HasPrefix(name, "-") {
		return "-- " + quoted
	}
	return quoted
}

// escaped is a name with what cannot be seen in it, as it stands in $'…' of bash, ksh, zsh and busybox. No quote is in it, so that
// it stays one word where a shell knows no $'…', too.
func escaped(name string) string {
	var b strings.Builder
	for _, part := range strings.SplitAfter(name, "") { // a rune each, or a byte that is of none
		switch {
		case part == `\`:
			b.WriteString(`\\`)
		case part == "\n":
			b.WriteString(`\n`)
		case part != "'" && Visible(part) == part:
			b.WriteString(part)
		default:
			for _, c := range []byte(part) {
				b.Write([]byte{'\\', '0' + c>>6, '0' + c>>3&7, '0' + c&7})
			}
		}
	}
	return b.String()
}
