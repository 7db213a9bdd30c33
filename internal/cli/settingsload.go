package cli

import (
	"fmt"
	"io"
	"maps"
	"os"
	"slices"

	"github.com/urfave/cli/v2"

	"oarlock/internal/screen"
	"oarlock/internal/settings"
	"oarlock/queue"
)

func settingsLoadVerb() verb {
	return verb{name: "load", usage: "change all settings that FILE names, as `config get --json` prints them; - is the standard input", words: "FILE", least: 1, most: 1,
		flags: []cli.Flag{
			&cli.BoolFlag{Name: "clear", Usage: "return all others to their defaults"},
			&cli.BoolFlag{Name: "dry-run", Usage: "say what would change"},
			&cli.BoolFlag{Name: "force", Usage: "set them even if they are out of their bounds"},
			jsonFlag(),
		}, do: settingsLoad}
}

func settingsClearVerb() verb {
	return verb{name: "clear", usage: "return all settings to their defaults",
		flags: []cli.Flag{
			&cli.BoolFlag{Name: "dry-run", Usage: "say what would change"},
			&cli.BoolFlag{Name: "yes", Aliases: []string{"y"}, Usage: "do not ask, on a terminal"},
			jsonFlag(),
		},
		do: func(c *cli.Context, q *queue.Client) error {
			if !c.Bool("dry-run") && !confirmed(c, "Return all settings to their defaults?") {
				return fmt.Errorf("nothing was done")
			}
			return settingsBecome(c, q, settings.Wanted{Clear: true})
		}}
}

// settingsLoad makes the settings what a file says. All of it is checked before any is set.
func settingsLoad(c *cli.Context, q *queue.Client) error {
	file := c.Args().First()
	wanted, err := readSettings(c, file)
	if err != nil {
		return misused("%s: %v\nIt is to hold an object such as {\"heartbeat\": 60}. Nothing was changed.", file, err)
	}
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		if err := soundSetting(c, name, wanted[name]); err != nil {
			return misused("%s: %v", file, err)
		}
	}
	return settingsBecome(c, q, settings.Wanted{Values: wanted, Clear: c.Bool("clear")})
}

// readSettings reads the file, or the standard input where that is "-".
func readSettings(c *cli.Context, file string) (map[string]string, error) {
	if file == "-" {
		return settings.Read(c.App.Reader)
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return settings.Read(f)
}

// settingsBecome makes the settings what is wanted, unless with --dry-run, and says what has changed.
func settingsBecome(c *cli.Context, q *queue.Client, wanted settings.Wanted) error {
	wanted.DryRun = c.Bool("dry-run")
	changes, err := settings.Become(c.Context, q, wanted)
	if err != nil {
		return err
	}
	return show(c, changes, func(w io.Writer) {
		var rows [][]string
		for _, change := range changes {
			rows = append(rows, []string{change.Name, change.Before, change.After})
		}
		screen.Table(w, "No setting differs.", []string{"SETTING", "BEFORE", "AFTER"}, rows)
		if wanted.DryRun {
			screen.PrintLine(w, "Nothing was changed.")
		}
	})
}
