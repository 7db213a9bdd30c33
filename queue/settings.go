package queue

import (
	"context"

	"oarlock/queue/internal/script"
	"oarlock/queue/internal/wire"
)

// Settings reads all settings of the protocol: those that were set, and the defaults of
// the others.
func (c *Client) Settings(ctx context.Context) (map[string]string, error) {
	var all map[string]wire.Label
	if err := c.decode(ctx, &all, Qless, "config.get"); err != nil {
		return nil, err
	}
	settings := make(map[string]string, len(all))
	for name, value := range all {
		settings[name] = string(value)
	}
	return settings, nil
}

// Setting reads one setting, or its default; "" if it has neither.
func (c *Client) Setting(ctx context.Context, name string) (string, error) {
	return c.text(ctx, Qless, "config.get", name)
}

// Set changes a setting, for all who share this Redis. It checks nothing: a value that
// does not fit counts as the default.
func (c *Client) Set(ctx context.Context, name, value string) error {
	_, err := c.call(ctx, Qless, "config.set", name, value)
	return err
}

// Unset returns a setting to its default.
func (c *Client) Unset(ctx context.Context, name string) error {
	_, err := c.call(ctx, Qless, "config.unset", name)
	return err
}

// Install loads the unified script, so that other clients find it under the SHA
// returned. The shared dialect is that of the names both have; see Unified.
func (c *Client) Install(ctx context.Context, shared Dialect) (sha string, err error) {
	s := script.New(Unified(c.ns, shared))
	if err := c.load(ctx, c.redis, s); err != nil {
		return "", classify("script load", err)
	}
	return s.SHA, nil
}
