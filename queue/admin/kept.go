package admin

import (
	"context"

	"github.com/redis/go-redis/v9"

	"oarlock/queue"
)

// completedSample is how many of the completed jobs are looked at, the newest.
const completedSample = 200

// Completed tells how many completed jobs are kept, and about how many bytes their data takes, by
// that of those that completed last. A key of a wrong type counts as none: Keys tells of it.
func Completed(ctx context.Context, client *queue.Client) (jobs, bytes int64, err error) {
	node, err := serverOf(ctx, client)
	if err != nil {
		return 0, 0, err
	}
	ns := client.Namespace()
	jids, err := node.ZRevRange(ctx, ns+"completed", 0, completedSample-1).Result()
	if err != nil || len(jids) == 0 {
		return 0, 0, readable(err)
	}
	if jobs, err = node.ZCard(ctx, ns+"completed").Result(); err != nil {
		return 0, 0, readable(err)
	}
	sizes, err := node.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for _, jid := range jids {
			pipe.Do(ctx, "HSTRLEN", ns+"j:"+jid, "data")
		}
		return nil
	})
	if err != nil {
		return 0, 0, readable(err)
	}
	for _, size := range sizes {
		n, _ := size.(*redis.Cmd).Int64()
		bytes += n
	}
	return jobs, bytes / int64(len(jids)) * jobs, nil
}

// OldStats counts the statistics that are older than the setting stats-history says, and with mend
// deletes them.
func OldStats(ctx context.Context, client *queue.Client, mend bool) (old int, err error) {
	s, err := newScan(ctx, client)
	if err != nil {
		return 0, err
	}
	err = s.each("s:*", "hash", func(names []string) error {
		n, err := client.ExpireStats(ctx, names, !mend)
		old += n
		return readable(err)
	})
	return old, err
}

// Erase removes every key of the namespace.
func Erase(ctx context.Context, client *queue.Client) error {
	s, err := newScan(ctx, client)
	if err != nil {
		return err
	}
	return s.each("*", "", func(names []string) error {
		for i, name := range names {
			names[i] = s.ns + name
		}
		return s.node.Unlink(ctx, names...).Err()
	})
}
