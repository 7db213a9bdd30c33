package logging

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"syscall"
	"testing"

	"oarlock/internal/screentest"
	"time"
)

func TestLinesOfTheLog(t *testing.T) {
	tests := []struct {
		name    string
		handler lineHandler
		log     func(*slog.Logger)
		want    string // without the time
	}{
		{"plain", lineHandler{}, func(l *slog.Logger) { l.Info("ready", "pools", 2) }, "INFO  ready pools=2\n"},
		{"quoted where needed", lineHandler{}, func(l *slog.Logger) {
			l.Warn("x", "a", "two words", "b", "", "c", `q"`, "d", "line\nbreak", "e", "k=v", "f", "é")
		}, `WARN  x a="two words" b="" c="q\"" d="line\nbreak" e="k=v" f=é` + "\n"},
		{"journal", lineHandler{journal: true}, func(l *slog.Logger) { l.Error("gone", "err", errors.New("no")) }, "<3>gone err=no\n"},
		{"journal, warning", lineHandler{journal: true}, func(l *slog.Logger) { l.Warn("gone") }, "<4>gone\n"},
		{"with", lineHandler{}, func(l *slog.Logger) { l.With("pool", "mail").Info("x", "slot", 1) }, "INFO  x pool=mail slot=1\n"},
		{"groups", lineHandler{}, func(l *slog.Logger) {
			l.WithGroup("redis").With("a", 1).Info("x", slog.Group("b", "c", 2))
		}, "INFO  x redis.a=1 redis.b.c=2\n"},
		{"level", lineHandler{}, func(l *slog.Logger) { l.Debug("not this"); l.Info("this") }, "INFO  this\n"},
		{"duration", lineHandler{}, func(l *slog.Logger) { l.Info("x", "after", 90*time.Second) }, "INFO  x after=1m30s\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			tt.handler.out, tt.handler.level = &out, slog.LevelInfo
			tt.log(slog.New(&tt.handler))
			got := out.String()
			if !tt.handler.journal {
				_, got, _ = strings.Cut(got, " ")
			}
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// seconds are a number that has words.
type seconds int

func (s seconds) String() string { return fmt.Sprintf("%ds", int(s)) }

func TestJSONLogIsReadable(t *testing.T) {
	var out bytes.Buffer
	l := New(&out, "auto", "info")
	log := l.Logger()
	log.Info("x", "after", 928*time.Millisecond, "signal", syscall.SIGTERM, "drain", seconds(30))
	flushed := make(chan struct{})
	l.queue.do(func() error { close(flushed); return nil })
	<-flushed
	for _, want := range []string{`"after":"928ms"`, `"signal":"terminated"`, `"drain":"30s"`} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s lacks %s", out.String(), want)
		}
	}
	out.Reset()
	l.SetLevel("error")
	log.Warn("x")
	if !l.Close() || out.Len() > 0 {
		t.Error("a changed level has no effect")
	}
}

// TestAMessageIsNoField logs what a child may say in the hope to be taken for a line of ours.
func TestAMessageIsNoField(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(&lineHandler{out: &out, level: new(slog.LevelVar), journal: true})
	log.Info("attempt ended jid=precious outcome=failed", "jid", "mine")
	log.Info(`"a" message of ours`, "n", 1)
	log.Info(`the pool "p" is new`, "n", 1)
	want := `<6>"attempt ended jid=precious outcome=failed" jid=mine` + "\n" + `<6>"\"a\" message of ours" n=1` + "\n" + `<6>the pool "p" is new n=1` + "\n"
	if out.String() != want {
		t.Errorf("got %s, want %s", out.String(), want)
	}
}

// TestALineOfLogIsOneLine logs hostile messages, names and values in each format.
func TestALineOfLogIsOneLine(t *testing.T) {
	level := new(slog.LevelVar)
	var out bytes.Buffer
	for name, handler := range map[string]slog.Handler{
		"text":    newHandler(&out, &out, "text", level),
		"json":    newHandler(&out, &out, "json", level),
		"journal": &lineHandler{out: &out, level: level, journal: true},
	} {
		out.Reset()
		log := slog.New(handler).With(screentest.Hostile, screentest.Hostile).WithGroup(screentest.Hostile)
		log.Warn(screentest.Hostile, screentest.Hostile, screentest.Hostile, "err", errors.New(screentest.Hostile), "list", []string{screentest.Hostile})
		screentest.Clean(t, name, strings.TrimPrefix(out.String(), "<4>"))
		if n := strings.Count(out.String(), "\n"); n != 1 || !strings.HasSuffix(out.String(), "\n") {
			t.Errorf("%s: %d lines: %q", name, n, out.String())
		}
	}
}
