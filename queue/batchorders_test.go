package queue

import (
	"math"
	"slices"

	"pgregory.net/rapid"

	"oarlock/queue/internal/wire"
)

// What takes in other orders equal in single commands.

// takeInTurn compares a round-robin take with pops of a share of what is wanted from
// one queue after the other, beginning where the last take stopped; then, as long as
// something is wanted, of a share of that from those that had as many.
func (m *twins) takeInTurn(t *rapid.T) {
	m.t = t
	worker := someWorker.Draw(t, "worker")
	queues := []string{"a", "b", "c"}
	count := rapid.IntRange(1, 7).Draw(t, "count")
	reply := m.takeJobs(worker, Take{Queues: queues, Order: RoundRobin, Cursor: m.cursor, Count: count})

	var popped []poppedJob
	turn := slices.Concat(queues[m.cursor:], queues[:m.cursor])
	last := -1
	for left := count; left > 0 && len(turn) > 0; left = count - len(popped) {
		share := max(1, left/len(turn))
		turn = slices.DeleteFunc(turn, func(queue string) bool {
			want := min(share, count-len(popped))
			if want == 0 {
				return true
			}
			jobs := m.pop(queue, worker, want)
			popped = append(popped, jobs...)
			if len(jobs) > 0 {
				last = slices.Index(queues, queue)
			}
			return len(jobs) < want
		})
	}
	m.sameJobs(reply.Jobs, popped)
	if last >= 0 {
		m.cursor = (last + 1) % len(queues)
	}
	if reply.Cursor != m.cursor {
		t.Fatalf("the cursor is %d, want %d", reply.Cursor, m.cursor)
	}
}

// takeOldest compares a take of the oldest with a peek at every queue, which brings in
// what is due, and then pops of one, each from the queue whose head has the earliest
// time; the jobs of each queue are handed out together.
//
// A pop would also take away jobs whose lock ran out, those of the pops before if locks
// last no time; so it is compared only where there is none of it.
func (m *twins) takeOldest(t *rapid.T) {
	m.t = t
	worker := someWorker.Draw(t, "worker")
	queues := rapid.Permutation([]string{"a", "b", "c"}).Draw(t, "queues")
	count := rapid.IntRange(1, 5).Draw(t, "count")
	now := wire.Number(m.now)
	room := make(map[string]int)
	for _, queue := range queues {
		prefix := "ql:q:" + queue
		expired := m.single.redis.ZCount(m.ctx, prefix+"-locks", "-inf", now).Val()
		room[queue] = min(count, m.room(queue))
		if expired > 0 || m.setting(queue+"-heartbeat", m.setting("heartbeat", 60)) <= 0 || m.single.redis.ZCount(m.ctx, prefix+"-recur", "0", now).Val() > 0 {
			return
		}
	}
	reply := m.takeJobs(worker, Take{Queues: queues, Order: Oldest, Count: count})

	for _, queue := range queues {
		if room[queue] > 0 {
			m.runInTurn("peek", queue, room[queue])
		}
	}
	byQueue, popped := make(map[string][]poppedJob), 0
	for popped < count {
		best, earliest := queues[0], math.Inf(1)
		for _, queue := range queues {
			if when := m.headTime(queue); m.room(queue) > 0 && when < earliest {
				best, earliest = queue, when
			}
		}
		jobs := m.pop(best, worker, 1) // with nothing left, it still registers the worker
		if len(jobs) == 0 {
			break
		}
		byQueue[best] = append(byQueue[best], jobs...)
		popped++
	}
	for _, queue := range queues {
		taken := slices.DeleteFunc(slices.Clone(reply.Jobs), func(job Taken) bool { return job.Queue != queue })
		m.sameJobs(taken, byQueue[queue])
	}
	if len(reply.Jobs) != popped {
		t.Fatalf("took %d jobs, popped %d", len(reply.Jobs), popped)
	}
}

// room is how many more jobs of a queue may run.
func (m *twins) room(queue string) int {
	most := m.setting(queue+"-max-concurrency", 0)
	if most <= 0 {
		return math.MaxInt
	}
	running := m.single.redis.ZCount(m.ctx, "ql:q:"+queue+"-locks", wire.Number(m.now), "+inf").Val()
	return max(0, int(most)-int(running))
}

func (m *twins) setting(name string, other float64) float64 {
	if f, ok := luaNumber(m.single.redis.HGet(m.ctx, "ql:config", name).Val()); ok {
		return f
	}
	return other
}

// headTime is the time of the next job of a queue.
func (m *twins) headTime(queue string) float64 {
	head := m.single.redis.ZRevRange(m.ctx, "ql:q:"+queue+"-work", 0, 0).Val()
	if len(head) == 0 {
		return math.Inf(1)
	}
	when, _ := luaNumber(m.single.redis.HGet(m.ctx, "ql:j:"+head[0], "time").Val())
	return when
}
