package redistest

import (
	"context"
	"testing"
	"time"
)

func TestDataSurvivesKillWithAOF(t *testing.T) {
	s := Start(t, append(AOF, "--appendfsync", "always")...)
	c, ctx := s.Client(t), t.Context()
	if err := c.Set(ctx, "k", "v", 0).Err(); err != nil {
		t.Fatal(err)
	}
	s.Kill()
	if err := c.Get(ctx, "k").Err(); err == nil {
		t.Fatal("a killed server answered")
	}
	s.Restart()
	if got := c.Get(ctx, "k").Val(); got != "v" {
		t.Errorf("after restart k = %q, want v", got)
	}
}

func TestPauseStopsAnswers(t *testing.T) {
	s := Start(t)
	c := s.Client(t)
	if err := c.Ping(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	s.Pause()
	short := c.WithTimeout(50 * time.Millisecond)
	if err := short.Ping(context.Background()).Err(); err == nil {
		t.Error("a paused server answered")
	}
	s.Resume()
	if err := c.Ping(t.Context()).Err(); err != nil {
		t.Error(err)
	}
}
