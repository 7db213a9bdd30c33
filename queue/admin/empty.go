package admin

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"oarlock/queue"
)

// empty is a script that does nothing.
var empty = redis.NewScript("return 0")

// EmptyCall tells how long a call of a script that does nothing takes, there and back: what any call takes at least.
func EmptyCall(ctx context.Context, client *queue.Client) (time.Duration, error) {
	began := time.Now()
	err := empty.Run(ctx, client.Redis(), nil).Err()
	return time.Since(began), err
}
