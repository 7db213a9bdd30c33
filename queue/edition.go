package queue

import (
	"slices"
	"sync"
)

// editions keeps what a caller was told of rules: that an edition of them says nothing of some queues, so that calls for these need only ask
// whether it still is there; see lua/lib/edition.lua. Safe for concurrent use.
type editions struct {
	mu     sync.Mutex
	key    string              // of the edition
	until  float64             // by the server's clock
	queues map[string]struct{} // of which it says nothing
}

// editionFor is for how many seconds that is believed. Whatever changes rules ends the edition at once; only what somebody changes with
// commands of Redis counts as late as this.
const editionFor = 10

// saysNothingOf returns the key of the edition that is known to say nothing of queues; "" if that is not known of all.
func (e *editions) saysNothingOf(now float64, queues []string) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	if now >= e.until {
		return ""
	}
	for _, queue := range queues {
		if _, known := e.queues[queue]; !known {
			return ""
		}
	}
	return e.key
}

// learn keeps that an edition says nothing of queues.
func (e *editions) learn(now float64, key string, queues []string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if key != e.key || now >= e.until {
		e.key, e.until, e.queues = key, now+editionFor, map[string]struct{}{}
	}
	for _, queue := range queues {
		e.queues[queue] = struct{}{}
	}
}

// saysNothingTo returns that of the edition that is known to say nothing of a call; "" if there is none, or if the call lets jobs go on to other queues,
// or puts some: of those scripts ask more.
func (e *editions) saysNothingTo(now float64, settlements []*Settlement, puts [][]Put, take Take) string {
	queues := take.Queues
	for i, settled := range settlements {
		switch settled.Action {
		case Complete, Fail, Retry, Release:
		default:
			return ""
		}
		if settled.Next != "" || len(puts[i]) > 0 {
			return ""
		}
		if len(queues) == 0 || settled.Queue != queues[len(queues)-1] {
			queues = append(slices.Clip(queues), settled.Queue)
		}
	}
	return e.saysNothingOf(now, queues)
}
