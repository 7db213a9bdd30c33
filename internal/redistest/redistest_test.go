package redistest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
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

// Tests that share the server do not see each other's keys, whether they are told by URL or by Client.
func TestSharedIsADatabaseOfItsOwn(t *testing.T) {
	one, other := Shared(t), Shared(t)
	if one.Addr != other.Addr {
		t.Fatalf("two servers: %s, %s", one.Addr, other.Addr)
	}
	options, err := redis.ParseURL(one.URL)
	if err != nil {
		t.Fatal(err)
	}
	byURL := redis.NewClient(options)
	defer byURL.Close()
	if err := byURL.Set(t.Context(), "k", "v", 0).Err(); err != nil {
		t.Fatal(err)
	}
	if got := one.Client(t).Get(t.Context(), "k").Val(); got != "v" {
		t.Errorf("its own client sees k = %q, want v", got)
	}
	if n := other.Client(t).DBSize(t.Context()).Val(); n != 0 {
		t.Errorf("the other database has %d keys", n)
	}
}

// The shared server and its directory are gone soon after the process that started it.
func TestSharedEndsWithItsProcess(t *testing.T) {
	if os.Getenv("OARLOCK_TEST_SHARED") == "1" {
		fmt.Println("ADDR", Shared(t).Addr)
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run", "^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), "OARLOCK_TEST_SHARED=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	found := regexp.MustCompile(`ADDR (\S+)`).FindSubmatch(out)
	if found == nil {
		t.Fatalf("no address in %s", out)
	}
	dir := filepath.Dir(string(found[1]))
	for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s is still there", dir)
		}
	}
}
