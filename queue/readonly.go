package queue

import (
	"context"
	"strings"

	"oarlock/queue/internal/script"
)

// read calls a batch command that changes nothing, so that Redis itself sees to that where it can:
// from 7.0 on, EVALSHA_RO refuses a script its first write, and runs on a replica and while writes are
// held up. Where there is no such command, or the user may not send it, it is EVALSHA. To repeat the
// call is harmless.
func (c *Client) read(ctx context.Context, command string, args ...any) (any, error) {
	raw, _, err := c.readAt(ctx, command, args...)
	return raw, err
}

// readAt is read, and tells the server's time that the call was made with.
func (c *Client) readAt(ctx context.Context, command string, args ...any) (raw any, now float64, err error) {
	if err := c.clock.FreshOrSilent(ctx); err != nil {
		return nil, 0, err
	}
	name := script.Name{Dialect: Batch, Command: command}
	now = c.clock.Now()
	if !c.plainReads.Load() {
		raw, err = c.runBy(ctx, "evalsha_ro", c.redis, name, now, args...)
		if !withoutReadOnly(err) {
			return raw, now, harmless(err)
		}
		c.plainReads.Store(true)
	}
	raw, err = c.run(ctx, c.redis, name, now, args...)
	return raw, now, harmless(err)
}

// withoutReadOnly tells whether a server knows no EVALSHA_RO, or does not let us send it.
func withoutReadOnly(err error) bool {
	if err == nil || !strings.Contains(strings.ToLower(err.Error()), "evalsha_ro") {
		return false
	}
	return Class(err) == Denied || Class(err) == Refused && strings.Contains(err.Error(), "unknown command")
}
