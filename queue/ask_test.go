package queue_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"oarlock/internal/redistest"
	"oarlock/queue"
)

// Whoever hears questions may answer each, and only who asked hears the answers.
func TestAskAndAnswer(t *testing.T) {
	onEachServer(t, func(t *testing.T, c *queue.Client) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		hearing, stop := context.WithCancel(ctx)
		first, second := c.Questions(hearing), c.Questions(hearing)
		const probe = "does it hear?"
		for _, questions := range []<-chan []byte{first, second} { // the second may begin to hear later than the client subscribes
			await(t, "one who hears questions", func() bool {
				ok(t, c.Redis().Publish(ctx, "ql:oarlock:ask", probe).Err())
				select {
				case <-questions:
					return true
				case <-time.After(100 * time.Millisecond):
					return false
				}
			})
		}
		asking, enough := context.WithCancel(ctx)
		answers, heard, err := c.Ask(asking, "a1", []byte("who?\x00\xff"))
		ok(t, err)
		equal(t, "heard by", heard, 1) // a client counts once, however many listen by it
		other, _, err := c.Ask(asking, "a2", []byte("else"))
		ok(t, err)
		for i, questions := range []<-chan []byte{first, second} {
			question := <-questions
			for string(question) == probe {
				question = <-questions
			}
			equal(t, "question", string(question), "who?\x00\xff")
			ok(t, c.Answer(ctx, "a1", fmt.Appendf(nil, "I, %d", i)))
		}
		got := []string{string(<-answers), string(<-answers)}
		slices.Sort(got)
		equal(t, "answers", got, []string{"I, 0", "I, 1"})
		enough()
		for range answers {
		}
		if answer, more := <-other; more {
			t.Errorf("the second question was answered with %q", answer)
		}
		stop()
		for _, questions := range []<-chan []byte{first, second} {
			for range questions { // ends when it is closed
			}
		}
		awaitNoSubscriber(t, c, "ql:oarlock:ask")
	})
}

// awaitNoSubscriber returns when nobody is left on a channel.
func awaitNoSubscriber(t *testing.T, c *queue.Client, channel string) {
	t.Helper()
	await(t, "the end of the subscription to "+channel, func() bool {
		counts, err := c.Redis().PubSubNumSub(t.Context(), channel).Result()
		return err == nil && counts[channel] == 0
	})
}

func TestWhatCannotBeAskedOrAnswered(t *testing.T) {
	server := redistest.Start(t)
	c := open(t, server)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for _, name := range []string{"", "a:b", "a b", "a\n", strings.Repeat("a", 65), "ü"} {
		if _, _, err := c.Ask(ctx, name, nil); queue.Class(err) != queue.Invalid {
			t.Errorf("asked as %q: %v", name, err)
		}
		if err := c.Answer(ctx, name, nil); queue.Class(err) != queue.Invalid {
			t.Errorf("answered to %q: %v", name, err)
		}
	}
	if err := c.Answer(ctx, "a", make([]byte, queue.MaxAnswer+1)); queue.Class(err) != queue.Invalid {
		t.Errorf("a long answer: %v", err)
	}
	answers, heard, err := c.Ask(ctx, "a", nil)
	stop(t, err != nil || heard != 0, "nobody is there: %d, %v", heard, err)
	ok(t, server.Client(t).Publish(ctx, "ql:oarlock:tell:a", make([]byte, queue.MaxAnswer+1)).Err())
	ok(t, c.Answer(ctx, "a", []byte("short")))
	equal(t, "the answer that is not too long", string(<-answers), "short")
	server.Kill()
	short, enough := context.WithTimeout(ctx, 100*time.Millisecond)
	defer enough()
	if _, _, err := c.Ask(short, "b", nil); !errors.Is(err, queue.ErrAway) {
		t.Errorf("of a Redis that is away: %v", err)
	}
}

// All that listen by one client share a connection, which ends with the last of them.
func TestListenersShareAConnection(t *testing.T) {
	server := redistest.Start(t)
	c, raw := open(t, server), server.Client(t)
	subscriptions := func() int {
		list := must(raw.Do(t.Context(), "CLIENT", "LIST", "TYPE", "pubsub").Text())(t)
		return strings.Count(list, "\n")
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	staying := c.Notices(ctx, "w")
	awaitSubscribers(t, c, c.WakeChannel())
	for range 3 {
		some, enough := context.WithCancel(ctx)
		questions := c.Questions(some)
		awaitSubscribers(t, c, "ql:oarlock:ask")
		equal(t, "connections that listen", subscriptions(), 1)
		enough()
		for range questions {
		}
		awaitNoSubscriber(t, c, "ql:oarlock:ask")
	}
	ok(t, raw.Publish(ctx, c.WakeChannel(), "q").Err())
	equal(t, "notice", <-staying, queue.Notice{Kind: queue.NoticeWake, Queue: "q"})
	stop()
	for range staying {
	}
	await(t, "the end of the connection", func() bool { return subscriptions() == 0 })
}
