package doctor

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"oarlock/internal/must"
	"oarlock/internal/redistest"
	"oarlock/queue"
)

// A doctor that mends all the time, beside workers, finds nothing: what moves is no damage.
func TestNothingThatMovesIsDamage(t *testing.T) {
	client := blankPatient(t, redistest.Shared(t)).client
	must.Do(t, client.SetThrottle(t.Context(), queue.Throttle{ID: "t", Maximum: 3}))
	client.Redis().HSet(t.Context(), "ql:config", "jobs-history-count", 20) // those that are done go at once
	const jobs = 600
	var work sync.WaitGroup
	var left atomic.Int64
	left.Store(jobs)
	for n := range 3 {
		work.Go(func() { workAtRandom(t, client, n, &left) })
	}
	work.Go(func() {
		for i := range jobs {
			put := queue.Put{Queue: "q", JID: fmt.Sprint("j", i), Klass: "K", Retries: ptr(1000), Delay: time.Duration(i%3) * time.Millisecond}
			if i%3 == 0 {
				put.Key = fmt.Sprint("key ", i%2)
			}
			if i%4 == 0 {
				put.Throttles = []string{"t"}
			}
			if i%5 == 4 {
				put.Depends = []string{fmt.Sprint("j", i-1), fmt.Sprint("j", i-2)}
			}
			if _, err := client.Put(t.Context(), put); err != nil {
				t.Error(err)
			}
		}
	})
	looks := 0
	for ; left.Load() > 0 && t.Context().Err() == nil && !t.Failed(); looks++ {
		d := &Doctor{Client: client, Fix: true, Report: func(f Finding) {
			if f.Level != OK && f.Subject == "keys" {
				t.Errorf("found %+v", f)
			}
		}}
		must.Do(t, d.Keys(t.Context()))
	}
	work.Wait()
	if looks < 3 {
		t.Errorf("only %d looks", looks)
	}
}

// workAtRandom takes and ends jobs in all ways until none is left.
func workAtRandom(t *testing.T, client *queue.Client, n int, left *atomic.Int64) {
	session := client.Session(fmt.Sprint("w", n))
	luck := rand.New(rand.NewPCG(uint64(n), 0))
	var held []queue.Taken
	for left.Load() > 0 && !t.Failed() {
		var settlements []queue.Settlement
		for _, job := range held {
			s := queue.Settlement{JID: job.JID, Queue: job.Queue, Popped: job.Popped, Action: queue.Complete}
			switch luck.IntN(6) {
			case 0:
				s.Action, s.Delay = queue.Retry, time.Millisecond
			case 1:
				s.Action, s.Front = queue.Release, true
			case 2:
				s.Action, s.Group, s.Message = queue.Fail, "g", "m"
			case 3:
				s.Next, s.Delay = "later", time.Duration(luck.IntN(2))*time.Millisecond
			default:
				left.Add(-1)
			}
			settlements = append(settlements, s)
		}
		reply, err := session.Exchange(t.Context(), settlements, queue.Take{Queues: []string{"q", "later"}, Count: 5, Order: queue.RoundRobin})
		if err != nil {
			t.Error(err)
			return
		}
		for _, r := range reply.Results {
			if r.Err != nil {
				t.Errorf("a settlement was refused: %v", r.Err)
			}
		}
		held = reply.Jobs
		if _, err := client.Unfail(t.Context(), "q", "g", 25); err != nil {
			t.Error(err)
			return
		}
	}
}
