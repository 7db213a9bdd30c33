package faultproxy_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"oarlock/internal/faultproxy"
	"oarlock/internal/must"
	"oarlock/internal/redistest"
)

// inVain is how long an answer is waited for that must not come.
const inVain = 200 * time.Millisecond

func start(t *testing.T) (*faultproxy.Proxy, *redis.Client, *redis.Client) {
	t.Helper()
	s := redistest.Start(t)
	p := faultproxy.Start(t, "unix", s.Addr)
	through := redis.NewClient(&redis.Options{Addr: p.Addr, MaxRetries: -1, DialerRetries: 1, ReadTimeout: time.Minute})
	t.Cleanup(func() { through.Close() })
	return p, through, s.Client(t)
}

// executed waits until Redis has counted n to 1: the machine may be busy.
func executed(t *testing.T, direct *redis.Client) {
	t.Helper()
	for ends := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		n, _ := direct.Get(t.Context(), "n").Int()
		if n == 1 {
			return
		}
		if time.Now().After(ends) {
			t.Fatalf("executed %d times; want 1", n)
		}
	}
}

func TestDroppedReplyWasExecuted(t *testing.T) {
	p, through, direct := start(t)
	p.Drop(1, "incr", 1)
	if err := through.WithTimeout(inVain).Incr(t.Context(), "n").Err(); err == nil {
		t.Error("a dropped reply arrived")
	}
	executed(t, direct)
	if err := through.Ping(t.Context()).Err(); err != nil {
		t.Errorf("another command after it: %v", err)
	}
	if p.Dropped() != 1 {
		t.Errorf("%d replies dropped; want 1", p.Dropped())
	}
}

func TestLostRequestWasNotExecuted(t *testing.T) {
	p, through, direct := start(t)
	p.Lose(1, "incr", 1)
	if err := through.WithTimeout(inVain).Incr(t.Context(), "n").Err(); err == nil {
		t.Error("a lost request was answered")
	}
	if n := direct.Exists(t.Context(), "n").Val(); n != 0 || p.Lost() != 1 {
		t.Errorf("executed; %d requests lost, want 1", p.Lost())
	}
}

func TestTornReplyEndsTheConnection(t *testing.T) {
	p, through, direct := start(t)
	must.Do(t, through.Ping(t.Context()).Err())
	p.Tear(1, 1)
	if err := through.Incr(t.Context(), "n").Err(); err == nil {
		t.Error("a torn reply was read")
	}
	if n, _ := direct.Get(t.Context(), "n").Int(); n != 1 || p.Torn() != 1 {
		t.Errorf("executed %d times, %d replies torn; want 1 and 1", n, p.Torn())
	}
	p.Tear(0, 1)
	if err := through.Ping(t.Context()).Err(); err != nil {
		t.Errorf("another command after it: %v", err)
	}
}

func TestHeldRequestArrivesLate(t *testing.T) {
	p, through, direct := start(t)
	must.Do(t, through.Ping(t.Context()).Err())
	p.Hold(faultproxy.Replies)
	if err := through.WithTimeout(inVain).Incr(t.Context(), "n").Err(); err == nil {
		t.Error("a held reply arrived")
	}
	executed(t, direct)
	p.Release(faultproxy.Replies)
	if err := through.Ping(t.Context()).Err(); err != nil {
		t.Error(err)
	}
}

func TestRefuseAndAccept(t *testing.T) {
	p, through, _ := start(t)
	p.Refuse()
	p.Cut()
	if err := through.Ping(t.Context()).Err(); err == nil {
		t.Error("a refused connection was made")
	}
	p.Accept()
	if err := through.Ping(t.Context()).Err(); err != nil {
		t.Error(err)
	}
}

func TestInterceptRewrites(t *testing.T) {
	p, through, _ := start(t)
	p.Slice(1)
	must.Do(t, through.Set(t.Context(), "k", "hello", 0).Err())
	p.Slice(0)
	p.Intercept(func(d faultproxy.Direction, data []byte) []byte {
		if d == faultproxy.Replies {
			return bytes.ReplaceAll(data, []byte("hello"), []byte("howdy"))
		}
		return data
	})
	if got := through.Get(t.Context(), "k").Val(); got != "howdy" {
		t.Errorf("got %q", got)
	}
}
