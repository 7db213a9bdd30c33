package doctor

import (
	"context"

	"github.com/dustin/go-humanize"
	"github.com/redis/go-redis/v9"
)

const (
	completedSample = 200       // how many of the completed jobs are looked at, the newest
	completedMuch   = 100 << 20 // bytes of their data worth a word
)

// completed looks at how much of Redis the data of completed jobs takes, by those that
// completed last.
func (d *Doctor) completed(ctx context.Context, node server) error {
	const subject = "completed jobs"
	ns := d.Client.Namespace()
	jids, err := node.ZRevRange(ctx, ns+"completed", 0, completedSample-1).Result()
	if err != nil || len(jids) == 0 {
		return d.unseen(subject, err)
	}
	all, err := node.ZCard(ctx, ns+"completed").Result()
	if err != nil {
		return d.unseen(subject, err)
	}
	sizes, err := node.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for _, jid := range jids {
			pipe.Do(ctx, "HSTRLEN", ns+"j:"+jid, "data")
		}
		return nil
	})
	if err != nil {
		return d.unseen(subject, err)
	}
	var bytes int64
	for _, size := range sizes {
		n, _ := size.(*redis.Cmd).Int64()
		bytes += n
	}
	if about := bytes / int64(len(jids)) * all; about > completedMuch {
		d.found(Warning, subject, "Keep fewer: oarlock config set jobs-history SECONDS, or jobs-history-count N. Or let programs acknowledge with small data.",
			"The data of %d completed jobs takes about %s of Redis; it is kept as long as they are.", all, humanize.IBytes(uint64(about)))
	}
	return nil
}

// unseen is hidden for an error that may be nil, or about a key of the wrong type, which
// the look at the keys tells of.
func (d *Doctor) unseen(subject string, err error) error {
	if err == nil || redis.HasErrorPrefix(err, "WRONGTYPE") {
		return nil
	}
	return d.hidden(subject, err)
}
