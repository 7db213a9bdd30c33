package hub

import (
	"slices"
	"sync"
	"time"
)

// mostDeeds is how many of what people did are remembered.
const mostDeeds = 200

// Deed is something that somebody did by hand: by the page, the API or a command.
type Deed struct {
	At      float64 `json:"at"`             // seconds since the epoch, on this host's clock
	Who     string  `json:"who"`            // name of a token, a user, or of the command
	From    string  `json:"from,omitempty"` // address, or process id
	Action  string  `json:"action"`
	What    string  `json:"what,omitempty"`   // the job, queue, pool it was done to
	Count   int     `json:"count,omitempty"`  // of what it was asked for
	Done    int     `json:"done,omitempty"`   // of what it was done to
	Result  string  `json:"result,omitempty"` // "" if it was done; else why not
	Request string  `json:"request,omitempty"`
}

// audit are the last deeds, oldest first.
type audit struct {
	mu    sync.Mutex
	deeds []Deed
}

// Audit remembers a deed, and when it was done, unless it says so itself.
func (h *Hub) Audit(d Deed) {
	if d.At == 0 {
		d.At = float64(time.Now().UnixMilli()) / 1e3
	}
	d.Who, d.From, d.What, d.Result = keep(d.Who), keep(d.From), keep(d.What), keep(d.Result)
	a := &h.audit
	a.mu.Lock()
	defer a.mu.Unlock()
	a.deeds = append(a.deeds[max(len(a.deeds)-mostDeeds+1, 0):], d)
}

// Deeds are the last 200, newest first.
func (h *Hub) Deeds() []Deed {
	a := &h.audit
	a.mu.Lock()
	defer a.mu.Unlock()
	deeds := slices.Clone(a.deeds)
	slices.Reverse(deeds)
	return deeds
}
