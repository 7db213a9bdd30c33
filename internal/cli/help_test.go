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
				if long := len([]rune(strings.TrimSuffix(text, "\n"))); long > helpWidth {
					t.Errorf("%q has a line of %d columns: %s", line, long, text)
				}
				if strings.Count(text, "(default:") > 1 || strings.Contains(text, "the same, at") {
					t.Errorf("%q says %s", line, text)
				}
			}
			walk(command.Subcommands, line)
		}
	}
	walk(Program{}.app().Commands, nil)
}

// A paragraph is filled anew, lines that are short on purpose stay, and what is told of a name goes on under where it began.
func TestHelpsAreFolded(t *testing.T) {
	text := "TITLE:\n" +
		"   a first line that is long enough to be one of a paragraph, for which there is\n" +
		"   no room\n" +
		"   short:\n" +
		"   as it was\n" +
		"\n" +
		"   --one value                        what is told of it\n" +
		"   --some X, -s X [ --some X, -s X ]  more words than there is room for\n"
	want := "TITLE:\n" +
		"   a first line that is long enough to be\n   one of a paragraph, for which there is\n   no room\n" +
		"   short:\n" +
		"   as it was\n" +
		"\n" +
		"   --one value     what is told of it\n" +
		"   --some X, -s X  more words than there\n                   is room for\n"
	var got strings.Builder
	for _, part := range helpParts(strings.Split(strings.TrimSuffix(text, "\n"), "\n")) {
		for _, line := range part.lines(42) {
			got.WriteString(line + "\n")
		}
	}
	if got.String() != want {
		t.Errorf("it is\n%s\nwant\n%s", got.String(), want)
	}
}
