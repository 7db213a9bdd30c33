package web

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// guard sets what keeps a browser from doing with an answer what nobody meant. The referrer stays, for without it some
// browsers send no origin either.
func guard(h http.Header) {
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "+
		"form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}

// host refuses a request for a name that is not ours: a page of somebody else's whose name was made to lead here.
func (d *Door) host(r *http.Request) error {
	if d.Who != nil {
		return nil
	}
	name := strings.ToLower(r.Host)
	if host, _, err := net.SplitHostPort(name); err == nil {
		name = host
	}
	name = strings.TrimSuffix(strings.TrimSuffix(strings.TrimPrefix(name, "["), "]"), ".")
	if _, err := netip.ParseAddr(name); err == nil || name == "localhost" || strings.HasSuffix(name, ".localhost") {
		return nil
	}
	if slices.ContainsFunc(d.Hosts, func(host string) bool { return strings.EqualFold(host, name) }) {
		return nil
	}
	return problem(http.StatusMisdirectedRequest, "host", "this is not %s; if it is to be called so, add the name to web.hosts", shown(r.Host))
}

// ownHeader is a header that no page of others can send without asking us first, and we never allow it.
const ownHeader = "X-Oarlock"

// sameOrigin refuses a deed that the page of somebody else may have made a browser send along with what the browser knows.
// Who shows a token in a header is no browser. Requests of which nothing tells where they come from are refused, too.
func (d *Door) sameOrigin(r *http.Request, proof Proof) error {
	if d.Who != nil || proof == ByBearer || r.Header.Get(ownHeader) != "" {
		return nil
	}
	refused := problem(http.StatusForbidden, "cross_origin", "nothing proves that this comes from our own page; a program sends the header %s: 1, or its token as Authorization: Bearer", ownHeader)
	sites, origins := r.Header.Values("Sec-Fetch-Site"), r.Header.Values("Origin")
	switch {
	case len(sites) == 1: // the browser compared scheme, name and port; other ports of a name are "same-site"
		if sites[0] == "same-origin" || sites[0] == "none" {
			return nil
		}
	case len(sites) == 0 && len(origins) == 1:
		if d.ours(r, origins[0]) {
			return nil
		}
	}
	return refused
}

// ours reports whether an origin is one of the configuration, or the one at which a request came in.
func (d *Door) ours(r *http.Request, origin string) bool {
	origin = Origin(origin)
	return origin != "" && (slices.Contains(d.Origins, origin) || origin == Origin(d.Gate.scheme(r)+"://"+r.Host))
}

// Origin is an origin in the form in which origins are compared: scheme, name and port, without the port that the scheme has
// anyway. It is "" where the text is no origin.
func Origin(text string) string {
	u, err := url.Parse(strings.ToLower(text))
	if err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" || u.Scheme+"://"+u.Host != strings.ToLower(text) {
		return ""
	}
	if u.Scheme == "http" && u.Port() == "80" || u.Scheme == "https" && u.Port() == "443" {
		return strings.TrimSuffix(u.Scheme+"://"+u.Host, ":"+u.Port())
	}
	return u.Scheme + "://" + u.Host
}

// unprefixed is a request without the prefix of all paths, which a proxy may have cut off already.
func unprefixed(r *http.Request, prefix string) *http.Request {
	if prefix == "" || r.URL.Path != prefix && !strings.HasPrefix(r.URL.Path, prefix+"/") {
		return r
	}
	cut := func(path string) string {
		if path = strings.TrimPrefix(path, prefix); path == "" {
			return "/"
		}
		return path
	}
	u := *r.URL
	u.Path = cut(u.Path)
	if u.RawPath != "" {
		u.RawPath = cut(u.RawPath)
	}
	shorter := *r
	shorter.URL = &u
	return &shorter
}
