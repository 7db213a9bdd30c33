package gate

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"oarlock/queue"
)

// TestARedisThatRefusesSomeCalls has pings and most calls answered while others are refused, as where our user lacks the right to one command: the gate
// closes and opens again, ever more seldom, and the log says it once.
func TestARedisThatRefusesSomeCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		g := New(func(context.Context) error { return nil }, slog.New(slog.NewTextHandler(&log, nil)), nil)
		ctx, end := context.WithCancel(t.Context())
		ran := make(chan struct{})
		go func() { g.Run(ctx); close(ran) }()
		defer func() { end(); <-ran }()
		began, opened := time.Now(), 0
		for time.Since(began) < time.Minute {
			<-g.Open()
			opened++
			g.Worked() // a renewal
			time.Sleep(time.Millisecond)
			g.Sort(fmt.Errorf("take: %w", queue.ErrAway))
		}
		if opened > 40 {
			t.Errorf("within a minute it was opened %d times", opened)
		}
		lines := strings.Split(strings.TrimSpace(log.String()), "\n")
		if n := len(lines) - 1; n == 3 && strings.Contains(lines[n], "redis still is away") { // it says so again once a minute
			lines = lines[:n]
			log.Reset()
			log.WriteString(strings.Join(lines, "\n") + "\n")
		}
		if len(lines) != 3 || !strings.Contains(lines[2], "redis is away") {
			t.Errorf("of that the log says\n%s", log.String())
		}
		<-g.Open()
		for range 3 { // now nothing is refused any more
			time.Sleep(time.Second)
			g.Worked()
		}
		g.Sort(fmt.Errorf("take: %w", queue.ErrAway))
		lines = strings.Split(strings.TrimSpace(log.String()), "\n")
		if len(lines) != 5 || !strings.Contains(lines[3], "redis is back") || !strings.Contains(lines[4], "redis is away") {
			t.Errorf("in the end the log says\n%s", log.String())
		}
	})
}
