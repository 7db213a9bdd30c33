package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"oarlock/internal/config"
	"oarlock/internal/connect"
	"oarlock/internal/ops"
	"oarlock/internal/screen"
	"oarlock/queue"
)

// open opens Redis for a command that asks it something and ends. The caller closes
// the client.
func open(c *cli.Context) (*queue.Client, error) {
	client, _, err := openNear(c)
	return client, err
}

// openNear is open for a command that asks the configuration for more.
func openNear(c *cli.Context) (*queue.Client, config.Config, error) {
	cfg, err := loadNear(c)
	if err != nil {
		return nil, cfg, err
	}
	client, err := connect.Reach(c.Context, cfg.Redis)
	return client, cfg, err
}

// loadNear reads the configuration for a command that needs no pools. Its Redis may be that of a supervisor that has one
// of its own, of which people are told.
func loadNear(c *cli.Context) (config.Config, error) {
	cfg, err := load(c, config.Options{NoPools: true})
	if err != nil {
		return cfg, err
	}
	cfg, own, err := connect.FindOwn(c.Context, cfg)
	if err != nil {
		return cfg, misused("%v", err)
	}
	if cfg.Redis.URL == "embedded" {
		return cfg, misused("redis.url is \"embedded\": that Redis lives inside of `oarlock run` or `oarlock dev` only, and none runs with this configuration.\n" +
			"Start one, or name the address it printed: --redis URL, or REDIS_URL.")
	}
	if own != "" && screen.IsTerminal(c.App.ErrWriter) {
		screen.Printf(c.App.ErrWriter, "%s\n", screen.Paint(c.App.ErrWriter, screen.Dim, fmt.Sprintf("With the Redis of the supervisor %s, %s.", own, cfg.Redis.URL)))
	}
	return cfg, nil
}

// verb is a command that asks Redis something and ends.
type verb struct {
	name, usage string
	also        []string // what else it may be called
	words       string   // what follows, for the help
	least, most int      // how many words; most below zero is any number
	flags       []cli.Flag
	do          func(c *cli.Context, q *queue.Client) error
	alone       func(c *cli.Context) (done bool, err error) // what can be done without Redis; nil: nothing
}

// command makes v a command of the command line.
func (v verb) command() *cli.Command {
	return &cli.Command{
		Name:      v.name,
		Aliases:   v.also,
		Usage:     v.usage,
		ArgsUsage: v.words,
		Flags:     v.flags,
		Action: func(c *cli.Context) error {
			if err := wantArgs(c, v.least, v.most, v.words); err != nil {
				return err
			}
			if v.alone != nil {
				if done, err := v.alone(c); done || err != nil {
					return asked(err)
				}
			}
			client, err := open(c)
			if err != nil {
				return cmp.Or(v.misuse(c), err)
			}
			defer client.Close()
			return asked(ops.Worded(c.Args().First(), v.do(c, client)))
		},
	}
}

// misuse is what v finds wrong with the arguments of c before it asks Redis anything, which cannot be had; nil if it finds nothing. It lets v do what it
// does with a client that is closed: meanwhile nobody is told or asked anything.
func (v verb) misuse(c *cli.Context) error {
	cfg, err := reload(c, config.Options{NoPools: true})
	if err != nil {
		return nil
	}
	client, err := connect.Open(c.Context, cfg.Redis, nil)
	if err != nil {
		return nil
	}
	client.Close()
	in, out, errs := c.App.Reader, c.App.Writer, c.App.ErrWriter
	defer func() { c.App.Reader, c.App.Writer, c.App.ErrWriter = in, out, errs }()
	c.App.Reader, c.App.Writer, c.App.ErrWriter = struct{ io.Reader }{in}, io.Discard, io.Discard // no terminal
	if err = asked(v.do(c, client)); errors.As(err, new(usage)) {
		return err
	}
	return nil
}

// group is a command that only has others below it.
func group(name, usage string, verbs ...verb) *cli.Command {
	command := &cli.Command{Name: name, Usage: usage, Category: "jobs in Redis"}
	var names []string
	for _, v := range verbs {
		command.Subcommands = append(command.Subcommands, v.command())
		names = append(names, v.name)
	}
	command.Action = func(*cli.Context) error {
		return misused("name one of %s; `oarlock %s --help` tells more", strings.Join(names, ", "), name)
	}
	return command
}

// said prints a short answer, which --json makes an object.
func said(c *cli.Context, format string, args ...any) error {
	text := fmt.Sprintf(format, args...)
	return answer(c, map[string]string{"done": text}, func(w io.Writer) { screen.PrintLine(w, text) })
}
