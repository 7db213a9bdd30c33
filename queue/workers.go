package queue

import "context"

// ForgetWorkers takes workers off the list. What they hold stays locked.
func (c *Client) ForgetWorkers(ctx context.Context, workers ...string) error {
	if len(workers) == 0 {
		return nil
	}
	_, err := c.call(ctx, Qless, "worker.deregister", anys(workers)...)
	return err
}
