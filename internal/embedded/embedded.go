// Package embedded is a Redis inside this process, for trying Oarlock out and for
// tests: miniredis, with what its scripts lack compared to Redis supplied in front of
// each of them.
//
// It keeps everything in memory, answers on loopback only, and slows down as queues
// grow; it is no server for production.
package embedded

import (
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"
)

// tick is how often keys with a time to live are aged. miniredis can do so by the
// clock, but then looks at every key in every command.
const tick = 100 * time.Millisecond

// running are the servers of this process, by address.
var running sync.Map

// Here reports whether the Redis at url is a server of this process, which lives as long as its callers.
func Here(url string) bool {
	addr, _, _ := strings.Cut(strings.TrimPrefix(url, "redis://"), "/")
	_, is := running.Load(addr)
	return is
}

// Server is a running embedded Redis. It is safe for concurrent use.
type Server struct {
	mini    *miniredis.Miniredis
	scripts scripts
	clients clients
	started time.Time

	stop chan struct{} // closed by Close; ends the ageing of keys
	done sync.WaitGroup
	once sync.Once
}

// Start starts a server on addr, which is host:port of a loopback address; an empty
// addr means any free port on 127.0.0.1. The caller ends it with Close.
func Start(addr string) (*Server, error) {
	if addr == "" {
		addr = "127.0.0.1:0"
	}
	if err := loopback(addr); err != nil {
		return nil, err
	}
	s := &Server{mini: miniredis.NewMiniRedis(), started: time.Now(), stop: make(chan struct{})}
	if err := s.mini.StartAddr(addr); err != nil {
		return nil, fmt.Errorf("start the embedded Redis on %s: %w", addr, err)
	}
	s.mini.Server().SetPreHook(s.before)
	s.done.Go(s.age)
	running.Store(s.Addr(), nil)
	return s, nil
}

// loopback refuses an address that other machines could reach: the server has no
// password, and a script sent to it runs in this process.
func loopback(addr string) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("address of the embedded Redis: %w", err)
	}
	if host == "localhost" {
		return nil
	}
	if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
		return fmt.Errorf("address of the embedded Redis: %q is not a loopback address", addr)
	}
	return nil
}

// Addr is host:port of the server.
func (s *Server) Addr() string { return s.mini.Addr() }

// URL is what a client connects to, in any language.
func (s *Server) URL() string { return "redis://" + s.Addr() + "/0" }

// Close ends the server and its connections, and returns when both are gone. What was
// in memory is lost. It may be called more than once.
func (s *Server) Close() {
	s.once.Do(func() {
		running.Delete(s.Addr())
		close(s.stop)
	})
	s.done.Wait()
	s.mini.Close()
}

// age lets keys expire in real time.
func (s *Server) age() {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			s.mini.FastForward(tick)
		case <-s.stop:
			return
		}
	}
}
