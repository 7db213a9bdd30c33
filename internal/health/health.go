// Package health answers those who ask over HTTP, again and again, whether a supervisor lives and whether it works:
// an orchestrator, a load balancer. It owns the words and how often the supervisor is asked for them. It must not know
// who may ask, nor Redis.
package health

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"sync"
	"time"

	"oarlock/supervisor"
)

// Health answers. Its methods are safe for concurrent use.
type Health struct {
	alive    func() bool
	snapshot func(context.Context) (supervisor.Snapshot, error)

	asking chan struct{} // of size 1: holds a token while the loops are asked
	mu     sync.Mutex    // for memory only
	lives  bool
	at     time.Time // of that
}

// New makes one. alive asks the loops of all pools whether they answer in time; snapshot is the supervisor as it was within
// the last second.
func New(alive func() bool, snapshot func(context.Context) (supervisor.Snapshot, error)) *Health {
	return &Health{alive: alive, snapshot: snapshot, asking: make(chan struct{}, 1)}
}

// lasts is how long an answer is good enough: whoever may ask this as often as he likes costs nothing.
const lasts = time.Second

// Alive answers with 200 where the loops of all pools answer in time, be Redis there or not; else with 503.
func (h *Health) Alive(w http.ResponseWriter, r *http.Request) {
	if !h.answered(r.Context()) {
		say(w, http.StatusServiceUnavailable, "stuck")
		return
	}
	say(w, http.StatusOK, "alive")
}

// answered reports whether all loops answered when they were asked last.
func (h *Health) answered(ctx context.Context) bool {
	if lives, fresh := h.known(); fresh {
		return lives
	}
	select {
	case <-ctx.Done():
		return false
	case h.asking <- struct{}{}:
	}
	defer func() { <-h.asking }()
	if lives, fresh := h.known(); fresh {
		return lives
	}
	lives := h.alive()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lives, h.at = lives, time.Now()
	return lives
}

func (h *Health) known() (lives, fresh bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.lives, !h.at.IsZero() && time.Since(h.at) < lasts
}

// Why it is not ready, in a word.
const (
	isReady      = "ready"
	isDraining   = "draining"
	isAbstaining = "abstains" // it takes nothing, for a reason that it finds in Redis; Readiness says which
	isRedis      = "redis"    // it does not answer, or takes no writes; or has not been asked yet
	isBreaker    = "breaker"
	isQuiet      = "quiet"
	noChild      = "no_child"
	noPool       = "no_pool"
	noAnswer     = "stuck" // its loop stands still; of the whole: nobody tells how it is
)

// Readiness is what Ready says to somebody who may know more.
type Readiness struct {
	Ready    bool              `json:"ready"`
	Word     string            `json:"word"`               // ready, or why not
	Redis    string            `json:"redis"`              // ok, or what is wrong with it
	Abstains string            `json:"abstains,omitempty"` // why nothing is taken all the same
	Seen     float64           `json:"seen"`               // seconds since it last told what there is to do
	Pools    map[string]string `json:"pools"`              // each pool's own word
	Up       float64           `json:"up"`                 // seconds
}

// Ready answers with 200 where jobs can be taken: Redis has just answered, nothing that is found there keeps us from taking
// any, and the supervisor does not leave. With ?pool=NAME that pool's breaker must be shut, and a child of it be there, too. Else the answer is 503 and a word. verbose
// says more, as JSON: it is for who may read.
func (h *Health) Ready(w http.ResponseWriter, r *http.Request, verbose bool) {
	shot, err := h.snapshot(r.Context())
	word := wordOf(&shot)
	if err != nil {
		word = noAnswer
	}
	status := http.StatusOK
	if query := r.URL.Query(); (word == isReady || word == isAbstaining) && query.Has("pool") {
		name := query.Get("pool")
		i := slices.IndexFunc(shot.Pools, func(p supervisor.PoolSnapshot) bool { return p.Name == name && !p.Draining })
		switch {
		case i >= 0:
			word = poolWord(&shot.Pools[i])
		case slices.Contains(shot.Stuck, name):
			word = noAnswer
		default:
			say(w, http.StatusNotFound, noPool)
			return
		}
	}
	if word != isReady {
		status = http.StatusServiceUnavailable
	}
	if !verbose {
		say(w, status, word)
		return
	}
	told := Readiness{Ready: word == isReady, Word: word, Redis: shot.Redis, Abstains: shot.Abstains, Seen: shot.Seen, Up: shot.Up, Pools: map[string]string{}}
	for _, name := range shot.Stuck {
		told.Pools[name] = noAnswer
	}
	for i := range shot.Pools {
		told.Pools[shot.Pools[i].Name] = poolWord(&shot.Pools[i])
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(told) // who does not read it has left
}

// wordOf is how a supervisor is.
func wordOf(shot *supervisor.Snapshot) string {
	switch {
	case shot.Draining:
		return isDraining
	case shot.Abstains != "":
		return isAbstaining
	case !shot.Ready:
		return isRedis
	}
	return isReady
}

// poolWord is how a pool is.
func poolWord(p *supervisor.PoolSnapshot) string {
	switch {
	case p.Draining:
		return isDraining
	case p.Abstains != "":
		return isAbstaining
	case p.Breaker != "":
		return isBreaker
	case p.Quiet:
		return isQuiet
	case !manned(p):
		return noChild
	}
	return isReady
}

// manned reports whether a pool has a child that can work, or, in mode once, a place where it can start one. One with
// no place at all has what it needs.
func manned(p *supervisor.PoolSnapshot) bool {
	if p.Barren != "" {
		return false
	}
	for i := range p.Slots {
		switch state := p.Slots[i].State; {
		case state == "ready", state == "busy", state == "empty" && p.Mode == "once":
			return true
		}
	}
	return p.Children == 0
}

// say answers with a word.
func say(w http.ResponseWriter, status int, word string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(word + "\n"))
}
