package cli

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"oarlock/internal/config"
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

func TestJSONLogIsReadable(t *testing.T) {
	var out bytes.Buffer
	log, level, queue := newLogger(&out, config.Log{Level: "info", Format: "auto"})
	log.Info("x", "after", 928*time.Millisecond, "signal", syscall.SIGTERM, "drain", 30*config.Duration(time.Second))
	flushed := make(chan struct{})
	queue.do(func() error { close(flushed); return nil })
	<-flushed
	for _, want := range []string{`"after":"928ms"`, `"signal":"terminated"`, `"drain":"30s"`} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s lacks %s", out.String(), want)
		}
	}
	out.Reset()
	setLevel(level, "error")
	log.Warn("x")
	if !queue.close() || out.Len() > 0 {
		t.Error("a changed level has no effect")
	}
}

// After a rotation moved the log file away, USR1 makes the process write to a new one.
func TestTheLogFileIsOpenedAgain(t *testing.T) {
	s := newScript(t, workFiles)
	path := filepath.Join(s.dir, "log")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	p := ready(t, s, "run")
	p.cmd.Stdout, p.cmd.Stderr = file, file
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	file.Close()
	t.Cleanup(func() { p.cmd.Process.Kill() })
	contains := func(path, text string) {
		t.Helper()
		for deadline := time.Now().Add(patience); ; {
			if content, _ := os.ReadFile(path); bytes.Contains(content, []byte(text)) {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("%s has no %q", path, text)
			}
			p.ask("status") // a round trip is a pause
		}
	}
	for deadline := time.Now().Add(patience); s.oarlock(exitOK, []string{"status"}) != nil; {
		if time.Now().After(deadline) {
			t.Fatal("it does not answer")
		}
	}
	contains(path, "ready")
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	p.signal(syscall.SIGUSR1)
	p.signal(syscall.SIGUSR2)
	contains(path, "quiet: no more jobs")
	if err := errors.Join(os.Rename(path, path+".2"), os.Mkdir(path, 0o755)); err != nil {
		t.Fatal(err)
	}
	p.signal(syscall.SIGUSR1)
	p.until("log goes on into the old file", "status")
	contains(path+".2", "could not be opened again")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	p.signal(syscall.SIGUSR1)
	p.signal(syscall.SIGCONT)
	contains(path, "resumed")
	if text := p.ask("status"); strings.Contains(text, "old file") {
		t.Errorf("status says %s", text)
	}
	p.signal(syscall.SIGTERM)
	if err := p.cmd.Wait(); err != nil {
		t.Error(err)
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
