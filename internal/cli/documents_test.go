package cli

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"
)

// inDocument finds what a document says one may write: in quotes, and in lines of blocks.
var inDocument = regexp.MustCompile("`oarlock ([^`\n]+)`|(?m:^ *(?:\\$ )?oarlock ([a-z][^\n]*)$)")

// TestDocumentsNameCommands: what documents tell one to write begins with the name of a command, and its options are options of that.
func TestDocumentsNameCommands(t *testing.T) {
	app := Program{}.app()
	of := func(line string) (words []string) {
		line, _, _ = strings.Cut(line, " #")
		for _, sign := range []string{" | ", " > ", " < ", " -- ", "'", `"`, "\\"} { // an option behind one of these may be another's
			line, _, _ = strings.Cut(line, sign)
		}
		return strings.Fields(line)
	}
	seen := 0
	err := filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() && strings.HasPrefix(entry.Name(), ".") && entry.Name() != ".." || filepath.Ext(path) != ".md" || entry.Name() == "CHANGELOG.md" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, found := range inDocument.FindAllStringSubmatch(string(text), -1) {
			line := found[1] + found[2]
			if strings.Contains(line, " · ") { // of a screen
				continue
			}
			commands, flags := app.Commands, app.Flags
			for i, word := range of(line) {
				if i > 0 && strings.HasPrefix(of(line)[i-1], "-") {
					commands = nil // what follows may be an option's
				}
				name, _, _ := strings.Cut(word, "=")
				command := commandNamed(commands, word)
				switch {
				case command != nil:
					seen++
					commands, flags = command.Subcommands, append(flags[:len(flags):len(flags)], command.Flags...)
				case strings.HasPrefix(name, "--") && !hasOption(flags, name):
					t.Errorf("%s: `oarlock %s` has no option %s", path, line, name)
				case len(commands) > 0 && regexp.MustCompile(`^[a-z]+$`).MatchString(word):
					t.Errorf("%s: `oarlock %s`: there is no command %s", path, line, word)
				}
			}
		}
		return nil
	})
	if err != nil || seen < 300 {
		t.Errorf("%d commands were found: %v", seen, err)
	}
}

func commandNamed(commands []*cli.Command, name string) *cli.Command {
	for _, command := range commands {
		if command.HasName(name) {
			return command
		}
	}
	return nil
}

func hasOption(flags []cli.Flag, name string) bool {
	for _, flag := range flags {
		for _, known := range flag.Names() {
			if "--"+known == name {
				return true
			}
		}
	}
	return name == "--help"
}
