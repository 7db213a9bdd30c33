package bench

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"syscall"
	"time"

	"oarlock/queue"
	"oarlock/queue/admin"
)

// redisUse is what a Redis has done since it started.
type redisUse struct {
	scripts time.Duration // spent in scripts
	calls   int           // that clients made
	cpu     time.Duration // of the whole process
}

// minus is what was done since then.
func (u redisUse) minus(then redisUse) redisUse {
	return redisUse{u.scripts - then.scripts, u.calls - then.calls, u.cpu - then.cpu}
}

// clientCalls are the commands that a client of ours sends: those that scripts send are
// counted by Redis alike, and are part of a call.
var clientCalls = []string{"evalsha", "eval", "ping", "time"}

// askRedis reads the counters of the server behind client.
func askRedis(ctx context.Context, client *queue.Client) (redisUse, error) {
	var use redisUse
	facts, err := admin.Facts(ctx, client, "commandstats", "cpu")
	if err != nil {
		return use, err
	}
	for _, command := range clientCalls {
		fields := statFields(facts["cmdstat_"+command])
		calls, _ := strconv.Atoi(fields["calls"]) // missing: never called
		spent, _ := strconv.Atoi(fields["usec"])
		use.calls += calls
		if command == "evalsha" || command == "eval" {
			use.scripts += time.Duration(spent) * time.Microsecond
		}
	}
	for _, name := range []string{"used_cpu_sys", "used_cpu_user"} {
		seconds, err := strconv.ParseFloat(facts[name], 64)
		if err != nil {
			return use, fmt.Errorf("INFO cpu: %w", err)
		}
		use.cpu += time.Duration(seconds * float64(time.Second))
	}
	return use, nil
}

// statFields splits a value of the form a=1,b=2.
func statFields(value string) map[string]string {
	fields := map[string]string{}
	for field := range strings.SplitSeq(value, ",") {
		if key, value, ok := strings.Cut(field, "="); ok {
			fields[key] = value
		}
	}
	return fields
}

// processorTime is what this process has used, or those that it has waited for have.
func processorTime(who int) time.Duration {
	var use syscall.Rusage
	_ = syscall.Getrusage(who, &use) // fails for a wrong who only
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}
