package cli

import (
	"errors"
	"io"
	"io/fs"
	"maps"
	"slices"

	"github.com/urfave/cli/v2"

	"oarlock/internal/config"
	"oarlock/internal/ops"
	"oarlock/internal/screen"
	"oarlock/internal/show"
	"oarlock/queue"
)

func settingsCommand() *cli.Command {
	onlyJSON := []cli.Flag{jsonFlag()}
	return group("config", "settings of the protocol, shared by all who use this Redis",
		verb{name: "get", usage: "show one setting, or all", words: "[NAME]", most: 1, flags: onlyJSON, do: settingsGet},
		verb{name: "set", usage: "change a setting, such as heartbeat or QUEUE-max-concurrency", words: "NAME VALUE", least: 2, most: 2,
			flags: []cli.Flag{jsonFlag(), &cli.BoolFlag{Name: "force", Usage: "set it even if it is out of its bounds"}}, do: settingsSet},
		verb{name: "unset", usage: "return a setting to its default", words: "NAME", least: 1, most: 1, flags: onlyJSON,
			do: func(c *cli.Context, q *queue.Client) error {
				if err := q.Unset(c.Context, c.Args().First()); err != nil {
					return err
				}
				return said(c, "%s is as by default", c.Args().First())
			}},
		verb{name: "load", usage: "change all settings that FILE names, as `config get --json` prints them; - is the standard input", words: "FILE", least: 1, most: 1,
			flags: []cli.Flag{
				&cli.BoolFlag{Name: "clear", Usage: "return all others to their defaults"},
				&cli.BoolFlag{Name: "dry-run", Usage: "say what would change"},
				&cli.BoolFlag{Name: "force", Usage: "set them even if they are out of their bounds"},
				jsonFlag(),
			}, do: settingsLoad},
		verb{name: "clear", usage: "return all settings to their defaults",
			flags: []cli.Flag{
				&cli.BoolFlag{Name: "dry-run", Usage: "say what would change"},
				&cli.BoolFlag{Name: "yes", Aliases: []string{"y"}, Usage: "do not ask, on a terminal"},
				jsonFlag(),
			}, do: settingsClear},
	)
}

func settingsSet(c *cli.Context, q *queue.Client) error {
	name, value := c.Args().First(), c.Args().Get(1)
	if err := ops.SetSetting(c.Context, q, name, value, soundOnly(c)); err != nil {
		return err
	}
	return said(c, "%s is %s", name, value)
}

// soundOnly refuses, but for --force.
func soundOnly(c *cli.Context) ops.Sure {
	if c.Bool("force") {
		return ops.Always
	}
	return func(sentence string) error {
		return misused("%s\nNothing was changed; --force sets it all the same.", sentence)
	}
}

func settingsGet(c *cli.Context, q *queue.Client) error {
	if c.NArg() > 0 {
		name := c.Args().First()
		value, err := q.Setting(c.Context, name)
		if err != nil {
			return err
		}
		if value == "" {
			return notSet(c, q, name)
		}
		return answer(c, map[string]string{name: value}, func(w io.Writer) { screen.PrintLine(w, value) })
	}
	all, err := q.Settings(c.Context)
	if err != nil {
		return err
	}
	return answer(c, all, func(w io.Writer) { show.Settings(w, all) })
}

// notSet is the error for the name of a setting that nobody has set, and that has no default: it names the nearest that is there.
func notSet(c *cli.Context, q *queue.Client, name string) error {
	all, err := q.Settings(c.Context)
	if err != nil {
		return err
	}
	hint := ""
	if near := config.Nearest(name, slices.Sorted(maps.Keys(all))); near != "" {
		hint = "; did you mean " + near + "?"
	}
	return notThere("%s is not set, and has no default%s", name, hint)
}

// settingsLoad makes the settings what a file says. All of it is checked before any is set.
func settingsLoad(c *cli.Context, q *queue.Client) error {
	file := c.Args().First()
	var wanted map[string]string
	in, _, err := input(c, file)
	if err == nil {
		defer in.Close()
		wanted, err = ops.ReadSettings(in)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return notThere("there is no file %s; nothing was changed", file)
	}
	if err != nil {
		return misused("%s: %v\nIt is to hold an object such as {\"heartbeat\": 60}. Nothing was changed.", file, err)
	}
	if err := ops.CheckSettings(wanted, soundOnly(c)); err != nil {
		return misused("%s: %v", file, err)
	}
	return settingsBecome(c, q, wanted, c.Bool("clear"))
}

func settingsClear(c *cli.Context, q *queue.Client) error {
	if !c.Bool("dry-run") && !confirmed(c, "Return all settings to their defaults?") {
		return errors.New("nothing was done")
	}
	return settingsBecome(c, q, map[string]string{}, true)
}

// settingsBecome sets what is wanted, and returns the others to their defaults if they are to
// be cleared; and says what has changed.
func settingsBecome(c *cli.Context, q *queue.Client, wanted map[string]string, clear bool) error {
	changes, err := ops.Become(c.Context, q, wanted, clear, c.Bool("dry-run"))
	if err != nil {
		return err
	}
	return answer(c, changes, func(w io.Writer) {
		show.SettingChanges(w, changes)
		if c.Bool("dry-run") {
			screen.PrintLine(w, "Nothing was changed.")
		}
	})
}
