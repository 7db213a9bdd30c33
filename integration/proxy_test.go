package integration

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// proxy stands between supervisors and Redis and does to their connections what
// networks do. Its methods may be called from any goroutine; a fault lasts until
// heal, or the call that ends it.
type proxy struct {
	addr   string // where it listens: host:port
	target string // unix socket of the Redis behind it
	links  sync.WaitGroup

	mu       sync.Mutex
	listener net.Listener
	open     map[*link]bool
	faults   faults
	changed  chan struct{} // closed and replaced with each change of faults
	random   *rand.Rand
	lost     int // replies that were executed and then dropped
	dials    int
}

// faults are those in force. The zero value is a good network.
type faults struct {
	holdRequests bool // nothing passes to Redis; it waits, as TCP makes it wait
	holdReplies  bool
	holdEars     bool // nothing passes on connections that have subscribed
	lose         float64
	keep         float64 // share of a lost reply that passes before the cut
	delay        time.Duration
	jitter       time.Duration
	slice        int  // bytes written at once; 0: all
	bytesPerS    int  // in each direction; 0: no limit
	slam         bool // a connection is reset as soon as it was made
}

// link is one connection through the proxy.
type link struct {
	client, server net.Conn
	ear            bool // it has subscribed; guarded by proxy.mu
	doomed         bool // its next reply is to be lost; guarded by proxy.mu
	gone           chan struct{}
	once           sync.Once
}

func (l *link) cut() {
	l.once.Do(func() {
		close(l.gone)
		if c, ok := l.client.(*net.TCPConn); ok {
			c.SetLinger(0) // a reset, as from a host that died
		}
		l.client.Close()
		l.server.Close()
	})
}

// newProxy forwards a port on the loopback interface to a unix socket until the test ends.
func newProxy(t testing.TB, target string, seed uint64) *proxy {
	t.Helper()
	p := &proxy{
		addr: "127.0.0.1:0", target: target, open: make(map[*link]bool),
		changed: make(chan struct{}), random: rand.New(rand.NewPCG(seed, 0)),
	}
	if err := p.listen(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.refuse()
		p.links.Wait()
	})
	return p
}

func (p *proxy) listen() error {
	listener, err := net.Listen("tcp", p.addr)
	if err != nil {
		return err
	}
	p.mu.Lock()
	p.listener, p.addr = listener, listener.Addr().String()
	p.mu.Unlock()
	p.links.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			p.links.Go(func() { p.serve(client) })
		}
	})
	return nil
}

// refuse closes the port and all connections: nobody is there.
func (p *proxy) refuse() {
	p.mu.Lock()
	p.listener.Close()
	p.mu.Unlock()
	p.cut()
}

// accept ends refuse.
func (p *proxy) accept(t testing.TB) {
	t.Helper()
	if err := p.listen(); err != nil {
		t.Fatal(err)
	}
}

// cut resets all connections.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.open {
		l.cut()
	}
}

// inject puts faults in force, in place of those before.
func (p *proxy) inject(f faults) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults = f
	close(p.changed)
	p.changed = make(chan struct{})
}

// heal ends all faults.
func (p *proxy) heal() { p.inject(faults{}) }

// counts returns how many replies were lost and how many connections were made.
func (p *proxy) counts() (lost, dials int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lost, p.dials
}

func (p *proxy) serve(client net.Conn) {
	server, err := net.Dial("unix", p.target)
	if err != nil {
		client.Close()
		return
	}
	l := &link{client: client, server: server, gone: make(chan struct{})}
	p.mu.Lock()
	p.open[l] = true
	p.dials++
	if p.faults.slam {
		l.cut()
	}
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		delete(p.open, l)
		p.mu.Unlock()
	}()
	var both sync.WaitGroup
	both.Go(func() { p.pump(l, server, client, p.request) })
	both.Go(func() { p.pump(l, client, server, p.reply) })
	both.Wait()
}

// pump copies one direction. pass says what of a chunk may go on, after waiting as
// long as the faults in force ask for; an error cuts the link.
func (p *proxy) pump(l *link, to io.Writer, from io.Reader, pass func(*link, []byte) ([]byte, error)) {
	defer l.cut()
	chunk := make([]byte, 256<<10)
	for {
		n, err := from.Read(chunk)
		if n > 0 {
			pass, cut := pass(l, chunk[:n])
			if !p.write(l, to, pass) || cut != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

var (
	errLost = errors.New("this reply is to be lost")

	script    = []byte("EVALSHA")
	subscribe = []byte("SUBSCRIBE")
)

func (p *proxy) request(l *link, chunk []byte) ([]byte, error) {
	p.wait(l, func(f faults) bool { return f.holdRequests || f.holdEars && l.ear })
	p.mu.Lock()
	defer p.mu.Unlock()
	upper := bytes.ToUpper(chunk[:min(len(chunk), 200)])
	if bytes.Contains(upper, subscribe) {
		l.ear = true
	}
	if p.faults.lose > 0 && bytes.Contains(upper, script) && p.random.Float64() < p.faults.lose {
		l.doomed = true
	}
	return chunk, nil
}

func (p *proxy) reply(l *link, chunk []byte) ([]byte, error) {
	p.wait(l, func(f faults) bool { return f.holdReplies || f.holdEars && l.ear })
	p.mu.Lock()
	defer p.mu.Unlock()
	if l.doomed {
		p.lost++
		return chunk[:int(p.faults.keep*float64(len(chunk)))], errLost
	}
	return chunk, nil
}

// wait returns when held says no to the faults in force, or the link is gone.
func (p *proxy) wait(l *link, held func(faults) bool) {
	for {
		p.mu.Lock()
		hold, changed := held(p.faults), p.changed
		p.mu.Unlock()
		if !hold {
			return
		}
		select {
		case <-changed:
		case <-l.gone:
			return
		}
	}
}

// write writes as slowly as the faults in force ask for.
func (p *proxy) write(l *link, to io.Writer, chunk []byte) bool {
	p.mu.Lock()
	f, shake := p.faults, p.random.Float64()
	p.mu.Unlock()
	if f.delay > 0 && !l.sleep(f.delay+time.Duration(shake*float64(f.jitter))) {
		return false
	}
	for len(chunk) > 0 {
		n := len(chunk)
		if f.slice > 0 {
			n = min(n, f.slice)
		}
		if f.bytesPerS > 0 && !l.sleep(time.Duration(n)*time.Second/time.Duration(f.bytesPerS)) {
			return false
		}
		if _, err := to.Write(chunk[:n]); err != nil {
			return false
		}
		chunk = chunk[n:]
	}
	return true
}

// sleep reports whether the link outlived d.
func (l *link) sleep(d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-l.gone:
		return false
	}
}

// What the proxy claims to do it must do: execute, and drop the reply.
func TestProxyLosesRepliesOfWhatWasDone(t *testing.T) {
	r := newRig(t, 1, rigOptions{proxy: true})
	ctx := t.Context()
	c := redis.NewClient(&redis.Options{Addr: r.proxy.addr, MaxRetries: -1})
	defer c.Close()
	sha, err := c.ScriptLoad(ctx, "return redis.call('incr', 'n')").Result()
	if err != nil {
		t.Fatal(err)
	}
	r.proxy.inject(faults{lose: 1})
	if n, err := c.EvalSha(ctx, sha, nil).Result(); err == nil {
		t.Errorf("the reply came through: %v", n)
	}
	r.proxy.heal()
	if n, err := c.EvalSha(ctx, sha, nil).Int(); n != 2 || err != nil {
		t.Errorf("the second call = %d, %v; want 2: the first was executed", n, err)
	}
	if lost, _ := r.proxy.counts(); lost != 1 {
		t.Errorf("%d replies were lost, want 1", lost)
	}

	r.proxy.inject(faults{holdReplies: true})
	answer := make(chan error, 1)
	go func() { answer <- c.Ping(ctx).Err() }()
	select {
	case err := <-answer:
		t.Errorf("an answer came through a black hole: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	r.proxy.heal()
	if err := <-answer; err != nil {
		t.Errorf("after the black hole: %v", err)
	}

	r.proxy.refuse()
	if err := c.Ping(ctx).Err(); err == nil {
		t.Error("a refused connection answered")
	}
	r.proxy.accept(t)
	if err := c.Ping(ctx).Err(); err != nil {
		t.Errorf("after the port was opened again: %v", err)
	}
}
