package cli

import (
	"errors"
	"io"
	"maps"
	"slices"

	"github.com/urfave/cli/v2"

	"oarlock/internal/screen"
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
		settingsLoadVerb(),
		settingsClearVerb(),
	)
}

// settingsSet changes a setting. A value that cannot be used as it is breaks other clients,
// which check nothing, so that it takes --force.
func settingsSet(c *cli.Context, q *queue.Client) error {
	name, value := c.Args().First(), c.Args().Get(1)
	if err := soundSetting(c, name, value); err != nil {
		return err
	}
	if err := q.Set(c.Context, name, value); err != nil {
		return err
	}
	return said(c, "%s is %s", name, value)
}

// soundSetting refuses a value that cannot be used as it is.
func soundSetting(c *cli.Context, name, value string) error {
	var odd *queue.SettingError
	if c.Bool("force") || !errors.As(queue.CheckSetting(name, value), &odd) {
		return nil
	}
	return misused("%s\nNothing was changed; --force sets it all the same.", odd.Refusal())
}

func settingsGet(c *cli.Context, q *queue.Client) error {
	if name := c.Args().First(); name != "" {
		value, err := q.Setting(c.Context, name)
		if err != nil {
			return err
		}
		return show(c, map[string]string{name: value}, func(w io.Writer) { screen.PrintLine(w, value) })
	}
	all, err := q.Settings(c.Context)
	if err != nil {
		return err
	}
	return show(c, all, func(w io.Writer) {
		var rows [][]string
		for _, name := range slices.Sorted(maps.Keys(all)) {
			rows = append(rows, []string{name, all[name]})
		}
		screen.Table(w, "No settings.", []string{"SETTING", "VALUE"}, rows)
	})
}
