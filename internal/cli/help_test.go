package cli

import (
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"
)

// Every command has a help that names one default of an option, and says what it does without the help of another.
func TestHelpsAreTrue(t *testing.T) {
	s := newScript(t, "")
	var walk func(commands []*cli.Command, path []string)
	walk = func(commands []*cli.Command, path []string) {
		for _, command := range commands {
			line := append(slices.Clone(path), command.Name)
			if err := s.oarlock(exitOK, append(line, "--help")); err != nil {
				t.Errorf("%q: %v", line, err)
			}
			for text := range strings.Lines(s.said["stdout"]) {
				if strings.Count(text, "(default:") > 1 || strings.Contains(text, "the same, at") {
					t.Errorf("%q says %s", line, text)
				}
			}
			walk(command.Subcommands, line)
		}
	}
	walk(Program{}.app().Commands, nil)
}
