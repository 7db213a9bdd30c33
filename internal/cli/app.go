// Package cli is the command line: one command a file, over a small shared toolkit (app, connect, control,
// named). It owns options, exit codes and questions on a terminal; what is shown is left to show, and what
// is done to ops and the other packages.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"

	"github.com/urfave/cli/v2"

	"oarlock/internal/cmdline"
	"oarlock/internal/config"
	"oarlock/internal/names"
	"oarlock/internal/ops"
	"oarlock/internal/say"
	"oarlock/internal/screen"
	"oarlock/internal/service"
	"oarlock/internal/show"
	"oarlock/queue"
)

// Exit codes, after sysexits.h. A service manager should not restart after 64 and 78, which no
// restart cures: RestartPreventExitStatus=64 78.
const (
	exitOK       = 0
	exitFailed   = 1
	exitUsage    = 64
	exitData     = 65
	exitGone     = 66 // what was named is not there, or not as it would have to be
	exitBug      = 70
	exitTempFail = config.ExitPassing // Redis is away, the host is short of something, or a secret is not there yet
	exitConfig   = config.ExitWrong
	exitPipe     = 141 // who read what we print is gone: as if SIGPIPE had ended us
)

// Program is what a command line needs of its surroundings.
type Program struct {
	Version string // "" means: what the build says
	Example string // the commented configuration that init writes
	Helper  string // the Python helper, for what bench has children do
	In      io.Reader
	Out     io.Writer
	Err     io.Writer
}

// Main runs the command line args, whose first is the program's name, and gives the
// exit code. It ends when ctx does.
func (p Program) Main(ctx context.Context, args []string) (code int) {
	defer func() {
		if bug := recover(); bug != nil {
			screen.Printf(p.Err, "oarlock: a mistake of ours, please report it: %s\n%s", screen.Lines(fmt.Sprint(bug)), screen.Lines(debug.Stack()))
			code = exitBug
		}
	}()
	args = config.HideArguments(args)
	service.LeaveCores()
	out := screen.NewOut(p.Out)
	p.Out = out
	app := p.app()
	if asked := cmdline.Asked(args); asked != nil {
		asked.Answer(ctx, app, p.Out, func(ctx context.Context, word string, before []string, given func(string) (string, bool)) []string {
			if words, closed := closedWords[word]; closed {
				return words
			}
			return names.Find(ctx, word, before, func() (config.Config, error) { return loadAs(given, config.Options{NoPools: true}) })
		})
		return exitOK
	}
	args, err := cmdline.Arrange(app, args)
	if err != nil {
		err = misused("%v", err)
	} else {
		err = printed(app.RunContext(ctx, args), out.Err())
	}
	if err == nil {
		return exitOK
	}
	if queue.Class(err) == queue.Memory {
		err = outOfMemory{err}
	}
	show.Error(p.Err, err)
	return exitCode(err)
}

// outOfMemory is the error of a command that Redis had no memory for, in words that say what to do.
type outOfMemory struct{ error }

func (outOfMemory) Error() string {
	return "Redis is out of memory and refused that; raise its maxmemory, or make room by `oarlock queue purge QUEUE`, which it still does"
}

func (o outOfMemory) Unwrap() error { return o.error }

// printed is the error of a command that gave err, where wrote is that of what it printed: what nobody can read was not
// done. A reader that has gone had enough, and hears no more.
func printed(err, wrote error) error {
	switch {
	case wrote == nil || err != nil && !errors.Is(err, wrote):
		return err
	case errors.Is(wrote, syscall.EPIPE):
		return silent{exitPipe}
	}
	return fmt.Errorf("what was to be printed could not be written: %v", wrote) // not as a trouble that passes: exit code 1
}

// app builds the whole command line.
func (p Program) app() *cli.App {
	app := &cli.App{
		Name:           "oarlock",
		Usage:          "turn any program into a reliable worker for jobs in Redis",
		Description:    "Start with `oarlock demo`, then `oarlock dev`. Options may stand before or after arguments.",
		HideVersion:    true,
		Reader:         p.In,
		Writer:         p.Out,
		ErrWriter:      p.Err,
		ExitErrHandler: func(*cli.Context, error) {}, // Main decides
		OnUsageError:   usageError,

		DisableSliceFlagSeparator: true, // a comma is a part of a tag, a jid, or the span "Sat,Sun 00:00-24:00"

		Flags: []cli.Flag{
			&cli.StringFlag{Name: "config", Aliases: []string{"c"}, Usage: "configuration `FILE`; else $OARLOCK_CONFIG, ./oarlock.toml, …"},
			&cli.BoolFlag{Name: "trust-config", Usage: "use the configuration whoever may have written it"},
			&cli.StringFlag{Name: "redis", Usage: "`URL` of Redis; else $REDIS_URL, the configuration's, that of `oarlock dev` or an embedded `oarlock run` with this configuration, redis://127.0.0.1:6379/0"},
			&cli.StringFlag{Name: "namespace", Usage: "`PREFIX` of all keys"},
			&cli.StringFlag{Name: "state-dir", Usage: "`DIRECTORY` of what outlives a supervisor, and of its socket"},
			&cli.StringFlag{Name: "log-level", Usage: "`LEVEL` debug, info, warn or error"},
			&cli.BoolFlag{Name: "version", Usage: "print the version"},
		},
		Commands: p.commands(), // their completion is ours
	}
	app.Before = soundOptions
	for _, command := range app.Commands {
		if command.Name != "say" { // a job's words about itself, of which any may be empty
			command.Before = soundOptions
		}
		prepare(command)
	}
	return app
}

// soundOptions refuses an option that was given without a value. It is that of a variable that is not set, and to go on as if the
// option were not there is to do more than was meant: to drop all failed jobs and not those of a class. It refuses, too, to show less than nothing of a list.
func soundOptions(c *cli.Context) error {
	for _, name := range c.LocalFlagNames() {
		empty := false
		switch cmdline.FlagNamed(slices.Concat(c.App.Flags, c.Command.Flags), name).(type) {
		case *cli.StringFlag:
			empty = c.String(name) == ""
		case *cli.StringSliceFlag:
			empty = slices.Contains(c.StringSlice(name), "")
		case *cli.IntFlag:
			if name == "limit" && c.IsSet(name) && c.Int(name) == 0 && showsSome[c.Command.Name] {
				return misused("--limit must be 1 or more")
			}
			if (name == "limit" || name == "offset") && c.Int(name) < 0 {
				return misused("--%s is negative", name)
			}
		}
		if empty && len(name) > 1 && name != "cursor" { // it is known by its short name, too; a search begins with a cursor that is empty
			return misused("--%s is empty; give it a value, or leave it out", name)
		}
	}
	return nil
}

// showsSome are the commands to which a limit of 0 leaves nothing to show, so that they could only say something untrue.
var showsSome = map[string]bool{"peek": true, "show": true, "search": true}

// prepare makes a command and those below it report misuse as we do. What has no commands below
// it takes words, and must take "help" and "h" for words, too: of a queue, a jid, somebody's text.
func prepare(command *cli.Command) {
	command.OnUsageError = usageError
	if len(command.Subcommands) == 0 {
		command.HideHelpCommand = true
		command.CustomHelpTemplate = cli.CommandHelpTemplate // else it were that of a group
	}
	for _, sub := range command.Subcommands {
		sub.Before = command.Before
		prepare(sub)
	}
}

// overrides are the options of every command that stand for a key of the configuration.
var overrides = map[string]string{
	"redis":     "redis.url",
	"namespace": "redis.namespace",
	"state-dir": "supervisor.state_dir",
	"log-level": "log.level",
}

// load reads the configuration that the options of c ask for, o.Set is stronger still, and
// tells people which file that was where it was merely found, and what is to be doubted.
func load(c *cli.Context, o config.Options) (config.Config, error) {
	cfg, err := reload(c, o)
	for _, doubt := range cfg.Doubts {
		screen.Printf(c.App.ErrWriter, "%s%s\n", screen.Paint(c.App.ErrWriter, screen.Yellow, "oarlock: "), doubt)
	}
	if cfg.Found && screen.IsTerminal(c.App.ErrWriter) { // whoever reads both outputs of a script is spared it
		screen.Printf(c.App.ErrWriter, "%s\n", screen.Paint(c.App.ErrWriter, screen.Dim, "With the configuration "+cfg.Path+"."))
	}
	return cfg, err
}

// reload is load without a word, for those who have a log.
func reload(c *cli.Context, o config.Options) (config.Config, error) {
	return loadAs(func(option string) (string, bool) { return c.String(option), c.IsSet(option) }, o)
}

// loadAs is load where options are looked up by given.
func loadAs(given func(option string) (string, bool), o config.Options) (config.Config, error) {
	o.Path, _ = given("config")
	_, o.Trust = given("trust-config")
	set := map[string]string{}
	for option, key := range overrides {
		if value, is := given(option); is {
			set[key] = value
		}
	}
	maps.Copy(set, o.Set)
	o.Set = set
	return config.Load(o)
}

// usage is an error about how the command line was written.
type usage struct{ text string }

func (u usage) Error() string { return u.text }

func misused(format string, args ...any) error { return usage{fmt.Sprintf(format, args...)} }

// badValue is what the command line's parser says of a value that it cannot read.
var badValue = regexp.MustCompile(`(?s)^invalid (?:boolean )?value "(.*)" for (?:flag )?-([^:"]+): `)

// usageError words the complaints of the command line's parser.
func usageError(c *cli.Context, err error, _ bool) error {
	if said := badValue.FindStringSubmatch(err.Error()); said != nil && c.Command != nil {
		value, name := said[1], said[2]
		switch cmdline.FlagNamed(c.Command.Flags, name).(type) {
		case *cli.DurationFlag:
			if _, err := config.ParseDuration(value); err != nil {
				return misused("--%s: %v", name, err)
			}
		case *cli.IntFlag, *cli.Float64Flag:
			return misused("--%s: %q is no number that it could be", name, value)
		case *cli.GenericFlag:
			return misused("--%s: %s", name, strings.TrimPrefix(err.Error(), said[0]))
		}
	}
	return misused("%v\nSee `oarlock%s --help`.", err, commandPath(c))
}

// commandPath is the command of c with those above it, each after a blank.
func commandPath(c *cli.Context) string {
	if c.Command == nil || c.Command.HelpName == "" || c.Command.Name == c.App.Name {
		return ""
	}
	return strings.TrimPrefix(c.Command.HelpName, c.App.Name)
}

// usageOf is how the command of c is written.
func usageOf(c *cli.Context) string {
	return strings.TrimRight("oarlock"+commandPath(c)+" "+c.Command.ArgsUsage, " ")
}

// silent is an error whose words were printed already; the exit code remains.
type silent struct{ code int }

func (silent) Error() string { return "" }

// exitCode is what err means to whoever started us.
func exitCode(err error) int {
	var quiet silent
	var wrong usage
	var missing *ops.Missing
	var unsaid *say.UnsaidError
	var few *queue.ReplicaError
	var refused refusedReload
	switch {
	case errors.As(err, &refused):
		return refused.Code
	case errors.As(err, &unsaid):
		return exitData
	case errors.As(err, &quiet):
		return quiet.code
	case errors.As(err, &wrong):
		return exitUsage
	case errors.As(err, &missing), errors.Is(err, queue.ErrNoJob):
		return exitGone
	case config.ExitCode(err) != 0:
		return config.ExitCode(err)
	case errors.Is(err, queue.ErrAway), errors.Is(err, queue.ErrDoubt), errors.As(err, &few), errors.Is(err, service.ErrUnread):
		return exitTempFail
	}
	return exitFailed
}

// wantArgs refuses a command line with fewer or more words than the command takes; most
// below zero means any number.
func wantArgs(c *cli.Context, least, most int, what string) error {
	n := c.NArg()
	switch {
	case n < least:
		return misused("name %s: %s", what, usageOf(c))
	case most >= 0 && n > most:
		return misused("%q is one argument too many: %s", c.Args().Get(most), usageOf(c))
	}
	return nil
}

// jsonFlag is what every listing has.
func jsonFlag() cli.Flag {
	return &cli.BoolFlag{Name: "json", Usage: "print JSON"}
}

// answer prints value as JSON if --json asks for it, and otherwise calls text.
func answer(c *cli.Context, value any, text func(w io.Writer)) error {
	if c.Bool("json") {
		return screen.PrintJSON(c.App.Writer, value)
	}
	text(c.App.Writer)
	return nil
}
