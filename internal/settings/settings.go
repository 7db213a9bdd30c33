// Package settings has many settings of the protocol changed at once: it reads what they are to be, and tells what that
// changes. The settings themselves are the queue's. It must not know who asks, or how that is shown.
package settings

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"oarlock/queue"
)

// maxLength is how long a file of settings may be, in bytes.
const maxLength = 1 << 20

// Change is what became of one setting.
type Change struct {
	Name   string `json:"name"`
	Before string `json:"before"`
	After  string `json:"after"` // "" where it has none any more
}

// Read reads a file of settings: one JSON object of texts and numbers.
func Read(from io.Reader) (map[string]string, error) {
	text, err := io.ReadAll(io.LimitReader(from, maxLength+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxLength {
		return nil, fmt.Errorf("more than %d bytes are no settings", maxLength)
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
	read := map[string]string{}
	for name, value := range values {
		switch value := value.(type) {
		case string:
			read[name] = value
		case json.Number:
			read[name] = value.String()
		default:
			return nil, fmt.Errorf("%s is neither a text nor a number", name)
		}
		if strings.TrimSpace(name) == "" {
			return nil, fmt.Errorf("a setting has no name")
		}
	}
	return read, nil
}

// Wanted is what settings are to be.
type Wanted struct {
	Values map[string]string
	Clear  bool // all others return to their defaults
	DryRun bool // nothing is changed, only told
}

// Become makes the settings what is wanted, in the order of their names, and tells which of them differ. Made again
// after an error, it does what is left.
func Become(ctx context.Context, client *queue.Client, w Wanted) ([]Change, error) {
	before, err := client.Settings(ctx)
	if err != nil {
		return nil, err
	}
	todo := map[string]func() error{}
	for name, value := range w.Values {
		if before[name] != value {
			todo[name] = func() error { return client.Set(ctx, name, value) }
		}
	}
	for name := range before {
		if _, named := w.Values[name]; w.Clear && !named {
			todo[name] = func() error { return client.Unset(ctx, name) }
		}
	}
	after, names := w.Values, slices.Sorted(maps.Keys(todo))
	if !w.DryRun {
		for done, name := range names {
			if err := todo[name](); err != nil {
				return nil, fmt.Errorf("after %d of %d settings: %w\n(the same command again sets the others)", done, len(names), err)
			}
		}
		if after, err = client.Settings(ctx); err != nil {
			return nil, err
		}
	}
	changes := []Change{}
	for _, name := range names {
		is, has := after[name]
		if w.DryRun && !has {
			is = "its default"
		}
		if before[name] != is { // else it had its default already
			changes = append(changes, Change{name, before[name], is})
		}
	}
	return changes, nil
}
