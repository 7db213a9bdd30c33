package hub

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"oarlock/protocol"
	"oarlock/runner"
	"oarlock/supervisor"
)

const (
	// ringBytes is how much is kept of what the children of a slot printed, and allBytes of all together: beyond 256
	// slots each has its share of that.
	ringBytes = 64 << 10
	allBytes  = 16 << 20
	// mostLine is how much is kept of one line.
	mostLine = 4 << 10
	// lineCost is what a line takes beside its text.
	lineCost = 96
)

// Line is something that a child printed or logged.
type Line struct {
	N      uint64  `json:"n"`  // counts the lines of the slot from 1; some may have been left out
	At     float64 `json:"at"` // seconds since the epoch, on this host's clock
	Stream string  `json:"stream"`
	Level  string  `json:"level,omitempty"` // of a log record, as the child named it
	JID    string  `json:"jid,omitempty"`   // of the job at work
	Text   string  `json:"text"`            // fit to be shown, cut to 4 KiB
}

type slotKey struct {
	pool string
	slot int
}

// logs keep what children printed last, by slot.
type logs struct {
	mu    sync.Mutex
	rings map[slotKey]*ring
	limit int // bytes of a ring
}

// ring is what the children of one slot printed last.
type ring struct {
	mu    sync.Mutex
	lines []Line // oldest first
	bytes int
	n     uint64
	limit int
	fleet bool          // the last line is one state of a progress bar, and the next takes its place
	more  chan struct{} // closed when there is more; nil while nobody waits
}

// of finds the ring of a slot, and makes it if it is to.
func (s *logs) of(key slotKey, makes bool) *ring {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.rings[key]
	if r == nil && makes {
		r = &ring{limit: ringBytes}
		s.rings[key] = r
		s.fit()
	}
	return r
}

// fit gives each ring its share of the memory. The caller holds mu.
func (s *logs) fit() {
	limit := min(ringBytes, allBytes/max(len(s.rings), 1))
	if limit == s.limit {
		return
	}
	s.limit = limit
	for _, r := range s.rings {
		r.mu.Lock()
		r.limit = limit
		r.trim()
		r.mu.Unlock()
	}
}

// forget drops what the children of a pool printed that is gone.
func (s *logs) forget(pool string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, r := range s.rings {
		if key.pool != pool {
			continue
		}
		delete(s.rings, key)
		r.mu.Lock()
		if r.more != nil {
			close(r.more) // who follows it looks for another
			r.more = nil
		}
		r.mu.Unlock()
	}
	s.fit()
}

// add keeps a line.
func (s *logs) add(l *supervisor.Line, now time.Time) {
	line := Line{At: float64(now.UnixMilli()) / 1e3, Stream: l.Stream.String(), JID: keep(l.JID)}
	line.Level, line.Text = textOf(l)
	r := s.of(slotKey{l.Pool, l.Slot}, true)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fleet {
		r.drop(len(r.lines) - 1)
	}
	r.n++
	line.N = r.n
	r.lines = append(r.lines, line)
	r.bytes += line.cost()
	r.fleet = l.Overwritten
	r.trim()
	if r.more != nil {
		close(r.more)
		r.more = nil
	}
}

// textOf is what is shown of a line, and the level that it names.
func textOf(l *supervisor.Line) (level, text string) {
	switch {
	case l.Dropped > 0:
		return "warn", runner.TooManyLines(l.Dropped)
	case l.Record != nil:
		var b strings.Builder
		b.WriteString(visible([]byte(l.Record.Message)))
		for _, f := range l.Record.Fields {
			if b.Len() > mostLine {
				break
			}
			fmt.Fprintf(&b, " %s=%s", visible([]byte(f.Name)), visible(f.Value))
		}
		return visible([]byte(l.Record.Level)), cut(b.String())
	}
	text = visible(l.Text)
	if l.Cut > 0 {
		text += fmt.Sprintf(" … and %d bytes more", l.Cut)
	}
	if l.Refused != "" {
		text += " (refused: " + visible([]byte(l.Refused)) + ")"
	}
	return "", text
}

// visible is text that can be shown, in memory of its own, cut to what is kept of a line.
func visible(text []byte) string {
	if len(text) > mostLine {
		return string(protocol.Visible(nil, text[:mostLine])) + "…"
	}
	return string(protocol.Visible(nil, text))
}

func cut(text string) string {
	if len(text) > 2*mostLine {
		return strings.ToValidUTF8(text[:2*mostLine], "") + "…"
	}
	return text
}

// cost is how much memory a line takes, about.
func (l *Line) cost() int { return lineCost + len(l.JID) + len(l.Level) + len(l.Text) }

// trim forgets the oldest lines as far as that is needed; the last one always stays. The caller holds mu.
func (r *ring) trim() {
	gone := 0
	for gone < len(r.lines)-1 && r.bytes > r.limit {
		r.bytes -= r.lines[gone].cost()
		r.lines[gone] = Line{}
		gone++
	}
	r.lines = r.lines[gone:]
}

// drop forgets the line at the end. The caller holds mu.
func (r *ring) drop(last int) {
	r.bytes -= r.lines[last].cost()
	r.lines = r.lines[:last]
}

// after returns the lines after the one of that number, the last most of them, if most is positive. If there are
// none it returns what is closed when there are. The caller holds mu.
func (r *ring) after(n uint64, most int) (lines []Line, more <-chan struct{}) {
	at := len(r.lines)
	for at > 0 && r.lines[at-1].N > n && (most <= 0 || len(r.lines)-at < most) {
		at--
	}
	if at < len(r.lines) {
		return append([]Line(nil), r.lines[at:]...), nil
	}
	if r.more == nil {
		r.more = make(chan struct{})
	}
	return nil, r.more
}

// Lines returns what the children of a slot printed after the line of that number, oldest first; the last most of it, if
// most is positive.
func (h *Hub) Lines(pool string, slot int, after uint64, most int) []Line {
	r := h.logs.of(slotKey{pool, slot}, false)
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	lines, _ := r.after(after, most)
	return lines
}

const (
	// lookPause is how often a slot is looked at that has printed nothing yet.
	lookPause = 500 * time.Millisecond
	// tellPause is how long more is waited for when something was printed.
	tellPause = 50 * time.Millisecond
)

// Follow waits until the children of a slot have printed something after the line of that number, and returns it as
// Lines does. The error is that of ctx, or ErrOver.
func (h *Hub) Follow(ctx context.Context, pool string, slot int, after uint64) ([]Line, error) {
	for {
		var lines []Line
		var more <-chan struct{}
		var later <-chan time.Time
		if r := h.logs.of(slotKey{pool, slot}, false); r != nil {
			r.mu.Lock()
			lines, more = r.after(after, 0)
			r.mu.Unlock()
		} else {
			later = time.After(lookPause)
		}
		if len(lines) > 0 {
			return lines, nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-h.ctx.Done():
			return nil, ErrOver
		case <-later:
		case <-more:
			select {
			case <-ctx.Done():
			case <-time.After(tellPause):
			}
		}
	}
}
