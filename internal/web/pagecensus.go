package web

import (
	"context"

	"oarlock/queue"
)

// counted is what is in all queues as of a few seconds ago, and the server's time of that.
func (a *App) counted(ctx context.Context) ([]queue.QueueCensus, float64, error) {
	all, err := a.o.Census.Get(ctx)
	if err != nil {
		return nil, 0, err
	}
	a.looks.Add(all.Queues, all.Now)
	return all.Queues, all.Now, nil
}

// fewQueues are so many that they are counted for whoever asks, in a call or two; it is also how many queues the API tells at a time.
const fewQueues = 50

// countedOf is what is in queues: as it is now where they are few, else what is in all queues, as of a few seconds ago.
func (a *App) countedOf(ctx context.Context, names []string) ([]queue.QueueCensus, float64, error) {
	if len(names) <= fewQueues {
		census, now, err := a.o.Redis.Census(ctx, names)
		if err == nil {
			a.looks.Add(census, now)
		}
		return census, now, err
	}
	return a.counted(ctx)
}

// recount counts the queues anew that a page shows: few enough for one call. What somebody just did is seen at once.
func (a *App) recount(ctx context.Context, shown []string) (map[string]*queue.QueueCensus, float64, error) {
	fresh, now, err := a.o.Redis.Census(ctx, shown)
	if err != nil {
		return nil, 0, err
	}
	by := make(map[string]*queue.QueueCensus, len(fresh))
	for i := range fresh {
		by[fresh[i].Name] = &fresh[i]
	}
	return by, now, nil
}
