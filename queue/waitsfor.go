package queue

import (
	"context"
	"strings"

	"oarlock/queue/internal/wire"
)

// WaitsFor is for what a job of a ruled queue waits: places of a throttle, or the turn of its value, in a waitlist with all jobs of its queue that
// need the same.
type WaitsFor struct {
	Throttle string  // "" if it waits for its turn
	Turn     bool    // it waits for a free child and the turn of its value, which is Party, and for no throttle
	Ahead    int     // of these: waitlists whose turn comes before
	Places   int     // that it takes
	Since    float64 // when a job of its waitlist started last, or the first began to wait
	Before   int     // jobs of its waitlist that come before it
	Open     bool    // the next take may try it
	Opens    float64 // when one may; 0 if that depends on others
	Maximum  int     // places of the throttle; 0 if it has no limit
	Used     int     // of those, taken
	Party    string  // a value of the throttle, or, where it has none, the queue
	Over     bool    // its value has its share, and more only while nobody else waits
	Next     string  // the party whose turn is before that of its own; "" if none is
	Kept     int     // places that are kept for a job that has waited for longer than the throttle's patience
	KeptFor  string  // of which queue
	Passed   string  // the throttle for which that waits; "" if it is this one
	Share    int     // places that its value has a share of; 0 if none is said
	Has      int     // places that its value takes; where it waits for its turn, jobs of its value that run
	Rate     int     // starts in Period; 0 if the throttle has no rate
	Period   float64 // seconds
	Asks     string  // its command decides: closed or open, which it is while that fails; "" if it has none
	Held     []Holder
}

// Holder is a job that has places of a throttle.
type Holder struct {
	JID     string
	Places  int
	Leaving int // how many of Places are of an attempt that was taken from its worker: until it is over, or its lock would have ended
}

// WaitsFor tells for what a job waits at the gate of a ruled queue; nil if it stands in no waitlist. It changes nothing.
func (c *Client) WaitsFor(ctx context.Context, jid string) (*WaitsFor, error) {
	raw, err := c.read(ctx, "waitsfor", jid)
	if err != nil {
		return nil, err
	}
	in := wire.Read(raw)
	if len(in.Items) == 0 {
		return nil, in.Err
	}
	w := &WaitsFor{}
	for len(in.Items) > 1 && in.Err == nil {
		w.read(in.Text(), &in)
	}
	return w, in.Err
}

// read takes the value of a name.
func (w *WaitsFor) read(name string, in *wire.Reader) {
	switch name {
	case "throttle":
		w.Throttle = in.Text()
	case "turn":
		w.Turn = in.Int() == 1
	case "ahead":
		w.Ahead = in.Int()
	case "places":
		w.Places = in.Int()
	case "since":
		w.Since = in.Float()
	case "before":
		w.Before = in.Int()
	case "open":
		w.Open = in.Int() == 1
	case "opens":
		w.Opens = in.Float()
	case "maximum":
		w.Maximum = in.Int()
	case "used":
		w.Used = in.Int()
	case "party":
		w.Party = in.Text()
	case "over":
		w.Over = in.Int() == 1
	case "next":
		w.Next = in.Text()
	case "kept":
		w.Kept = in.Int()
	case "kept_for":
		w.KeptFor = in.Text()
	case "passed":
		w.Passed = in.Text()
	case "share":
		w.Share = in.Int()
	case "has":
		w.Has = in.Int()
	case "rate":
		w.Rate = in.Int()
	case "period":
		w.Period = in.Float()
	case "asks":
		w.Asks = in.Text()
	case "held":
		members := wire.Reader{Items: in.List()}
		for len(members.Items) > 0 && members.Err == nil {
			w.Held = addHolder(w.Held, members.Text())
		}
	default:
		in.Text()
	}
}

// addHolder adds a member of the set of holders.
func addHolder(held []Holder, member string) []Holder {
	holder := readHolder(member)
	for i := range held {
		if held[i].JID == holder.JID {
			held[i].Places += holder.Places
			held[i].Leaving += holder.Leaving
			return held
		}
	}
	return append(held, holder)
}

// readHolder reads a member of the set of holders: a jid; or that, NUL and which of its places it is; or that, NUL and
// when the attempt was popped that was taken from its worker.
func readHolder(member string) Holder {
	jid, rest, _ := strings.Cut(member, "\x00")
	h := Holder{JID: jid, Places: 1}
	if strings.Contains(rest, "\x00") {
		h.Leaving = 1
	}
	return h
}
