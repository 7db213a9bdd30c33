package cli

import (
	"bufio"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/urfave/cli/v2"

	"oarlock/internal/config"
	"oarlock/internal/screen"
	"oarlock/queue"
)

// gone is the error of a command that named something which is not there, or is not as it
// would have to be. Its exit code is its own, so that a script can tell it from trouble.
type gone struct{ text string }

func (g gone) Error() string { return g.text }

func notThere(format string, args ...any) error { return gone{fmt.Sprintf(format, args...)} }

// forceFlag is what commands have that ask back.
func forceFlag() cli.Flag {
	return &cli.BoolFlag{Name: "force", Usage: "do it without asking, however odd it looks"}
}

// doubtful asks whether what the command line says is meant: on a terminal it waits for the
// answer, elsewhere it refuses. With --force it is not in doubt.
func doubtful(c *cli.Context, format string, args ...any) error {
	sentence := fmt.Sprintf(format, args...)
	if c.Bool("force") {
		return nil
	}
	if !screen.IsTerminal(c.App.Reader) || !screen.IsTerminal(c.App.ErrWriter) {
		return misused("%s\nNothing was done; --force does it all the same.", sentence)
	}
	screen.Printf(c.App.ErrWriter, "%s Do it all the same? [y/N] ", sentence)
	answer, _ := bufio.NewReader(c.App.Reader).ReadString('\n')
	if word := strings.ToLower(strings.TrimSpace(answer)); word == "y" || word == "yes" {
		return nil
	}
	return misused("Nothing was done.")
}

// newName refuses a name of what that nobody can mean to make, and asks about one that is hard
// to name again.
func newName(c *cli.Context, what, name string) error {
	switch {
	case name == "":
		return misused("the %s is empty; give it a name", what)
	case strings.ContainsFunc(name, unicode.IsControl):
		return doubtful(c, "The %s %q has a line break or another control character in it.", what, name)
	case strings.TrimSpace(name) != name:
		return doubtful(c, "The %s %q begins or ends with a blank.", what, name)
	}
	return nil
}

// newNames is newName for several.
func newNames(c *cli.Context, what string, names ...string) error {
	for _, name := range names {
		if err := newName(c, what, name); err != nil {
			return err
		}
	}
	return nil
}

// knownQueues refuses queues of which Redis knows nothing, naming the nearest that it knows. One
// that is forgotten and has jobs is there; so is one that is paused.
func knownQueues(c *cli.Context, q *queue.Client, names ...string) error {
	known, err := q.QueueNames(c.Context)
	if err != nil {
		return err
	}
	for _, name := range names {
		if slices.Contains(known, name) {
			continue
		}
		n, err := q.Queue(c.Context, name)
		if err != nil {
			return err
		}
		if n == (queue.QueueCounts{Name: name}) {
			return notThere("there is no queue %s%s", name, nearest(name, known))
		}
	}
	return nil
}

// nearest suggests the known name that is most like name.
func nearest(name string, known []string) string {
	if near := config.Nearest(name, known); near != "" {
		return fmt.Sprintf("; did you mean %s?", near)
	}
	return ""
}

// scriptMark is what a refusal of Redis begins with: where in a script it was raised, and by
// which command.
var scriptMark = regexp.MustCompile(`^(?:user_script:\d+: )?(?:[A-Z][A-Za-z]*\(\): )?`)

// worded is err in the words of whom it is told: what Redis refuses is said without the command,
// and that there is no such job is an error of its own.
func worded(c *cli.Context, err error) error {
	var refusal *queue.ScriptError
	if !errors.As(err, &refusal) {
		return err
	}
	text := scriptMark.ReplaceAllString(refusal.Message, "")
	if errors.Is(err, queue.ErrNoJob) {
		jid := c.Args().First()
		if strings.Contains(text, "recurring") {
			return notThere("there is no recurring job %s", jid)
		}
		return notThere("there is no job %s", jid)
	}
	if err == error(refusal) {
		return errors.New(text)
	}
	return err
}
