package embedded

import (
	"bufio"
	"bytes"
	"crypto/sha1"
	_ "embed"
	"encoding/hex"
	"strings"
	"sync"

	"github.com/alicebob/miniredis/v2/server"
)

//go:embed prelude.lua
var preludeSource string

// prelude is preludeSource on one line, without its comments.
var prelude = oneLine(preludeSource)

// scripts knows under which SHA the server holds a script that a client knows under
// another: the server's text has the prelude in front.
type scripts struct {
	mu   sync.Mutex
	held map[string]string // SHA of the client's text → SHA of ours
}

// before is called with each command, and reports whether it has answered it. It may
// change args in place.
func (s *Server) before(peer *server.Peer, command string, args ...string) bool {
	if s.clients.gone(peer) {
		peer.Close()
		return true
	}
	switch command {
	case "EVAL", "EVAL_RO":
		if len(args) > 0 {
			args[0] = s.scripts.add(args[0])
		}
	case "EVALSHA", "EVALSHA_RO":
		if len(args) > 0 {
			args[0] = s.scripts.sha(args[0])
		}
	case "SCRIPT":
		return s.script(peer, args)
	case "CLIENT":
		return s.client(peer, args)
	case "INFO":
		return s.info(peer, args)
	case "CONFIG":
		return s.config(peer, args)
	}
	return false
}

func (s *Server) script(peer *server.Peer, args []string) bool {
	if len(args) < 2 {
		return false
	}
	switch strings.ToLower(args[0]) {
	case "exists":
		for i, sha := range args[1:] {
			args[i+1] = s.scripts.sha(sha)
		}
	case "load":
		if len(args) != 2 || strings.HasPrefix(args[1], prelude) {
			return false // the second is our own call below
		}
		reply := s.dispatch("SCRIPT", "LOAD", s.scripts.add(args[1]))
		if strings.HasPrefix(reply, "-") {
			peer.WriteError(strings.TrimSpace(reply[1:]))
		} else {
			peer.WriteBulk(sum(args[1]))
		}
		return true
	}
	return false
}

// dispatch runs a command as if a client had sent it, and gives the raw reply.
func (s *Server) dispatch(args ...string) string {
	var reply bytes.Buffer
	peer := server.NewPeer(bufio.NewWriter(&reply))
	s.mini.Server().Dispatch(peer, args)
	peer.Flush()
	return reply.String()
}

// add notes a client's script and gives the text that the server is to run.
func (s *scripts) add(script string) string {
	body := script
	if strings.HasPrefix(body, "#!") { // Redis reads that line, Lua cannot
		_, rest, _ := strings.Cut(body, "\n")
		body = "\n" + rest
	}
	ours := prelude + " return reply((function(...) " + body + "\nend)(...), 1)"
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held == nil {
		s.held = make(map[string]string)
	}
	s.held[sum(script)] = sum(ours)
	return ours
}

// sha gives the SHA under which the server holds the script that a client knows as sha.
func (s *scripts) sha(sha string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ours, ok := s.held[strings.ToLower(sha)]; ok {
		return ours
	}
	return sha
}

func sum(text string) string {
	digest := sha1.Sum([]byte(text))
	return hex.EncodeToString(digest[:])
}

func oneLine(source string) string {
	var out strings.Builder
	for line := range strings.Lines(source) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "--") {
			out.WriteString(line)
			out.WriteByte(' ')
		}
	}
	return out.String()
}
