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
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
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
	if !errors.Is(err, queue.ErrDoubt) {
		t.Errorf("a put without an answer: %v", err)
	}
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
