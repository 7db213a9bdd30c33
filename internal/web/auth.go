package web

import (
	"crypto/sha256"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// Gate says who comes by a door that anybody may knock at. It must not be changed once it is in use.
type Gate struct {
	Tokens *Tokens // by Bearer, Basic and cookie, or, with Header, what users may
	Cookie string  // the name of the cookie that login leaves, to which a prefix may come; the same for no other door of this host
	Key    *Key    // lets in whoever has it, too; nil: there is none
	All    string  // lets everybody in, by this name, who may everything; "" does not

	Header  string         // of a proxy, which names the user; "" is none
	Proxies []netip.Prefix // where that, and X-Forwarded-Proto, are believed; nil is everywhere
	Secure  bool           // browsers reach the door by TLS, which may end before us

	wrong    wrongs
	sessions sessions
}

// Who is who asks. The error is a Problem.
func (g *Gate) Who(r *http.Request) (Caller, Proof, error) {
	if g.All != "" {
		return All(g.All), ByDoor, nil
	}
	if g.Header != "" {
		return g.proxied(r)
	}
	name, token, proof := g.shows(r)
	if proof == 0 {
		return Caller{}, 0, problem(http.StatusUnauthorized, "no_token", "say who you are: Authorization: Bearer TOKEN, or log in at /login")
	}
	if who, is := g.knows(name, token, proof); is {
		return who, proof, nil
	}
	if proof == ByCookie { // a session cannot be guessed, and browsers send old ones for a while after a restart
		return Caller{}, 0, problem(http.StatusUnauthorized, "wrong_token", "this session is over; log in again at /login")
	}
	return Caller{}, 0, g.refuse(r, noToken)
}

// still is who came by a request that was let in, if it would be let in now. It counts no token as a wrong one.
func (g *Gate) still(r *http.Request) (Caller, bool) {
	if g.All != "" || g.Header != "" {
		who, _, err := g.Who(r)
		return who, err == nil
	}
	return g.knows(g.shows(r))
}

// bearer is who shows a token by Authorization: Bearer; nothing else counts.
func (g *Gate) bearer(r *http.Request) (Caller, error) {
	_, token, proof := g.shows(r)
	if proof != ByBearer {
		return Caller{}, problem(http.StatusUnauthorized, "no_token", "say who you are: Authorization: Bearer TOKEN, or by the address that the job was given for its answer")
	}
	if who, is := g.knows("", token, ByBearer); is {
		return who, nil
	}
	return Caller{}, g.refuse(r, noToken)
}

// noToken is what refuse says of what may have been a token.
const noToken = "this token is not known here; it may have been taken out of the file"

// refuse says what is wrong with a token, and counts it.
func (g *Gate) refuse(r *http.Request, why string) error {
	if g.wrong.add(g.address(r), time.Now()) {
		p := problem(http.StatusTooManyRequests, "wrong_tokens", "too many wrong tokens came from there; try again in a minute")
		p.retry = 60
		return p
	}
	return problem(http.StatusUnauthorized, "wrong_token", "%s", why)
}

// knows is who has a token, or a session. Nobody has an empty token, whatever the file says.
func (g *Gate) knows(name, token string, proof Proof) (Caller, bool) {
	sum, is := sha256.Sum256([]byte(token)), true
	if proof == ByCookie {
		if sum, is = g.sessions.holder(token); is && sum == byKey && g.Key != nil {
			return All(g.Key.who), true
		}
	}
	if !is || token == "" || g.Tokens == nil {
		return Caller{}, false
	}
	return g.Tokens.bySum(name, sum)
}

// shows is the token or session that a request shows, the name that goes with it, and where it stands; 0 if it shows none.
func (g *Gate) shows(r *http.Request) (name, token string, proof Proof) {
	if name, token, is := r.BasicAuth(); is {
		return name, token, ByBasic
	}
	if kind, token, is := strings.Cut(r.Header.Get("Authorization"), " "); is && strings.EqualFold(kind, "Bearer") {
		return "", strings.TrimSpace(token), ByBearer
	}
	if session := g.cookie(r); session != "" {
		return "", session, ByCookie
	}
	return "", "", 0
}

// proxied is for whom a proxy vouches.
func (g *Gate) proxied(r *http.Request) (Caller, Proof, error) {
	if !g.believes(r) {
		return Caller{}, 0, problem(http.StatusUnauthorized, "no_proxy", "this address is none of web.proxies: come by the proxy, which says who you are")
	}
	names := r.Header.Values(g.Header)
	if len(names) != 1 || names[0] == "" || len(names[0]) > 256 {
		return Caller{}, 0, problem(http.StatusUnauthorized, "no_user", "the proxy names no user in %s", g.Header)
	}
	if g.Tokens == nil {
		return Caller{Name: names[0], Read: true, Write: true, named: true}, ByProxy, nil
	}
	if who, is := g.Tokens.byName(names[0]); is {
		return who, ByProxy, nil
	}
	return Caller{}, 0, problem(http.StatusForbidden, "no_right", "%s has no line in the file of tokens, and may nothing", shown(names[0]))
}

// believes reports whether a request comes from a proxy of ours.
func (g *Gate) believes(r *http.Request) bool {
	if g.Proxies == nil {
		return true
	}
	from, err := netip.ParseAddrPort(r.RemoteAddr)
	return err == nil && slices.ContainsFunc(g.Proxies, func(p netip.Prefix) bool { return p.Contains(from.Addr().Unmap()) })
}

// scheme is that by which a request came to us, or to a proxy of ours.
func (g *Gate) scheme(r *http.Request) string {
	if r.TLS != nil || strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https") && g.believes(r) {
		return "https"
	}
	return "http"
}

// secure reports whether a browser reaches us by TLS.
func (g *Gate) secure(r *http.Request) bool { return g.Secure || g.scheme(r) == "https" }

// address is whence a request comes, as wrong tokens are counted: of IPv6 the network.
func (g *Gate) address(r *http.Request) string {
	return networkOf(r.RemoteAddr)
}

// networkOf is the address of a remote end, of IPv6 the network; "" if it has none.
func networkOf(remote string) string {
	host, _, err := net.SplitHostPort(remote)
	if err != nil {
		return ""
	}
	address, err := netip.ParseAddr(host)
	if err != nil || address.Unmap().Is4() {
		return host
	}
	network, err := address.Prefix(64)
	if err != nil {
		return host
	}
	return network.String()
}
