package cli

import (
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"oarlock/internal/config"
)

// takesProgram are the commands whose words are a program of the user's with options of
// its own: once the program is named, only options that the command itself knows are
// taken from among them.
var takesProgram = map[string]bool{"try": true, "torture": true}

// arrange puts the options of a command line in front of its words, where the parser
// looks for them: options may then stand anywhere. What follows "--" are words.
//
// It refuses a command that does not exist, naming the nearest.
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
			name, _, hasValue := strings.Cut(strings.TrimLeft(arg, "-"), "=")
			to := &local
			var flag cli.Flag
			if command != nil {
				flag = flagNamed(command.Flags, name)
			}
			if flag == nil && len(words) > 0 && takesProgram[command.Name] {
				words = append(words, arg)
				continue
			}
			if flag == nil {
				if flag = flagNamed(app.Flags, name); flag != nil || command == nil {
					to = &global
				}
			}
			*to = append(*to, arg)
			if _, isSwitch := flag.(*cli.BoolFlag); flag != nil && !isSwitch && !hasValue && len(rest) > 0 {
				*to = append(*to, rest[0])
				rest = rest[1:]
			}
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
