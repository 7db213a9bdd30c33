package cli

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"oarlock/internal/config"
)

// takesProgram are the commands whose words are a program of the user's with options of
// its own: once the program is named, only options that the command itself knows are
// taken from among them. The number is how many words there are by then.
var takesProgram = map[string]int{"try": 1, "torture": 1, "replay": 2}

// arrange puts the options of a command line in front of its words, where the parser
// looks for them: options may then stand anywhere. What follows "--" are words.
//
// It refuses a command or an option that does not exist, naming the nearest.
func arrange(app *cli.App, args []string) ([]string, error) {
	if len(args) == 0 || slices.Contains(args, "--generate-bash-completion") {
		return args, nil
	}
	var (
		global, path, local, words []string

		commands = app.Commands
		command  *cli.Command // the one found so far
	)
	rest := args[1:]
	for len(rest) > 0 {
		arg := rest[0]
		rest = rest[1:]
		if arg == "--" {
			words = append(words, rest...)
			break
		}
		if isOption(arg) {
			name, value, hasValue := strings.Cut(strings.TrimLeft(arg, "-"), "=")
			to := &local
			var flag cli.Flag
			if command != nil {
				flag = flagNamed(command.Flags, name)
			}
			if flag == nil && command != nil && takesProgram[command.Name] > 0 && len(words) >= takesProgram[command.Name] {
				words = append(words, arg)
				continue
			}
			if flag == nil {
				to, flag = &global, flagNamed(app.Flags, name)
			}
			if flag == nil && !(name == "help" || name == "h") {
				return nil, noOption(app, command, path, name)
			}
			if flag == nil {
				local = append(local, arg)
				continue
			}
			// The parser refuses two of the names of one option.
			arg = "--" + flag.Names()[0]
			if _, isSwitch := flag.(*cli.BoolFlag); !isSwitch && !hasValue && len(rest) > 0 {
				value, hasValue, rest = rest[0], true, rest[1:]
			}
			if hasValue {
				arg += "=" + value
			}
			*to = append(*to, arg)
			continue
		}
		if len(commands) > 0 {
			found := commandNamed(commands, arg)
			if found == nil {
				return nil, noCommand(commands, path, arg)
			}
			command, commands = found, found.Subcommands
			path = append(path, arg)
			continue
		}
		words = append(words, arg)
	}
	out := slices.Concat(args[:1], global, path, local)
	if len(words) > 0 {
		out = append(append(out, "--"), words...)
	}
	return out, nil
}

// isOption tells an option from a word; a negative number and a lone dash are words.
func isOption(arg string) bool {
	if len(arg) < 2 || arg[0] != '-' {
		return false
	}
	_, err := strconv.ParseFloat(arg, 64)
	return err != nil
}

func flagNamed(flags []cli.Flag, name string) cli.Flag {
	for _, flag := range flags {
		if slices.Contains(flag.Names(), name) {
			return flag
		}
	}
	return nil
}

func commandNamed(commands []*cli.Command, name string) *cli.Command {
	for _, command := range commands {
		if command.HasName(name) {
			return command
		}
	}
	if name == "help" || name == "h" {
		return &cli.Command{Name: name}
	}
	return nil
}

func noOption(app *cli.App, command *cli.Command, path []string, name string) error {
	flags := app.Flags
	if command != nil {
		flags = slices.Concat(flags, command.Flags)
	}
	var names []string
	for _, flag := range flags {
		names = append(names, flag.Names()[0])
	}
	text := fmt.Sprintf("there is no option --%s", name)
	if near := config.Nearest(name, names); near != "" {
		text += fmt.Sprintf("; did you mean --%s?", near)
	}
	return misused("%s\nSee `%s --help`.", text, strings.Join(append([]string{"oarlock"}, path...), " "))
}

func noCommand(commands []*cli.Command, path []string, word string) error {
	var names []string
	for _, command := range commands {
		names = append(names, command.Name)
	}
	before := strings.Join(append([]string{"oarlock"}, path...), " ")
	if near := config.Nearest(word, names); near != "" {
		return misused("there is no command `%s %s`; did you mean `%s %s`?", before, word, before, near)
	}
	return misused("there is no command `%s %s`\nSee `%s --help`.", before, word, before)
}
