package hub

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"
)

const (
	// viewPause is how often a view is computed that is being watched, and viewLimit how long that may take.
	viewPause = time.Second
	viewLimit = 5 * time.Second
	// viewShare is how many times as long as it took a view is left alone, for each view that is being watched, slowest at most: who
	// works shares a host, and Redis, with those who look on, who have a fiftieth of a core for all that they watch.
	viewShare = 50
	slowest   = 5 * time.Second
	// mostFrames is by how many frames a watcher may be behind before it is given the whole view instead.
	mostFrames = 64
)

// View is what a page shows that may change: texts and attributes by the ids of what they stand in. What it points to is
// the hub's when it was returned.
type View struct {
	Set   map[string]string // text by id
	Attr  map[string]string // value by id and name, as "spark.rate.points"
	Stale []string          // ids of what is to be looked at anew, sorted: its rows have changed
}

// frame is what watchers are sent: what has changed since the frame before, or all.
type frame struct {
	Set    map[string]string `json:"set,omitempty"`
	Attr   map[string]string `json:"attr,omitempty"`
	Stale  []string          `json:"stale,omitempty"`
	Resync bool              `json:"resync,omitempty"` // frames before it are missing; it is whole
}

// topics are the views that are being watched.
type topics struct {
	work sync.WaitGroup // of what computes them

	mu   sync.Mutex
	all  map[string]*topic
	over bool // nothing is computed any more
}

// topic is one view, computed as long as somebody watches it.
type topic struct {
	key      string
	end      context.CancelFunc
	watchers int // under the lock of topics

	mu      sync.Mutex
	view    View
	version int           // of view: 0 before there is one
	frames  [][]byte      // the last ones; that which ends them made the version
	whole   []byte        // all of the view, if somebody wanted it
	more    chan struct{} // closed with the next version
}

// Watcher watches a view. It is for one goroutine.
type Watcher struct {
	hub    *Hub
	topic  *topic
	seen   int // version
	closed bool
}

// Watch watches the view of that key, which is computed by compute at once, and then each second, or more seldom if all that
// is watched would take more than a fiftieth of a core, as long as anybody watches it. The view of a key must be the same whoever computes it: all its watchers are sent the same bytes. compute
// runs on a goroutine of the hub, for five seconds at most; the caller closes what Watch returns.
func (h *Hub) Watch(key string, compute func(context.Context) View) *Watcher {
	s := &h.topics
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.all[key]
	if t == nil {
		ctx, end := context.WithCancel(h.ctx)
		t = &topic{key: key, end: end, more: make(chan struct{})}
		s.all[key] = t
		if !s.over {
			s.work.Go(func() { h.attend(ctx, t, compute) })
		}
	}
	t.watchers++
	return &Watcher{hub: h, topic: t}
}

// wait waits for what computes the topics; the hub's context has ended.
func (s *topics) wait() {
	s.mu.Lock()
	s.over = true
	s.mu.Unlock()
	s.work.Wait()
}

// attend computes a view until nobody watches it.
func (h *Hub) attend(ctx context.Context, t *topic, compute func(context.Context) View) {
	next := time.NewTimer(0)
	defer next.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-next.C:
		}
		began := time.Now()
		if view, ok := h.compute(ctx, t.key, compute); ok {
			t.update(view)
		}
		took := time.Since(began)
		views, _ := h.Watched()
		next.Reset(max(viewPause, min(time.Duration(views*viewShare)*took, slowest)) - took)
	}
}

// compute is one computation. What panics is logged, and the view stays as it was.
func (h *Hub) compute(ctx context.Context, key string, compute func(context.Context) View) (view View, ok bool) {
	ctx, cancel := context.WithTimeout(ctx, viewLimit)
	defer cancel()
	defer func() {
		if r := recover(); r != nil {
			h.log.Error("a view cannot be computed", "view", keep(key), "err", fmt.Sprint(r), "stack", string(debug.Stack()))
			ok = false
		}
	}()
	return compute(ctx), true
}

// update makes the frame that leads from the last view to this one, if they differ.
func (t *topic) update(view View) {
	t.mu.Lock()
	defer t.mu.Unlock()
	change := frame{Set: changed(t.view.Set, view.Set), Attr: changed(t.view.Attr, view.Attr)}
	if !slices.Equal(t.view.Stale, view.Stale) {
		change.Stale = view.Stale
	}
	if t.version > 0 && len(change.Set)+len(change.Attr)+len(change.Stale) == 0 {
		t.view = view
		return
	}
	t.view, t.whole = view, nil
	t.version++
	t.frames = append(t.frames[max(len(t.frames)-mostFrames+1, 0):], encode(change))
	close(t.more)
	t.more = make(chan struct{})
}

// changed is what of the values is new, or another than it was.
func changed(was, is map[string]string) map[string]string {
	if was == nil {
		return is
	}
	out := map[string]string{}
	for key, value := range is {
		if old, known := was[key]; !known || old != value {
			out[key] = value
		}
	}
	return out
}

func encode(f frame) []byte {
	text, err := json.Marshal(f)
	if err != nil { // there is nothing in it that cannot be encoded
		panic(err)
	}
	return text
}

// next returns the frame after a version, and the version that it leads to; or what is closed when there is one.
func (t *topic) next(seen int) (text []byte, version int, more <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	behind := t.version - seen
	switch {
	case behind == 0:
		return nil, seen, t.more
	case seen > 0 && behind <= len(t.frames):
		return t.frames[len(t.frames)-behind], seen + 1, nil
	}
	if seen == 0 && t.whole == nil {
		t.whole = encode(frame{Set: t.view.Set, Attr: t.view.Attr, Stale: t.view.Stale})
	}
	if seen == 0 {
		return t.whole, t.version, nil
	}
	return encode(frame{Set: t.view.Set, Attr: t.view.Attr, Stale: t.view.Stale, Resync: true}), t.version, nil
}

// Next waits for the next frame: JSON with what changed, {"set":{…},"attr":{…},"stale":[…]}. The first is the whole view, and
// so is one after frames that this watcher was too slow for, which says "resync":true. It must not be changed. The error
// is that of ctx, or ErrOver.
func (w *Watcher) Next(ctx context.Context) ([]byte, error) {
	for {
		text, version, more := w.topic.next(w.seen)
		if text != nil {
			w.seen = version
			return text, nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-w.hub.ctx.Done():
			return nil, ErrOver
		case <-more:
		}
	}
}

// Close ends the watching; the last one ends the computing. It may be called more than once.
func (w *Watcher) Close() {
	s := &w.hub.topics
	s.mu.Lock()
	defer s.mu.Unlock()
	if w.closed {
		return
	}
	w.closed = true
	if w.topic.watchers--; w.topic.watchers == 0 {
		w.topic.end()
		delete(s.all, w.topic.key)
	}
}

// Watched is how many views are being watched, and by how many.
func (h *Hub) Watched() (views, watchers int) {
	s := &h.topics
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.all {
		watchers += t.watchers
	}
	return len(s.all), watchers
}
