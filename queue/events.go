package queue

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"strings"

	"github.com/redis/go-redis/v9"

	"oarlock/queue/internal/connection"
)

// Event is something that happened to a job or a setting.
type Event struct {
	Channel string // without the namespace: log, w:<worker>, or for tracked jobs put, popped, completed, …
	// Event is what happened, one of EventNames; of other clients it may be any text. missed: others
	// followed faster than they were read, and are lost.
	Event string

	JID, Queue, Worker string // as far as the event has them
	To                 string // of advanced: the next queue
	Group, Message     string // of failed
	Option, Value      string // of config_set and config_unset
}

// EventNames are what an Event says has happened.
var EventNames = []string{"put", "merged", "popped", "completed", "advanced", "failed", "canceled", "lock_lost", "stalled", "track", "untrack", "config_set", "config_unset", "missed"}

// eventChannels are those that carry events for everyone.
var eventChannels = []string{"log", "put", "popped", "stalled", "completed", "failed", "canceled", "track", "untrack"}

// eventBuffer is how many events wait for a slow reader. The last place is for the news that more
// were dropped.
const eventBuffer = 4096

// Events follows what happens, until ctx ends or the loop over it does. The only error
// is that Redis is away at the start; it is the last thing then.
//
//	for event, err := range client.Events(ctx) { … }
//
// All that listen by one client do so over one connection. After a break it reconnects by itself; what
// happens meanwhile is not told, and a slow reader loses some, of which an Event says missed.
func (c *Client) Events(ctx context.Context) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		if err := c.Ping(ctx); err != nil {
			yield(Event{}, err)
			return
		}
		channels := make([]string, len(eventChannels))
		for i, name := range eventChannels {
			channels[i] = c.ns + name
		}
		ctx, stop := context.WithCancel(ctx)
		heard := c.messages(ctx, channels)
		defer func() {
			stop()
			for range heard { // until nothing of it is left
			}
		}()
		for m := range heard {
			some := []Event{c.eventOf(m)}
			for more := true; more && len(some) < eventsAtOnce; { // what came meanwhile is asked for with it
				select {
				case m, open := <-heard:
					if more = open; open {
						some = append(some, c.eventOf(m))
					}
				default:
					more = false
				}
			}
			for _, event := range c.here(ctx, some) {
				if !yield(event, nil) {
					return
				}
			}
		}
	}
}

// eventsAtOnce is of how many events is asked in one call whether they are of this database.
const eventsAtOnce = 500

// eventOf reads a message; nil says that some were missed.
func (c *Client) eventOf(m *redis.Message) Event {
	if m == nil {
		return Event{Event: "missed"}
	}
	return readEvent(strings.TrimPrefix(m.Channel, c.ns), m.Payload)
}

// here drops events of other databases of the server, since channels are shared by all databases. It drops an event if its job does
// not exist here and its queue, if the event names one, is not known here. A canceled job exists nowhere, so an event without a queue
// passes. If Redis does not answer, all events pass.
func (c *Client) here(ctx context.Context, events []Event) []Event {
	pipe := c.redis.Pipeline()
	jobs, queues := make([]*redis.IntCmd, len(events)), make([]*redis.FloatCmd, len(events))
	for i, e := range events {
		if e.JID != "" {
			jobs[i] = pipe.Exists(ctx, c.ns+"j:"+e.JID, c.ns+"r:"+e.JID)
		}
		if e.Queue != "" {
			queues[i] = pipe.ZScore(ctx, c.ns+"queues", e.Queue)
		}
	}
	if pipe.Len() == 0 {
		return events
	}
	if _, err := pipe.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) {
		return events
	}
	told := events[:0]
	for i, e := range events {
		switch {
		case jobs[i] == nil && queues[i] == nil, jobs[i] != nil && jobs[i].Val() > 0, queues[i] != nil && queues[i].Err() == nil,
			queues[i] == nil && e.Event == "canceled":
			told = append(told, e)
		}
	}
	return told
}

// readEvent reads a message: JSON on the log and to workers, a bare jid elsewhere.
func readEvent(channel, payload string) Event {
	event := Event{Channel: channel, Event: channel, JID: payload}
	if channel != "log" && !strings.HasPrefix(channel, "w:") {
		return event
	}
	var fields map[string]any
	if json.Unmarshal([]byte(payload), &fields) != nil {
		return event
	}
	// A field may be false, for what was not known.
	text := func(name string) string { s, _ := fields[name].(string); return s }
	return Event{
		Channel: channel, Event: text("event"), JID: text("jid"), Queue: text("queue"), Worker: text("worker"),
		To: text("to"), Group: text("group"), Message: text("message"), Option: text("option"), Value: text("value"),
	}
}

// messages gives what is published on channels until ctx ends, with nil where some were missed; then it is closed.
func (c *Client) messages(ctx context.Context, channels []string) <-chan *redis.Message {
	heard := make(chan *redis.Message, eventBuffer)
	deliver := func(m *redis.Message) { keep(heard, m, nil) }
	go func() { // ends with ctx; the closed channel tells
		defer close(heard)
		c.heard.Listen(ctx, &connection.Listener{Channels: channels, Deliver: deliver})
	}()
	return heard
}
