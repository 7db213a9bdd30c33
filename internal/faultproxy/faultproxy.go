// Package faultproxy is a TCP proxy for tests that stands between a client and its
// Redis and does to them what networks do: it delays, cuts, refuses, holds bytes back, and
// lets the server execute a request whose reply then never comes.
package faultproxy

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Direction is the way that bytes go.
type Direction int

const (
	Requests Direction = iota // from the client to the server
	Replies                   // from the server to the client
)

// Proxy forwards connections. Its methods may be called from any goroutine at any time, and
// hold for connections that exist as well as for new ones.
type Proxy struct {
	Addr string // host:port to connect to
	URL  string // redis://Addr

	t       testing.TB
	dialed  atomic.Int64
	dropped atomic.Int64
	lost    atomic.Int64
	torn    atomic.Int64
	pumps   sync.WaitGroup

	mu        sync.Mutex
	listener  net.Listener
	network   string // of the target
	target    string
	links     map[*link]struct{}
	latency   time.Duration
	jitter    time.Duration
	slice     int
	bandwidth int
	held      [2]chan struct{} // non-nil while a direction is held; closed when it is let go
	drop      chance           // that a request is executed and its reply dropped
	lose      chance           // that a request does not arrive
	tear      chance           // that a reply is delivered in part
	intercept func(Direction, []byte) []byte
}

// chance picks some of the requests that contain match.
type chance struct {
	share  float64
	match  []byte
	random *rand.Rand
}

func newChance(share float64, match string, seed uint64) chance {
	return chance{share, bytes.ToLower([]byte(match)), rand.New(rand.NewPCG(seed, 0))}
}

func (c chance) picks(data []byte) bool {
	return c.share > 0 && bytes.Contains(bytes.ToLower(data), c.match) && c.random.Float64() < c.share
}

// link is one client's connection and ours to the server for it.
type link struct {
	client, server net.Conn
	gone           chan struct{} // closed by close
	once           sync.Once
	doomed         atomic.Bool // the next reply is not delivered
}

func (l *link) close() {
	l.once.Do(func() {
		close(l.gone)
		// A reset, as a network that breaks makes it, not an orderly end.
		if tcp, ok := l.client.(*net.TCPConn); ok {
			tcp.SetLinger(0)
		}
		l.client.Close()
		l.server.Close()
	})
}

// Start forwards to a server, such as network "unix" and a socket's path, until the test ends.
func Start(t testing.TB, network, target string) *Proxy {
	t.Helper()
	p := &Proxy{t: t, network: network, target: target, links: make(map[*link]struct{})}
	p.listen("127.0.0.1:0")
	t.Cleanup(func() {
		p.Refuse()
		p.Cut()
		p.Release(Requests)
		p.Release(Replies)
		p.pumps.Wait()
	})
	return p
}

// Dialed is how many connections were made so far.
func (p *Proxy) Dialed() int { return int(p.dialed.Load()) }

// Dropped is how many replies were dropped so far.
func (p *Proxy) Dropped() int { return int(p.dropped.Load()) }

// Lost is how many requests were lost so far.
func (p *Proxy) Lost() int { return int(p.lost.Load()) }

// Torn is how many replies were torn so far.
func (p *Proxy) Torn() int { return int(p.torn.Load()) }

// Retarget sends new connections elsewhere.
func (p *Proxy) Retarget(network, target string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.network, p.target = network, target
}

// Delay makes every piece of data wait, in both directions, for latency and up to jitter more.
func (p *Proxy) Delay(latency, jitter time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.latency, p.jitter = latency, jitter
}

// Slice delivers data in pieces of at most n bytes; 0 as it comes.
func (p *Proxy) Slice(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.slice = n
}

// Limit lets each connection carry so many bytes a second in each direction; 0 any number.
func (p *Proxy) Limit(bytesPerSecond int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.bandwidth = bytesPerSecond
}

// Drop picks, by chance, a share of the requests that contain match, such as "evalsha". The
// server executes them, and when it answers the connection is cut in place of a reply.
// The seed makes the choice repeatable as far as the order of requests is.
func (p *Proxy) Drop(share float64, match string, seed uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.drop = newChance(share, match, seed)
}

// Lose picks requests as Drop does, and cuts the connection before they reach the server.
func (p *Proxy) Lose(share float64, match string, seed uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lose = newChance(share, match, seed)
}

// Tear picks a share of the replies, delivers two fifths of each, and cuts its connection.
func (p *Proxy) Tear(share float64, seed uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tear = newChance(share, "", seed)
}

// tornPause lets a client read the part of a reply before the reset takes it away.
const tornPause = 5 * time.Millisecond

// Hold keeps back all bytes of one direction until Release, as a network does that has
// lost its way: nothing is closed, and what was sent arrives late.
func (p *Proxy) Hold(d Direction) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.held[d] == nil {
		p.held[d] = make(chan struct{})
	}
}

// Release ends Hold.
func (p *Proxy) Release(d Direction) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.held[d] != nil {
		close(p.held[d])
		p.held[d] = nil
	}
}

// Cut resets all connections.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		l.close()
	}
}

// Refuse makes new connections fail as if nobody listened. Those that exist go on.
func (p *Proxy) Refuse() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.listener != nil {
		p.listener.Close()
		p.listener = nil
	}
}

// Accept ends Refuse.
func (p *Proxy) Accept() {
	p.t.Helper()
	p.listen(p.Addr)
}

// Intercept passes everything through f, which returns what is to be delivered; nil ends it.
// It is called from many goroutines.
func (p *Proxy) Intercept(f func(Direction, []byte) []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.intercept = f
}

func (p *Proxy) listen(addr string) {
	p.t.Helper()
	l, err := net.Listen("tcp", addr)
	if err != nil {
		p.t.Fatal(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.listener, p.Addr = l, l.Addr().String()
	p.URL = "redis://" + p.Addr
	p.pumps.Go(func() { p.accept(l) })
}

// accept ends when the listener is closed.
func (p *Proxy) accept(l net.Listener) {
	for {
		client, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue // of this one connection
		}
		p.dialed.Add(1)
		p.mu.Lock()
		network, target := p.network, p.target
		p.mu.Unlock()
		server, err := net.Dial(network, target)
		if err != nil {
			client.Close()
			continue
		}
		link := &link{client: client, server: server, gone: make(chan struct{})}
		p.mu.Lock()
		p.links[link] = struct{}{}
		if p.listener != l {
			link.close() // refused since, and perhaps cut
		}
		p.mu.Unlock()
		p.pumps.Go(func() { p.pump(link, Requests, client, server) })
		p.pumps.Go(func() { p.pump(link, Replies, server, client) })
	}
}

// pump moves bytes one way until either end is closed.
func (p *Proxy) pump(l *link, d Direction, from, to net.Conn) {
	defer func() {
		l.close()
		p.mu.Lock()
		delete(p.links, l)
		p.mu.Unlock()
	}()
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 && !p.deliver(l, d, to, buffer[:n]) {
			return
		}
		if err != nil {
			return
		}
	}
}

// deliver reports whether the connection goes on.
func (p *Proxy) deliver(l *link, d Direction, to net.Conn, data []byte) bool {
	p.mu.Lock()
	held, slice, intercept := p.held[d], p.slice, p.intercept
	wait := p.latency
	if p.jitter > 0 {
		wait += time.Duration(rand.Int64N(int64(p.jitter)))
	}
	if p.bandwidth > 0 {
		wait += time.Duration(len(data)) * time.Second / time.Duration(p.bandwidth)
	}
	lost, torn := false, false
	if d == Replies {
		torn = p.tear.picks(data)
	} else {
		lost = p.lose.picks(data)
		if p.drop.picks(data) {
			l.doomed.Store(true)
		}
	}
	p.mu.Unlock()

	if lost {
		p.lost.Add(1)
		return false
	}

	if d == Replies && l.doomed.Load() {
		p.dropped.Add(1)
		return false
	}
	if held != nil {
		select {
		case <-held:
		case <-l.gone:
			return false
		}
	}
	if wait > 0 {
		select {
		case <-time.After(wait):
		case <-l.gone:
			return false
		}
	}
	if intercept != nil {
		data = intercept(d, data)
	}
	if torn {
		p.torn.Add(1)
		data = data[:len(data)*2/5]
	}
	if slice <= 0 {
		slice = max(1, len(data))
	}
	for len(data) > 0 {
		n := min(slice, len(data))
		if _, err := to.Write(data[:n]); err != nil {
			return false
		}
		data = data[n:]
	}
	if torn {
		time.Sleep(tornPause)
	}
	return !torn
}
