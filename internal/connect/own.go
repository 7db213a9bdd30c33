package connect

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"oarlock/internal/config"
	"oarlock/internal/control"
)

// Own is the Redis that lives and ends with a supervisor: that of `oarlock dev`, or of `oarlock
// run` where redis.url is "embedded". It has no password.
type Own struct {
	URL    string `json:"url"`
	Config string `json:"config"` // the absolute path of the configuration
}

// askWithin is how long a supervisor may take to say whether it has a Redis of its own. On a busy machine a living one needs a second and more; one that
// is stopped costs whoever names no Redis all of it.
const askWithin = 4 * time.Second

// FindOwn is cfg with the address of the Redis that a supervisor of the same configuration has of
// its own, if cfg names none; pid is that supervisor's, or "". It is asked over its control socket, so what
// it says is true as long as it lives, and only processes of this user and of root are believed.
func FindOwn(ctx context.Context, cfg config.Config) (found config.Config, pid string, err error) {
	if cfg.RedisNamed && cfg.Redis.URL != "embedded" {
		return cfg, "", nil
	}
	file, err := os.Stat(cfg.Path)
	if err != nil {
		return cfg, "", nil // without a file there is nothing beside it
	}
	var urls []string
	for _, s := range control.Mine(ctx, cfg.Supervisor.StatePath()) {
		var said struct {
			Own Own `json:"own_redis"`
		}
		asked, cancel := context.WithTimeout(ctx, askWithin)
		err := s.Status(asked, &said)
		cancel()
		if err != nil || said.Own.URL == "" {
			continue
		}
		if its, err := os.Stat(said.Own.Config); err == nil && os.SameFile(its, file) {
			urls, pid = append(urls, said.Own.URL), s.PID
			cfg.Redis.URL = said.Own.URL
		}
	}
	if len(urls) > 1 {
		return cfg, "", fmt.Errorf("%d supervisors with a Redis of their own run with %s; name one: --redis %s", len(urls), cfg.Path, strings.Join(urls, " or --redis "))
	}
	return cfg, pid, nil
}
