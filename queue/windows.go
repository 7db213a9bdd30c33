package queue

import (
	"context"
	"time"

	"oarlock/internal/window"
)

// learn says when windows open and shut that a script wants to know of, by their specs. What cannot be told now is
// wanted again, when their jobs are looked at in some seconds.
func (c *Client) learn(ctx context.Context, specs []any) {
	if args := openings(specs, c.clock.Now()); len(args) > 0 {
		_, _ = c.call(ctx, Batch, "learn", args...)
	}
}

// openings are the arguments of learn for windows by their specs, at a time of Redis. What nobody can read is left out.
func openings(specs []any, now float64) (args []any) {
	for _, spec := range specs {
		text, _ := spec.(string)
		if w, err := window.ParseText(text); err == nil {
			args = append(args, text, w.Table(time.Unix(int64(now), 0)))
		}
	}
	return args
}
