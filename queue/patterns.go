package queue

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"oarlock/queue/internal/wire"
)

// Queue patterns are tables that clients of reqless keep in Redis, to choose queues by. Nothing
// here uses them.

// IdentifierPatterns reads, by name, lists of queue names and globs.
func (c *Client) IdentifierPatterns(ctx context.Context) (map[string][]string, error) {
	var texts map[string]string
	if err := c.decode(ctx, &texts, Reqless, "queueIdentifierPatterns.getAll"); err != nil {
		return nil, err
	}
	patterns := make(map[string][]string, len(texts))
	for name, text := range texts {
		var names wire.List[string]
		if err := json.Unmarshal([]byte(text), &names); err != nil {
			return nil, err
		}
		patterns[name] = names
	}
	return patterns, nil
}

// SetIdentifierPatterns replaces all of them. Empty lists are left out; without a default,
// default is everything.
func (c *Client) SetIdentifierPatterns(ctx context.Context, patterns map[string][]string) error {
	var args []any
	for _, name := range slices.Sorted(maps.Keys(patterns)) {
		args = append(args, name, wire.JSONList(patterns[name]))
	}
	_, err := c.call(ctx, Reqless, "queueIdentifierPatterns.setAll", args...)
	return err
}

// PriorityPattern is a group of queues served together.
type PriorityPattern struct {
	Fairly  bool     `json:"fairly"` // in random order rather than by name
	Pattern []string `json:"pattern"`
}

// PriorityPatterns reads the groups, the first served first.
func (c *Client) PriorityPatterns(ctx context.Context) ([]PriorityPattern, error) {
	var texts wire.List[string]
	if err := c.decode(ctx, &texts, Reqless, "queuePriorityPatterns.getAll"); err != nil {
		return nil, err
	}
	patterns := make([]PriorityPattern, len(texts))
	for i, text := range texts {
		if err := json.Unmarshal([]byte(text), &patterns[i]); err != nil {
			return nil, err
		}
	}
	return patterns, nil
}

// SetPriorityPatterns replaces all of them. A group for what no other matches, of the pattern
// "default", is added at the end if there is none.
func (c *Client) SetPriorityPatterns(ctx context.Context, patterns []PriorityPattern) error {
	var args []any
	for _, p := range patterns {
		text, err := json.Marshal(p)
		if err != nil {
			return err
		}
		args = append(args, text)
	}
	_, err := c.call(ctx, Reqless, "queuePriorityPatterns.setAll", args...)
	return err
}
