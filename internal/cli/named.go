package cli

import (
	"bufio"
	"errors"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"oarlock/internal/ops"
	"oarlock/internal/screen"
)

// notThere is the error of a command that named something which is not there, or is not as it
// would have to be. Its exit code is its own, so that a script can tell it from trouble.
func notThere(format string, args ...any) error {
	if len(args) > 0 && args[0] == "" {
		args[0] = `""` // a name of nothing is seen as such
	}
	return &ops.Missing{Text: fmt.Sprintf(format, args...)}
}

// forceFlag is what commands have that ask back.
func forceFlag() cli.Flag {
	return &cli.BoolFlag{Name: "force", Usage: "do it without asking, however odd it looks"}
}

// sure asks whether what is in doubt is meant: on a terminal it waits for the answer, elsewhere it
// refuses. With --force nothing is in doubt.
func sure(c *cli.Context) ops.Sure {
	if c.Bool("force") {
		return ops.Always
	}
	return func(sentence string) error {
		if !screen.IsTerminal(c.App.Reader) || !screen.IsTerminal(c.App.ErrWriter) {
			return misused("%s\nNothing was done; --force does it all the same.", sentence)
		}
		if saysYes(c, sentence+" Do it all the same?") {
			return nil
		}
		return misused("Nothing was done.")
	}
}

// asked is err in the words of the command line: what is wrong with an argument is said of its option.
func asked(err error) error {
	var wrong *ops.Wrong
	switch {
	case !errors.As(err, &wrong):
		return err
	case strings.HasSuffix(wrong.Argument, ":"): // a term of a search
	case wrong.Argument != "":
		return misused("--%v", wrong)
	}
	return misused("%v", wrong)
}

// saysYes asks the one at the terminal.
func saysYes(c *cli.Context, question string) bool {
	screen.Printf(c.App.ErrWriter, "%s [y/N] ", question)
	line, _ := bufio.NewReader(c.App.Reader).ReadString('\n')
	word := strings.ToLower(strings.TrimSpace(line))
	return word == "y" || word == "yes"
}
