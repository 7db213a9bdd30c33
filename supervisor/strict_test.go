package supervisor

import (
	"context"
	"log/slog"
	"testing"

	"oarlock/supervisor/internal/pool"
)

// strict is the log of a supervisor under test: a change that no table allows fails the test.
type strict struct {
	slog.Handler
	t *testing.T
}

// strictly returns log as one that fails t for mistakes of the supervisor; nil is none.
func strictly(t *testing.T, log *slog.Logger) *slog.Logger {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return slog.New(strict{log.Handler(), t})
}

func (s strict) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelError || s.Handler.Enabled(ctx, level)
}

func (s strict) Handle(ctx context.Context, r slog.Record) error {
	if r.Message == pool.Mistake {
		r.Attrs(func(a slog.Attr) bool {
			s.t.Errorf("%s: %s", pool.Mistake, a)
			return true
		})
	}
	if !s.Handler.Enabled(ctx, r.Level) {
		return nil
	}
	return s.Handler.Handle(ctx, r)
}

func (s strict) WithAttrs(attrs []slog.Attr) slog.Handler {
	return strict{s.Handler.WithAttrs(attrs), s.t}
}

func (s strict) WithGroup(name string) slog.Handler { return strict{s.Handler.WithGroup(name), s.t} }
