package show

import (
	"io"
	"maps"
	"slices"

	"oarlock/internal/ops"
	"oarlock/internal/screen"
)

// Settings lists settings of the protocol and their values.
func Settings(w io.Writer, all map[string]string) {
	var rows [][]string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		rows = append(rows, []string{name, all[name]})
	}
	screen.Table(w, "No settings.", []string{"SETTING", "VALUE"}, rows)
}

// SettingChanges lists settings that change.
func SettingChanges(w io.Writer, changes []ops.SettingChange) {
	var rows [][]string
	for _, change := range changes {
		rows = append(rows, []string{change.Name, change.Before, change.After})
	}
	screen.Table(w, "No setting differs.", []string{"SETTING", "BEFORE", "AFTER"}, rows)
}
