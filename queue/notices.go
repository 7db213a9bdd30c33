package queue

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"oarlock/queue/internal/connection"
	"oarlock/queue/internal/wire"
)

// NoticeKind says what a Notice is about.
type NoticeKind string

const (
	NoticeLockLost NoticeKind = "lock_lost" // the job's lock expired, or it was given away
	NoticeCanceled NoticeKind = "canceled"  // the job was cancelled
	NoticeWake     NoticeKind = "wake"      // something became ready in Queue
	NoticeMissed   NoticeKind = "missed"    // others followed faster than they were read, and are lost
)

// Notice is a hint from Redis; it may be late, doubled, or never come.
type Notice struct {
	Kind        NoticeKind
	JID, Worker string // for NoticeLockLost and NoticeCanceled
	Queue       string // for NoticeWake
}

// noticeBuffer is how many notices wait for a slow reader. The last place is for the news
// that more were dropped, which is read after all that came before it.
const noticeBuffer = 4096

// WakeChannel is where a queue's name is published when a job of it became ready: by puts
// of ours, and by all commands that make jobs ready elsewhere.
func (c *Client) WakeChannel() string { return c.ns + "oarlock:wake" }

// Notices listens, over the one connection of all that listen by this client, for what Redis tells these
// workers about their jobs, and for puts into any queue. The channel is closed after ctx ends.
//
// Puts by other clients of the protocol are noticed where the server has keyspace
// notifications on for sorted sets (notify-keyspace-events with K and z).
//
// It connects, and after a break reconnects, by itself. A notice is a hint only: while
// nobody listens they are lost, and a slow reader loses some, of which NoticeMissed tells.
func (c *Client) Notices(ctx context.Context, workers ...string) <-chan Notice {
	channels := []string{c.WakeChannel()}
	for _, w := range workers {
		channels = append(channels, c.ns+"w:"+w)
	}
	var patterns []string
	if !c.cluster { // there, each node tells of its own keys only
		patterns = []string{c.workSetEvents()}
	}
	notices := make(chan Notice, noticeBuffer)
	deliver := func(m *redis.Message) {
		if notice, ok := c.notice(m.Channel, m.Payload); ok {
			keep(notices, notice, Notice{Kind: NoticeMissed})
		}
	}
	go func() { // ends with ctx; the closed channel tells
		defer close(notices)
		c.heard.Listen(ctx, &connection.Listener{Channels: channels, Patterns: patterns, Deliver: deliver})
	}()
	return notices
}

// keep puts what was heard into a buffer that nobody else writes to, or into its last place that something
// was missed.
func keep[T any](buffer chan<- T, heard, missed T) {
	switch cap(buffer) - len(buffer) {
	case 0: // the news of what is missed is still to be read
	case 1:
		buffer <- missed
	default:
		buffer <- heard
	}
}

// workSetEvents is the pattern of channels on which the server tells of changes to the sets
// of waiting jobs.
func (c *Client) workSetEvents() string {
	return fmt.Sprintf("__keyspace@%d__:%sq:*-work", c.target.DB, wire.Literal(c.ns))
}

// notice reads one message.
func (c *Client) notice(channel, payload string) (Notice, bool) {
	if _, key, found := strings.Cut(channel, "__:"); found && strings.HasPrefix(channel, "__keyspace@") {
		name, found := strings.CutPrefix(key, c.ns+"q:")
		return Notice{Kind: NoticeWake, Queue: strings.TrimSuffix(name, "-work")}, found && payload == "zadd"
	}
	if channel == c.WakeChannel() {
		return Notice{Kind: NoticeWake, Queue: payload}, true
	}
	worker, found := strings.CutPrefix(channel, c.ns+"w:")
	var event struct{ JID, Event string }
	if !found || json.Unmarshal([]byte(payload), &event) != nil {
		return Notice{}, false
	}
	kind := NoticeKind(event.Event)
	if kind != NoticeLockLost && kind != NoticeCanceled {
		return Notice{}, false
	}
	return Notice{Kind: kind, JID: event.JID, Worker: worker}, true
}
