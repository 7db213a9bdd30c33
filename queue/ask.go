package queue

import (
	"context"
	"fmt"
	"regexp"

	"github.com/redis/go-redis/v9"

	"oarlock/queue/internal/connection"
)

const (
	// MaxAnswer is how long an answer may be, in bytes: a longer one is not told, and one of others is not heard.
	MaxAnswer = 256 << 10

	questionBuffer, answerBuffer = 64, 256 // how many wait for a slow reader; others are dropped
)

// askName is what a question is called, and where its answers go.
var askName = regexp.MustCompile(`^[0-9a-zA-Z]{1,64}$`)

func (c *Client) askChannel() string           { return c.ns + "oarlock:ask" }
func (c *Client) tellChannel(id string) string { return c.ns + "oarlock:tell:" + id }

// Ask publishes a question to all that hear Questions in the namespace, and gives what they Answer to id until ctx
// ends, which must have an end; then the channel is closed. An id is of 1 to 64 letters and digits, and made anew
// for each question: see NewJID. heard is how many hear the question, −1 where nobody can
// know, because each node of a cluster counts for itself.
//
// Whoever may publish in the namespace may answer, as often as he likes: an answer is to be
// read with care. Nothing of it is kept in Redis. An error is of class Unreachable, Denied or another of ErrAway, or Invalid.
func (c *Client) Ask(ctx context.Context, id string, question []byte) (answers <-chan []byte, heard int, err error) {
	if !askName.MatchString(id) {
		return nil, 0, fmt.Errorf("%q is no name for a question", id)
	}
	listening, stop := context.WithCancel(ctx)
	ready, told := make(chan struct{}), make(chan []byte, answerBuffer)
	go func() { // ends with ctx; the closed channel tells
		defer close(told)
		c.heard.Listen(listening, &connection.Listener{Channels: []string{c.tellChannel(id)}, Ready: ready, Deliver: func(m *redis.Message) {
			if len(m.Payload) > MaxAnswer {
				return
			}
			select {
			case told <- []byte(m.Payload):
			default:
			}
		}})
	}()
	defer func() {
		if err != nil {
			stop()
			for range told { // until nobody listens
			}
		}
	}()
	select {
	case <-ready:
	case <-ctx.Done():
		return nil, 0, &redisError{Unreachable, fmt.Errorf("ask: Redis does not let us listen: %w", ctx.Err())}
	}
	n, err := c.redis.Publish(ctx, c.askChannel(), question).Result()
	err = harmless(classify("ask", err))
	c.noteReach(err)
	if err != nil {
		return nil, 0, err
	}
	if c.cluster {
		n = -1
	}
	return told, int(n), nil
}

// Questions hears what others Ask in the namespace until ctx ends; then the channel is closed. Questions that
// nobody reads in time, and those asked while the connection is broken, are lost.
func (c *Client) Questions(ctx context.Context) <-chan []byte {
	asked := make(chan []byte, questionBuffer)
	go func() { // ends with ctx; the closed channel tells
		defer close(asked)
		c.heard.Listen(ctx, &connection.Listener{Channels: []string{c.askChannel()}, Deliver: func(m *redis.Message) {
			select {
			case asked <- []byte(m.Payload):
			default:
			}
		}})
	}()
	return asked
}

// Answer tells whoever asked the question id. It is an error if that is no name, as hostile questions have, or if the
// answer is longer than MaxAnswer. That nobody listens any more is none.
func (c *Client) Answer(ctx context.Context, id string, answer []byte) error {
	if !askName.MatchString(id) {
		return fmt.Errorf("%q is no name of a question", id)
	}
	if len(answer) > MaxAnswer {
		return fmt.Errorf("an answer of %d bytes is longer than %d", len(answer), MaxAnswer)
	}
	err := harmless(classify("answer", c.redis.Publish(ctx, c.tellChannel(id), answer).Err()))
	c.noteReach(err)
	return err
}
