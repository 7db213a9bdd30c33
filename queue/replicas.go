package queue

import (
	"context"
	"fmt"
	"time"
)

// replicaWait bounds the wait for replicas after a settlement or a put.
const replicaWait = time.Second

// ReplicaError says that what was put has not reached as many replicas as it was to
// within a second. It was put all the same, and is lost only if Redis dies before the
// copy is made; putting it again would put it twice, unless with its jid and Never.
type ReplicaError struct {
	Want, Got int
	Err       error // why nobody knows how many; nil if Got is known
}

// Error tells that the put was made, and what is missing.
func (e *ReplicaError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("put, but whether %d replicas have it is not known: %v", e.Want, e.Err)
	}
	return fmt.Sprintf("put, but only %d of %d replicas had it within %v: it would be lost if Redis died now", e.Got, e.Want, replicaWait)
}

// Unwrap returns Err.
func (e *ReplicaError) Unwrap() error { return e.Err }

// awaitReplicas waits until enough replicas have what this session's connection wrote,
// and returns how many do. connections is how many it had made when it wrote: of what
// another one wrote Redis would tell nothing.
func (s *Session) awaitReplicas(ctx context.Context, want, connections int) (got int, err error) {
	got, err = s.link.Redis().Do(ctx, "WAIT", want, replicaWait.Milliseconds()).Int()
	if err == nil && s.link.Connections() != connections {
		got, err = 0, fmt.Errorf("wait: the connection was lost: %w", ErrDoubt)
	}
	return got, err
}

// settledOnReplicas waits for the replicas that the options ask for. Fewer are logged: the
// settlement is made.
func (s *Session) settledOnReplicas(ctx context.Context) {
	want := s.client.opts.WaitReplicas
	if got, err := s.awaitReplicas(ctx, want, s.link.Connections()); err != nil || got < want {
		told := []any{"worker", s.worker, "want", want, "got", got}
		if err != nil {
			told = append(told, "err", err)
		}
		s.client.log.Warn("settlement has not reached all replicas", told...)
	}
}

// replicasOf is for how many replicas these puts are to wait.
func (c *Client) replicasOf(puts []Put) int {
	want := c.opts.WaitReplicas
	for i := range puts {
		want = max(want, puts[i].WaitReplicas)
	}
	return want
}
