package connection

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
)

// driverLog takes what go-redis would print to stderr. The driver has one logger per
// process, so the client that was opened last hears it.
type driverLog struct{ to atomic.Pointer[slog.Logger] }

func (d *driverLog) Printf(_ context.Context, format string, args ...any) {
	d.to.Load().Debug("redis driver", "text", fmt.Sprintf(format, args...))
}

var (
	driver     driverLog
	driverOnce sync.Once
)

// SilenceDriver sends the driver's own messages to log, at debug level: every one of
// them repeats an error that a caller gets, hundreds of times during an outage.
func SilenceDriver(log *slog.Logger) {
	driver.to.Store(log)
	driverOnce.Do(func() { redis.SetLogger(&driver) })
}
