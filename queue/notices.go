package queue

import (
	"context"
	"encoding/json"
	"strings"
)

// noticeBuffer is how many notices wait for a slow reader before more are dropped.
const noticeBuffer = 256

// WakeChannel is where a put of ours publishes the queue's name.
func (c *Client) WakeChannel() string { return c.ns + "oarlock:wake" }

// Notices listens, over one connection, for what Redis tells these workers about their
// jobs, and for puts into any queue. The channel is closed after ctx ends.
//
// It connects, and after a break reconnects, by itself. A notice is a hint only: while
// nobody listens they are lost, and a slow reader loses some.
func (c *Client) Notices(ctx context.Context, workers ...string) <-chan Notice {
	channels := []string{c.WakeChannel()}
	for _, w := range workers {
		channels = append(channels, c.ns+"w:"+w)
	}
	sub := c.redis.Subscribe(ctx, channels...)
	messages := sub.Channel()
	notices := make(chan Notice, noticeBuffer)
	go func() { // ends with ctx; the closed channel tells
		defer close(notices)
		defer sub.Close()
		for {
			select {
			case <-ctx.Done():
				return
			case m, open := <-messages:
				if !open {
					return
				}
				notice, ok := c.notice(m.Channel, m.Payload)
				if !ok {
					continue
				}
				select {
				case notices <- notice:
				default: // the reader is behind; what is queued will make it look
				}
			}
		}
	}()
	return notices
}

// notice reads one message.
func (c *Client) notice(channel, payload string) (Notice, bool) {
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
