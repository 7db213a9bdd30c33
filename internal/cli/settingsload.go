package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"oarlock/internal/screen"
	"oarlock/queue"
)

// maxSettings is how long a file of settings may be.
const maxSettings = 1 << 20

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
			return settingsBecome(c, q, map[string]string{}, true)
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
	return settingsBecome(c, q, wanted, c.Bool("clear"))
}

// readSettings reads an object of texts and numbers.
func readSettings(c *cli.Context, file string) (map[string]string, error) {
	from := c.App.Reader
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		from = f
	}
	text, err := io.ReadAll(io.LimitReader(from, maxSettings+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxSettings {
		return nil, fmt.Errorf("more than %d bytes are no settings", maxSettings)
	}
	var values map[string]any
	in := json.NewDecoder(bytes.NewReader(text))
	in.UseNumber()
	if err := in.Decode(&values); err != nil {
		return nil, fmt.Errorf("not JSON: %w", err)
	}
	if values == nil || in.More() {
		return nil, fmt.Errorf("not one object")
	}
	settings := map[string]string{}
	for name, value := range values {
		switch value := value.(type) {
		case string:
			settings[name] = value
		case json.Number:
			settings[name] = value.String()
		default:
			return nil, fmt.Errorf("%s is neither a text nor a number", name)
		}
		if strings.TrimSpace(name) == "" {
			return nil, fmt.Errorf("a setting has no name")
		}
	}
	return settings, nil
}

// settingsBecome sets what is wanted, and returns the others to their defaults if they are to
// be cleared; and says what has changed.
func settingsBecome(c *cli.Context, q *queue.Client, wanted map[string]string, clear bool) error {
	before, err := q.Settings(c.Context)
	if err != nil {
		return err
	}
	change := map[string]func() error{}
	for name, value := range wanted {
		if before[name] != value {
			change[name] = func() error { return q.Set(c.Context, name, value) }
		}
	}
	for name := range before {
		if _, named := wanted[name]; clear && !named {
			change[name] = func() error { return q.Unset(c.Context, name) }
		}
	}
	after := maps.Clone(wanted)
	if !c.Bool("dry-run") {
		for done, name := range slices.Sorted(maps.Keys(change)) {
			if err := change[name](); err != nil {
				return fmt.Errorf("after %d of %d settings: %w\n(the same command again sets the others)", done, len(change), err)
			}
		}
		if after, err = q.Settings(c.Context); err != nil {
			return err
		}
	}
	return showSettingsChange(c, before, after, change, clear)
}

// settingChange is one line of what has changed.
type settingChange struct {
	Name   string `json:"name"`
	Before string `json:"before"`
	After  string `json:"after"` // "" where it has none any more
}

func showSettingsChange(c *cli.Context, before, after map[string]string, change map[string]func() error, clear bool) error {
	changes := []settingChange{}
	var rows [][]string
	for _, name := range slices.Sorted(maps.Keys(change)) {
		was, is := before[name], after[name]
		if c.Bool("dry-run") && clear {
			if _, named := after[name]; !named {
				is = "its default"
			}
		}
		if was == is {
			continue // it had its default already
		}
		changes = append(changes, settingChange{name, was, is})
		rows = append(rows, []string{name, was, is})
	}
	return show(c, changes, func(w io.Writer) {
		screen.Table(w, "No setting differs.", []string{"SETTING", "BEFORE", "AFTER"}, rows)
		if c.Bool("dry-run") {
			screen.PrintLine(w, "Nothing was changed.")
		}
	})
}
