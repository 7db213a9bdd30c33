package web

import (
	"cmp"
	"crypto/sha256"
	"net/http"
	"sync"
	"time"
)

// sessions are the logins of browsers at one listener. A session is a random text in a cookie; only its hash is kept. It ends after
// sessionLife, by logout, when its token is removed from the file, and with the process. The
// zero value is ready. Its methods may be called by several goroutines at once.
type sessions struct {
	mu  sync.Mutex
	all map[[sha256.Size]byte]session
}

// session is one login.
type session struct {
	of    [sha256.Size]byte // the hash of the token; byKey: the key of the door
	until time.Time
}

// byKey stands in place of the hash of a token in sessions that a Key opened. No token has that hash.
var byKey [sha256.Size]byte

// How long a session lasts, and how many one token may have. One more ends the oldest.
const (
	sessionLife  = 12 * time.Hour
	mostSessions = 100
)

// open begins a session for a token with that hash, and gives the text of its cookie.
func (s *sessions) open(of [sha256.Size]byte) (cookie string) {
	now := time.Now()
	cookie = secret()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = map[[sha256.Size]byte]session{}
	}
	same, oldest := 0, [sha256.Size]byte{}
	for hash, one := range s.all {
		switch {
		case !one.until.After(now):
			delete(s.all, hash)
		case one.of == of:
			if same++; same == 1 || one.until.Before(s.all[oldest].until) {
				oldest = hash
			}
		}
	}
	if same >= mostSessions {
		delete(s.all, oldest)
	}
	s.all[sha256.Sum256([]byte(cookie))] = session{of, now.Add(sessionLife)}
	return cookie
}

// holder is the hash of the token that opened a session which has not ended.
func (s *sessions) holder(cookie string) (of [sha256.Size]byte, is bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one, is := s.all[sha256.Sum256([]byte(cookie))]
	return one.of, is && one.until.After(time.Now())
}

// end ends a session.
func (s *sessions) end(cookie string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, sha256.Sum256([]byte(cookie)))
}

// Beginnings of names of cookies that a browser takes only by TLS: from this very host and for all paths, or for some.
const (
	hostPrefix   = "__Host-"
	securePrefix = "__Secure-"
)

// cookieName is how the cookie of a session is called that is sent to all paths below prefix.
func (g *Gate) cookieName(r *http.Request, prefix string) string {
	switch {
	case !g.secure(r):
		return g.Cookie
	case prefix == "":
		return hostPrefix + g.Cookie
	}
	return securePrefix + g.Cookie
}

// cookie is the text of the cookie of a session, "" if there is none. Where browsers reach us by TLS, one without
// a prefix does not count: a page of another scheme, port or subdomain could have set it.
func (g *Gate) cookie(r *http.Request) string {
	if g.Cookie == "" {
		return ""
	}
	names := []string{hostPrefix + g.Cookie, securePrefix + g.Cookie, g.Cookie}
	if g.secure(r) {
		names = names[:2]
	}
	first := ""
	for _, name := range names {
		for _, c := range r.CookiesNamed(name) { // another port of this host, or a path, may have one of the same name
			if _, is := g.sessions.holder(c.Value); is {
				return c.Value
			}
			first = cmp.Or(first, c.Value)
		}
	}
	return first
}
