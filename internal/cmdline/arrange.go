// Package cmdline says what the words of a command line mean to the commands and options of a urfave/cli app: it lets
// options stand anywhere (Arrange), and tells a shell what may follow (Asked). It owns the scripts for the shells. It must
// not know what any command does: names that exist are looked up by its caller.
package cmdline

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

// MisuseError says that a command line names a command or an option that does not exist.
type MisuseError struct{ text string }

func (e *MisuseError) Error() string { return e.text }

func misused(format string, args ...any) error { return &MisuseError{fmt.Sprintf(format, args...)} }

// commandLine is a command line taken apart.
type commandLine struct {
	global, local []string // options with their values, of all commands and of this one
	path          []string // the command and those above it, as they were written
	words         []string

	command *cli.Command // nil if none is named
	below   []*cli.Command
	awaits  cli.Flag // the last option, where its value is missing
	ended   bool     // by "--": all that follows are words
}

// Arrange puts the options of a command line in front of its words, where the parser
// looks for them: options may then stand anywhere. What follows "--" are words.
//
// The error is a *MisuseError, with the nearest command or option that exists.
func Arrange(app *cli.App, args []string) ([]string, error) {
	if len(args) == 0 {
		return args, nil
	}
	l, err := takeApart(app, args[1:])
	if err != nil {
		return nil, err
	}
	if slices.Contains(l.global, "--version") {
		return []string{args[0], "version"}, nil
	}
	if l.command != nil && asksForHelp(l.command.Name) && len(l.path) == 1 && len(l.words) > 0 {
		return Arrange(app, slices.Concat(args[:1], l.words, []string{"--help"}))
	}
	if slices.ContainsFunc(l.local, asksForHelp) {
		return slices.Concat(args[:1], l.path, []string{"--help"}), nil // and for nothing else
	}
	out := slices.Concat(args[:1], l.global, l.path, l.local)
	if len(l.words) > 0 {
		out = append(append(out, "--"), l.words...)
	}
	return out, nil
}

// takeApart tells options, commands and words from each other.
func takeApart(app *cli.App, args []string) (commandLine, error) {
	l := commandLine{below: app.Commands}
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		switch {
		case arg == "--":
			l.words, l.ended = append(l.words, args...), true
			return l, nil
		case isOption(arg):
			var err error
			if args, err = l.option(app, arg, args); err != nil {
				return l, err
			}
		case len(l.below) > 0:
			found := commandNamed(l.below, arg)
			if found == nil {
				return l, noCommand(l.below, l.path, arg)
			}
			l.command, l.below = found, found.Subcommands
			l.path = append(l.path, arg)
		default:
			l.words = append(l.words, arg)
		}
	}
	return l, nil
}

// option takes an option, with its value from rest if it has one, and gives what remains.
func (l *commandLine) option(app *cli.App, arg string, rest []string) ([]string, error) {
	name, value, hasValue := strings.Cut(strings.TrimLeft(arg, "-"), "=")
	to := &l.local
	var flag cli.Flag
	if l.command != nil {
		flag = FlagNamed(l.command.Flags, name)
	}
	if flag == nil && l.command != nil && takesProgram[l.command.Name] > 0 && len(l.words) >= takesProgram[l.command.Name] {
		l.words = append(l.words, arg)
		return rest, nil
	}
	if flag == nil {
		to, flag = &l.global, FlagNamed(app.Flags, name)
	}
	if flag == nil && !(name == "help" || name == "h") {
		return nil, noOption(app, l.command, l.path, name)
	}
	if flag == nil {
		l.local = append(l.local, arg)
		return rest, nil
	}
	// The parser refuses two of the names of one option.
	arg = "--" + flag.Names()[0]
	if !standsAlone(flag) && !hasValue {
		if len(rest) > 0 {
			value, hasValue, rest = rest[0], true, rest[1:]
		} else {
			l.awaits = flag
		}
	}
	if hasValue {
		arg += "=" + value
	}
	*to = append(*to, arg)
	return rest, nil
}

// asksForHelp reports whether an option, or a command, is that which shows what there is.
func asksForHelp(word string) bool {
	name := strings.TrimLeft(word, "-")
	return name == "help" || name == "h"
}

// standsAlone reports whether an option takes no value, or none that is a word of its own.
func standsAlone(flag cli.Flag) bool {
	if generic, is := flag.(*cli.GenericFlag); is {
		_, alone := generic.Value.(interface{ IsBoolFlag() bool })
		return alone
	}
	_, isSwitch := flag.(*cli.BoolFlag)
	return isSwitch
}

// isOption tells an option from a word; a negative number and a lone dash are words.
func isOption(arg string) bool {
	if len(arg) < 2 || arg[0] != '-' {
		return false
	}
	_, err := strconv.ParseFloat(arg, 64)
	return err != nil
}

// FlagNamed is the flag that has a name; nil if none has.
func FlagNamed(flags []cli.Flag, name string) cli.Flag {
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
