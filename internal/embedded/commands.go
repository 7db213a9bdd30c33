package embedded

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2/server"
)

// version is what INFO names: the Redis whose scripting the prelude follows.
const version = "7.0.15"

// clients numbers the connections, so that one can end another: CLIENT ID and
// CLIENT KILL ID, which the fence of a worker needs.
type clients struct {
	mu     sync.Mutex
	last   int64
	ids    map[*server.Peer]int64
	killed map[*server.Peer]bool
}

// gone reports whether peer was killed: nothing it sends may run any more.
func (c *clients) gone(peer *server.Peer) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.killed[peer]
}

// id gives the number of peer, the same for as long as it is connected.
func (c *clients) id(peer *server.Peer) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if id, ok := c.ids[peer]; ok {
		return id
	}
	if c.ids == nil {
		c.ids = make(map[*server.Peer]int64)
		c.killed = make(map[*server.Peer]bool)
	}
	c.last++
	c.ids[peer] = c.last
	peer.OnDisconnect(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.ids, peer)
		delete(c.killed, peer)
	})
	return c.last
}

// kill ends the connection with that number; it gives how many there were.
func (c *clients) kill(id int64) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	for peer, its := range c.ids {
		if its == id {
			c.killed[peer] = true
			return 1
		}
	}
	return 0
}

// client answers the subcommands of CLIENT that miniredis lacks.
func (s *Server) client(peer *server.Peer, args []string) bool {
	if len(args) == 0 {
		return false
	}
	switch strings.ToUpper(args[0]) {
	case "ID":
		peer.WriteInt(int(s.clients.id(peer)))
	case "KILL":
		if len(args) < 3 || !strings.EqualFold(args[1], "ID") {
			return false
		}
		id, err := strconv.ParseInt(args[2], 10, 64)
		if err != nil {
			peer.WriteError("ERR client-id should be greater than 0")
			return true
		}
		peer.WriteInt(s.clients.kill(id))
	default:
		return false
	}
	return true
}

// info puts the server's section in front of what miniredis tells.
func (s *Server) info(peer *server.Peer, args []string) bool {
	section := ""
	if len(args) > 0 {
		section = strings.ToLower(args[0])
	}
	switch section {
	case "clients", "stats":
		return false
	}
	peer.WriteBulk(fmt.Sprintf("# Server\r\nredis_version:%s\r\nredis_mode:standalone\r\nredis_build_id:oarlock-embedded\r\nuptime_in_seconds:%d\r\n",
		version, int(time.Since(s.started).Seconds())))
	return true
}

// config answers CONFIG GET with nothing: there are no settings.
func (s *Server) config(peer *server.Peer, args []string) bool {
	if len(args) < 2 || !strings.EqualFold(args[0], "GET") {
		return false
	}
	peer.WriteMapLen(0)
	return true
}
