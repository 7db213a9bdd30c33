package service

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"oarlock/internal/accord"
	"oarlock/internal/connect"
	"oarlock/internal/logging"
	"oarlock/internal/output"
	"oarlock/internal/plan"
	"oarlock/internal/screen"
	"oarlock/supervisor"
)

// Status is what a service that runs says of itself, fit for JSON.
type Status struct {
	supervisor.Snapshot
	Log    logging.State `json:"log"`
	Output output.State  `json:"output"`
	Rules  accord.State  `json:"rules"`

	OwnRedis *connect.Own `json:"own_redis,omitempty"` // which ends with the supervisor; nil: it has none

	MemoryWatched []string `json:"memory_watched,omitempty"` // of pools whose limits.memory the kernel does not enforce
	RedisMemory   []string `json:"redis_memory,omitempty"`   // sentences on how the memory of Redis endangers jobs, as of the last minutes

	Queues        []QueueStatus `json:"queues"`
	QueuesLeftOut int           `json:"queues_left_out,omitempty"` // for there are too many to be looked at
	// UnknownSince is when Redis last told what is in the queues, if it does not tell now.
	UnknownSince *time.Time `json:"queues_unknown_since,omitempty"`
}

// Status is how the service is now. It waits for Redis, for a second at most. It is asked when Run has
// begun to supervise, as the control socket does.
func (s *Service) Status() Status { return s.status(s.sup.Snapshot()) }

// status is Status where the supervisor is as shot says.
func (s *Service) status(shot supervisor.Snapshot) Status {
	r := Status{Snapshot: shot, Log: s.logs.State(), Output: s.outputs.State(), Rules: s.rulesState(), OwnRedis: s.own}
	if s.memory != nil {
		r.RedisMemory = s.memory.told()
	}
	r.MemoryWatched = plan.CapacityOf(s.host).WatchedMemory(s.config())
	var known bool
	if r.Queues, r.QueuesLeftOut, known = s.queueReports(r.Snapshot); !known {
		ago := cmp.Or(r.Seen, r.Up)
		since := time.Now().Add(-time.Duration(ago * float64(time.Second)))
		r.UnknownSince = &since
	}
	return r
}

// rulesState is how the rules of the file stand to those in Redis; nothing is known of that before the service runs.
func (s *Service) rulesState() accord.State {
	if s.rules == nil {
		return accord.State{}
	}
	state := s.rules.State()
	s.mu.Lock()
	defer s.mu.Unlock()
	state.Conflicts = slices.Concat(state.Conflicts, s.orderConflicts)
	return state
}

// disagrees are sentences on which rules of the file do not count.
func (s *Service) disagrees() []string { return s.rulesState().Sentences() }

// holdForRules makes the supervisor take nothing, or take again, as the rules of the file may not count yet.
func (s *Service) holdForRules(hold bool) {
	why := ""
	if hold {
		why = "the rules of its file do not count in Redis yet"
	}
	s.sup.Abstain(why)
}

// Summary sums up the pools of shot in one line.
func Summary(shot supervisor.Snapshot) string {
	busy, slots, oldest := 0, 0, 0.0
	for _, pool := range shot.Pools {
		for _, slot := range pool.Slots {
			slots++
			if len(slot.Runs) > 0 {
				busy++
				oldest = max(oldest, slot.Runs[0].Age)
			}
		}
	}
	text := fmt.Sprintf("%d of %d children busy", busy, slots)
	if busy > 0 {
		text += ", the longest for " + screen.Span(time.Duration(oldest*float64(time.Second)))
	}
	if shot.Short != "" {
		text += "; " + shot.Short
	}
	if len(shot.Stuck) > 0 {
		text += "; standing still: " + strings.Join(shot.Stuck, " ")
	}
	return text
}
