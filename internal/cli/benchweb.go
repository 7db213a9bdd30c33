package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"oarlock/internal/bench"
	"oarlock/internal/screen"
	"oarlock/internal/webbench"
	"oarlock/queue/admin"
)

// benchWebClear is how long what `bench web` put may take to be removed.
const benchWebClear = 5 * time.Minute

func benchWebCommand() *cli.Command {
	small := webbench.Small
	return &cli.Command{
		Name:  "web",
		Usage: "measure pages, API and metrics",
		Description: "Fills a redis-server of its own (--redis names another) with jobs, and measures how long pages and\n" +
			"answers take, what Redis does for them, what is left of the throughput of a pool while many\n" +
			"watch, in turn with times when nobody does, and how long a scrape takes. --full measures in\n" +
			"the sizes that the targets are about, which takes some minutes; other options change single ones.",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "full", Usage: fmt.Sprintf("%s jobs in %s queues, %d pools, %d watchers", screen.Count(webbench.Full.Jobs), screen.Count(webbench.Full.Queues), webbench.Full.Pools, webbench.Full.Watchers)},
			&cli.IntFlag{Name: "jobs", Value: small.Jobs, Usage: "how many `JOBS` lie in Redis"},
			&cli.IntFlag{Name: "queues", Value: small.Queues, Usage: "in how many `QUEUES`"},
			&cli.IntFlag{Name: "pools", Value: small.Pools, Usage: "how many `POOLS` the supervisor has"},
			&cli.IntFlag{Name: "children", Value: small.Children, Usage: "`PROCESSES` of each pool"},
			&cli.IntFlag{Name: "views", Value: small.Views, Usage: "how many `VIEWS` are looked at"},
			&cli.IntFlag{Name: "abreast", Value: small.Abreast, Usage: "how many `VIEWS` at a time"},
			&cli.IntFlag{Name: "watchers", Value: small.Watchers, Usage: "how many `STREAMS` are read"},
			&cli.IntFlag{Name: "pairs", Value: small.Pairs, Usage: "how many `TIMES` the pool works with them and without"},
			&cli.DurationFlag{Name: "window", Value: small.Window, Usage: "for how long each time"},
			&cli.IntFlag{Name: "scrapes", Value: small.Scrapes, Usage: "how many `SCRAPES`"},
			jsonFlag(),
		},
		Action: benchWeb,
	}
}

// webSizes are the sizes that the options say.
func webSizes(c *cli.Context) webbench.Sizes {
	s := webbench.Small
	if c.Bool("full") {
		s = webbench.Full
	}
	for name, n := range map[string]*int{
		"jobs": &s.Jobs, "queues": &s.Queues, "pools": &s.Pools, "children": &s.Children, "views": &s.Views, "abreast": &s.Abreast,
		"watchers": &s.Watchers, "pairs": &s.Pairs, "scrapes": &s.Scrapes,
	} {
		if c.IsSet(name) {
			*n = c.Int(name)
		}
	}
	if c.IsSet("window") {
		s.Window = c.Duration("window")
	}
	return s
}

func benchWeb(c *cli.Context) error {
	if err := wantArgs(c, 0, 0, "nothing"); err != nil {
		return err
	}
	sizes := webSizes(c)
	if err := sizes.Check(); err != nil {
		return misused("%v", err)
	}
	self, err := bench.Self()
	if err != nil {
		return err
	}
	slow := []string{"--slowlog-log-slower-than", fmt.Sprint(webbench.SlowFrom.Microseconds())}
	return benchRedis(c, slow, func(ctx context.Context, on benched) (err error) {
		command, err := bench.Noop(on.scratch)
		if err != nil {
			return err
		}
		if on.server == nil {
			defer func() {
				clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), benchWebClear)
				defer cancel()
				err = errors.Join(err, admin.Erase(clean, on.client))
			}()
		}
		b := &webbench.Bench{
			Client: on.client, URL: on.redis.URL, Namespace: on.redis.Namespace, Own: on.server != nil, Self: self, Command: command, Scratch: on.scratch,
			Say: func(what string) { screen.PrintLine(c.App.ErrWriter, what) },
		}
		figures, err := b.Measure(ctx, sizes)
		if err != nil {
			return err
		}
		return answer(c, figures, figures.Print)
	})
}
