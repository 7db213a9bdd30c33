package ops

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"oarlock/queue"
)

// SetSetting changes a setting. A value that cannot be used as it is breaks other clients, which check
// nothing, so that it is in doubt.
func SetSetting(ctx context.Context, q *queue.Client, name, value string, sure Sure) error {
	if err := NewName("setting", name, sure); err != nil {
		return err
	}
	if err := CheckSettings(map[string]string{name: value}, sure); err != nil {
		return err
	}
	return q.Set(ctx, name, value)
}

// CheckSettings is in doubt about values that cannot be used as they are.
func CheckSettings(settings map[string]string, sure Sure) error {
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		var odd *queue.SettingError
		if !errors.As(queue.CheckSetting(name, settings[name]), &odd) {
			continue
		}
		if err := sure(odd.Refusal()); err != nil {
			return err
		}
	}
	return nil
}

// maxSettings is how long a text of settings may be.
const maxSettings = 1 << 20

// ReadSettings reads an object of texts and numbers.
func ReadSettings(from io.Reader) (map[string]string, error) {
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

// SettingChange is a setting that has changed, or would.
type SettingChange struct {
	Name   string `json:"name"`
	Before string `json:"before"`
	After  string `json:"after"` // "" where it has none any more
}

// Become sets the settings that are wanted, and with clear returns all others to their defaults; it tells
// what has changed. With dry it only tells.
func Become(ctx context.Context, q *queue.Client, wanted map[string]string, clear, dry bool) ([]SettingChange, error) {
	before, err := q.Settings(ctx)
	if err != nil {
		return nil, err
	}
	names := []string{} // of those to be changed
	for name, value := range wanted {
		if before[name] != value {
			names = append(names, name)
		}
	}
	for name := range before {
		if _, named := wanted[name]; clear && !named {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	after := wanted
	if !dry {
		if after, err = setAll(ctx, q, names, wanted); err != nil {
			return nil, err
		}
	}
	changes := []SettingChange{}
	for _, name := range names {
		is, there := after[name]
		if dry && !there {
			is = "its default"
		}
		if before[name] != is { // else it had its default already
			changes = append(changes, SettingChange{name, before[name], is})
		}
	}
	return changes, nil
}

// setAll sets those of names that are wanted, returns the others to their defaults, and reads all settings.
func setAll(ctx context.Context, q *queue.Client, names []string, wanted map[string]string) (map[string]string, error) {
	for done, name := range names {
		var err error
		if value, is := wanted[name]; is {
			err = q.Set(ctx, name, value)
		} else {
			err = q.Unset(ctx, name)
		}
		if err != nil {
			return nil, fmt.Errorf("after %d of %d settings: %w\n(the same command again sets the others)", done, len(names), err)
		}
	}
	return q.Settings(ctx)
}
