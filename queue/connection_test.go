package queue_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"oarlock/internal/faultproxy"
	"oarlock/internal/redistest"
	"oarlock/queue"
)

func TestScriptsAreLoadedAgain(t *testing.T) {
	server := redistest.Start(t)
	c, ctx, raw := open(t, server), t.Context(), server.Client(t)
	s := session(t, c, "w")
	for range 5 {
		ok(t, raw.ScriptFlush(ctx).Err())
		must(c.Put(ctx, queue.Put{Queue: "q", Klass: "K"}))(t)
		ok(t, raw.ScriptFlush(ctx).Err())
		reply, _ := take(t, s, queue.Take{Queues: []string{"q"}, Count: 5})
		equal(t, "taken", len(reply.Jobs), 1)
	}
}

func TestInstalledScriptIsThereForOthers(t *testing.T) {
	onEachServer(t, func(t *testing.T, c *queue.Client) {
		sha := must(c.Install(t.Context(), queue.Qless))(t)
		reply := must(c.Redis().EvalSha(t.Context(), sha, nil, "put", "1700000000", "w", "q", "j", "K", "[]", "0").Result())(t)
		equal(t, "reply", reply, any("j"))
		equal(t, "data", string(must(c.Get(t.Context(), "j"))(t).Data), "[]")
	})
}

func TestRedisAway(t *testing.T) {
	server := redistest.Start(t)
	c, ctx := open(t, server), t.Context()
	s := session(t, c, "w")
	must(c.Put(ctx, queue.Put{Queue: "q", JID: "j", Klass: "K"}))(t)
	server.Kill()
	for name, err := range map[string]error{
		"ping":     c.Ping(ctx),
		"put":      second(c.Put(ctx, queue.Put{Queue: "q", Klass: "K"})),
		"exchange": second(s.Exchange(ctx, nil, queue.Take{Queues: []string{"q"}, Count: 1})),
	} {
		if !errors.Is(err, queue.ErrAway) || queue.Class(err) != queue.Unreachable {
			t.Errorf("%s: %v (%v)", name, err, queue.Class(err))
		}
	}
	server.Restart()
	ok(t, c.Ping(ctx))
	take(t, s, queue.Take{Queues: []string{"q"}, Count: 1})
}

func TestSubscriptionsComeBack(t *testing.T) {
	server := redistest.Start(t)
	c, ctx := open(t, server), t.Context()
	notices := c.Notices(ctx, "w")
	awaitSubscribers(t, c, c.WakeChannel())
	server.Kill()
	if err := c.Ping(ctx); !errors.Is(err, queue.ErrAway) {
		t.Fatal(err)
	}
	server.Restart()
	ok(t, c.Ping(ctx)) // which tells the subscription
	awaitSubscribers(t, c, c.WakeChannel())
	must(c.Put(ctx, queue.Put{Queue: "q", Klass: "K"}))(t)
	equal(t, "notice", <-notices, queue.Notice{Kind: queue.NoticeWake, Queue: "q"})
}

// A reader that is behind is told so, behind all that it has still to read.
func TestASlowReaderIsToldThatItMissedSome(t *testing.T) {
	c, ctx := open(t, redistest.Start(t)), t.Context()
	notices := c.Notices(ctx, "w")
	awaitSubscribers(t, c, c.WakeChannel())
	must(c.Redis().Pipelined(ctx, func(p redis.Pipeliner) error {
		for range 2 * cap(notices) {
			p.Publish(ctx, c.WakeChannel(), "q")
		}
		return nil
	}))(t)
	for len(notices) < cap(notices) {
		runtime.Gosched() // the test's own time limit is the bound
	}
	for range cap(notices) - 1 {
		equal(t, "notice", <-notices, queue.Notice{Kind: queue.NoticeWake, Queue: "q"})
	}
	equal(t, "last notice", <-notices, queue.Notice{Kind: queue.NoticeMissed})
}

// TestOutageIsNotDialedInto sees that only calls dial: the driver by itself would, after a few
// failures, do so once a second for each of its pools.
func TestOutageIsNotDialedInto(t *testing.T) {
	var dials atomic.Int64
	c := must(queue.Open(t.Context(), queue.Options{URL: "redis://h", PoolSize: 1,
		Dialer: func(context.Context, string, string) (net.Conn, error) {
			dials.Add(1)
			return nil, errors.New("nobody there")
		}}))(t)
	defer c.Close()
	for i := range int64(5) {
		err := c.Ping(t.Context())
		if queue.Class(err) != queue.Unreachable || !strings.Contains(err.Error(), "connect to h:6379: nobody there") {
			t.Errorf("ping: %v (%v)", err, queue.Class(err))
		}
		if n := dials.Load(); n != i+1 {
			t.Errorf("%d dials for %d calls", n, i+1)
		}
	}
}

func TestPutWithoutAnAnswer(t *testing.T) {
	server := redistest.Start(t)
	proxy := faultproxy.Start(t, "unix", server.Addr)
	c, ctx := openURL(t, proxy.URL), t.Context()
	must(c.Put(ctx, queue.Put{Queue: "q", Klass: "K"}))(t)

	// Named by the caller: it may have been put, and only the caller knows if it may be again.
	proxy.Drop(1, "evalsha", 1)
	_, err := c.Put(ctx, queue.Put{Queue: "q", JID: "j", Klass: "K"})
	never(t, !errors.Is(err, queue.ErrDoubt), "a put without an answer: %v", err)
	proxy.Drop(0, "", 0)
	results := must(c.PutAll(ctx, []queue.Put{{Queue: "q", JID: "j", Klass: "K", IfExists: queue.Never}}))(t)
	equal(t, "once more", results, []queue.PutResult{{JID: "j", Existed: true, State: "waiting"}})

	// Named by us: it is put once, and the caller learns nothing of the trouble.
	proxy.Drop(0.5, "evalsha", 3)
	puts := 0
	for range 40 {
		if _, err := c.Put(ctx, queue.Put{Queue: "mine", Klass: "K"}); err == nil {
			puts++
		} else if !errors.Is(err, queue.ErrDoubt) {
			t.Fatal(err)
		}
	}
	proxy.Drop(0, "", 0)
	if puts < 20 || puts == 40 || proxy.Dropped() < 10 {
		t.Errorf("%d puts of 40 went well with %d replies dropped; want most, not all", puts, proxy.Dropped())
	}
	if n := must(c.Length(ctx, "mine"))(t); n > 40 {
		t.Errorf("%d jobs from 40 puts", n)
	}
}

func TestMissingReplicasAreLogged(t *testing.T) {
	var log bytes.Buffer
	server := redistest.Start(t)
	c := must(queue.Open(t.Context(), queue.Options{URL: server.URL, WaitReplicas: 1,
		Logger: slog.New(slog.NewTextHandler(&log, nil))}))(t)
	defer c.Close()
	s := session(t, c, "w")
	putAll(t, open(t, server), queue.Put{Queue: "q", Klass: "K"})
	reply, _ := take(t, s, queue.Take{Queues: []string{"q"}, Count: 1})
	ok(t, settle(t, s, reply.Jobs[0], queue.Settlement{Action: queue.Complete}).Err)
	if !strings.Contains(log.String(), "replicas") {
		t.Errorf("logged %q", log.String())
	}
}

func TestTLS(t *testing.T) {
	dir := t.TempDir()
	cert, key := selfSigned(t, dir)
	port := redistest.Port(t)
	redistest.Start(t, "--tls-port", port, "--tls-cert-file", cert, "--tls-key-file", key, "--tls-ca-cert-file", cert)
	url := "rediss://127.0.0.1:" + port

	c := must(queue.Open(t.Context(), queue.Options{URL: url, TLSCA: cert, TLSCert: cert, TLSKey: key}))(t)
	defer c.Close()
	workOff(t, c)

	stranger := must(queue.Open(t.Context(), queue.Options{URL: url}))(t)
	defer stranger.Close()
	if err := stranger.Ping(t.Context()); err == nil {
		t.Error("a certificate that nobody vouches for was trusted")
	}
	if _, err := queue.Open(t.Context(), queue.Options{URL: url, TLSCA: key}); err == nil || !strings.Contains(err.Error(), "no PEM certificate") {
		t.Errorf("a key in place of a certificate: %v", err)
	}
}

// selfSigned writes a certificate for 127.0.0.1, which is its own authority, and its key.
func selfSigned(t *testing.T, dir string) (certFile, keyFile string) {
	t.Helper()
	key := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "redis"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	cert := must(x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key))(t)
	secret := must(x509.MarshalPKCS8PrivateKey(key))(t)
	certFile, keyFile = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	ok(t, os.WriteFile(certFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert}), 0o600))
	ok(t, os.WriteFile(keyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), 0o600))
	return certFile, keyFile
}

// TestOutOfMemory fills the server: what ends a job and what keeps its lock still works,
// what begins one does not.
func TestOutOfMemory(t *testing.T) {
	server := redistest.Start(t)
	c, ctx, raw := open(t, server), t.Context(), server.Client(t)
	s := session(t, c, "w")
	for range 5 {
		putAll(t, c, queue.Put{Queue: "q", Klass: "K", Retries: ptr(0)})
	}
	reply, _ := take(t, s, queue.Take{Queues: []string{"q"}, Count: 4})
	ok(t, raw.ConfigSet(ctx, "maxmemory", "1").Err())

	_, err := s.Exchange(ctx, nil, queue.Take{Queues: []string{"q"}, Count: 1})
	if !errors.Is(err, queue.ErrAway) || queue.Class(err) != queue.Memory {
		t.Errorf("a take: %v (%v)", err, queue.Class(err))
	}
	if _, err := c.Put(ctx, queue.Put{Queue: "q", Klass: "K"}); queue.Class(err) != queue.Memory {
		t.Errorf("a put: %v", err)
	}
	var items []queue.RenewItem
	for _, job := range reply.Jobs {
		items = append(items, queue.RenewItem{JID: job.JID, Queue: "q", Popped: job.Popped, Checkpoint: []byte(`"here"`)})
	}
	renewals := must(s.Renew(ctx, items))(t)
	for i, r := range renewals {
		never(t, r.Err != nil || r.Expires <= reply.Jobs[i].Expires, "a renewal: until %v, %v", r.Expires, r.Err)
	}
	if _, err := c.Heartbeat(ctx, reply.Jobs[0].JID, "w"); err != nil {
		t.Errorf("a heartbeat: %v", err)
	}
	for i, settlement := range []queue.Settlement{
		{Action: queue.Complete},
		{Action: queue.Fail, Group: "g", Message: "m"},
		{Action: queue.Retry},
		{Action: queue.Release, Counter: queue.CountCrash, MaxCrashes: 3},
	} {
		if r := settle(t, s, reply.Jobs[i], settlement); r.Err != nil {
			t.Errorf("%s: %v", settlement.Action, r.Err)
		}
	}
}

// Every command is told with what came of it: one that was answered, and one that found Redis away.
func TestCallsAreTold(t *testing.T) {
	server := redistest.Start(t)
	var mu sync.Mutex
	var told []string
	c, err := queue.Open(t.Context(), queue.Options{URL: server.URL, OnCall: func(command string, took time.Duration, class queue.ErrorClass) {
		mu.Lock()
		defer mu.Unlock()
		never(t, took <= 0 || took > time.Minute, "%s took %v", command, took)
		told = append(told, fmt.Sprint(command, " ", class))
	}})
	ok(t, err)
	t.Cleanup(func() { c.Close() })
	since := func() []string {
		mu.Lock()
		defer mu.Unlock()
		defer func() { told = nil }()
		return slices.Clone(told)
	}
	ctx := context.Background()
	s := c.Session("w")
	must(c.Put(ctx, queue.Put{Queue: "q", Klass: "K"}))(t)
	must(s.Exchange(ctx, nil, queue.Take{Queues: []string{"q"}, Count: 1}))(t)
	first := slices.Compact(since()) // the clock is measured several times at first
	equal(t, "what was told", first, []string{"time success", "put success", "exchange success"})
	renewed := must(s.Renew(ctx, []queue.RenewItem{{JID: "none", Queue: "q"}}))(t)
	never(t, renewed[0].Err == nil, "a lock was renewed that is none")
	server.Stop()
	if err := c.Ping(ctx); !errors.Is(err, queue.ErrAway) {
		t.Errorf("a Redis that is gone answers %v", err)
	}
	if got := since(); got[len(got)-1] != "time unreachable" || !slices.Contains(got, "renew success") {
		t.Errorf("told was %v", got)
	}
}

// Writable finds out each way in which a Redis that answers takes no writes, and writes nothing.
func TestWritable(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	ok(t, os.Mkdir(data, 0o755))
	c, ctx := open(t, redistest.Start(t, "--dir", data, "--save", "3600 1", "--appendonly", "no")), t.Context()
	do := func(words ...any) error { return c.Redis().Do(ctx, words...).Err() }
	is := func(what string, want queue.ErrorClass) {
		t.Helper()
		if err := c.Writable(ctx); queue.Class(err) != want {
			t.Errorf("%s: %v (%v), want class %v", what, err, queue.Class(err), want)
		}
	}
	is("as it is", queue.Success)
	for _, tt := range []struct {
		what       string
		begin, end []any
		want       queue.ErrorClass
	}{
		{"a replica", []any{"REPLICAOF", "127.0.0.1", "1"}, []any{"REPLICAOF", "NO", "ONE"}, queue.ReadOnly},
		{"too few replicas", []any{"CONFIG", "SET", "min-replicas-to-write", "1"}, []any{"CONFIG", "SET", "min-replicas-to-write", "0"}, queue.Disk},
		{"no memory", []any{"CONFIG", "SET", "maxmemory", "1"}, []any{"CONFIG", "SET", "maxmemory", "0"}, queue.Memory},
	} {
		ok(t, do(tt.begin...))
		is(tt.what, tt.want)
		ok(t, do(tt.end...))
		is("after "+tt.what, queue.Success)
	}
	if n, err := c.Redis().DBSize(ctx).Result(); err != nil || n != 0 {
		t.Errorf("%d keys were written, %v", n, err)
	}
	ok(t, os.RemoveAll(data))
	ok(t, do("BGSAVE"))
	for end := time.Now().Add(time.Minute); queue.Class(c.Writable(ctx)) != queue.Disk; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			is("no disk", queue.Disk)
			break
		}
	}
	if err := do("ACL", "SETUSER", "default", "-zadd"); err == nil {
		_ = do("CONFIG", "SET", "stop-writes-on-bgsave-error", "no")
		is("not allowed to ask", queue.Success)
	}
	ok(t, c.Close())
	is("closed", queue.Unreachable)
}
