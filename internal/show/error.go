package show

import (
	"io"
	"strings"

	"oarlock/internal/config"
	"oarlock/internal/screen"
)

// Error shows why the program ends; nothing of an error without words.
func Error(w io.Writer, err error) {
	if err.Error() != "" {
		screen.Printf(w, "%s%s\n", screen.Paint(w, screen.Red, "oarlock: "), sentences(err))
	}
}

// sentences are the text of err, the lines behind its first indented, so that what it quotes
// is taken for no line of ours. Problems of a configuration keep a line each.
func sentences(err error) screen.Lines {
	problems, several := err.(config.Problems)
	if !several {
		return screen.Lines(strings.ReplaceAll(err.Error(), "\n", "\n  "))
	}
	var each []string
	for _, problem := range problems {
		each = append(each, strings.ReplaceAll(problem.String(), "\n", "\n  "))
	}
	return screen.Lines(strings.Join(each, "\n"))
}
