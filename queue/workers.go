package queue

import "context"

// WorkerCounts is how many jobs a worker holds.
type WorkerCounts struct {
	Name    string
	Jobs    int // with a lock that is good
	Stalled int // with a lock that ran out
}

// Workers lists the workers that were seen lately, the last seen first. Those that were
// not for a day (setting max-worker-age) are forgotten by this call.
func (c *Client) Workers(ctx context.Context) ([]WorkerCounts, error) {
	var all list[WorkerCounts]
	return all, c.decode(ctx, &all, Qless, "workers")
}

// Worker lists the jids that a worker holds, and those whose lock ran out.
func (c *Client) Worker(ctx context.Context, name string) (jobs, stalled []string, err error) {
	var reply struct{ Jobs, Stalled list[string] }
	err = c.decode(ctx, &reply, Qless, "workers", name)
	return reply.Jobs, reply.Stalled, err
}

// ForgetWorkers takes workers off the list. What they hold stays locked.
func (c *Client) ForgetWorkers(ctx context.Context, workers ...string) error {
	if len(workers) == 0 {
		return nil
	}
	_, err := c.call(ctx, Qless, "worker.deregister", anys(workers)...)
	return err
}
