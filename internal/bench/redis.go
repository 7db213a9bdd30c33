package bench

import (
	"context"
	"fmt"
	"path/filepath"

	"oarlock/internal/embedded"
)

// OwnRedis starts a redis-server below dir to be measured. Without keep it is in memory only, that the disk of this
// machine is not what is measured; with it, what was written outlives a Restart. more is added to its options. The caller closes it.
func OwnRedis(ctx context.Context, dir string, keep bool, more ...string) (*embedded.Private, error) {
	file := "no"
	if keep {
		file = "yes"
	}
	server, err := embedded.Spawn(ctx, filepath.Join(dir, "redis"), append([]string{"--appendonly", file}, more...)...)
	if err != nil {
		return nil, fmt.Errorf("%w\nor name a Redis that is running: oarlock bench --redis URL", err)
	}
	return server, nil
}
