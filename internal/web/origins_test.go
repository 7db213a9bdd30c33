package web

import (
	"crypto/tls"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
)

// Only our own page may change something with what a browser sends by itself: one of the origins of the configuration, or the very
// scheme, name and port at which the request came in. Another port or scheme of one of our names is somebody else, and so is
// whatever Sec-Fetch-Site does not call ours.
func TestOwnOrigins(t *testing.T) {
	a, _ := quietly(aSupervisor())
	_, line, err := NewToken("anna", "write")
	if err != nil {
		t.Fatal(err)
	}
	proxies := []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")} // httptest comes from there
	for _, test := range []struct {
		name    string
		host    string // of the request
		origin  string // "" sends none
		fetch   string // Sec-Fetch-Site; "" sends none
		forward string // X-Forwarded-Proto
		tls     bool
		proxies []netip.Prefix
		lets    bool
	}{
		{name: "its own", host: "jobs.example:7733", origin: "http://jobs.example:7733", lets: true},
		{name: "its own, by an address", host: "10.0.0.7:7733", origin: "http://10.0.0.7:7733", lets: true},
		{name: "its own, with the port that http has", host: "jobs.example", origin: "http://jobs.example:80", lets: true},
		{name: "its own, in other letters", host: "JOBS.example", origin: "http://jobs.EXAMPLE", lets: true},
		{name: "its own, by TLS", host: "jobs.example", origin: "https://jobs.example", tls: true, lets: true},
		{name: "that of url", host: "127.0.0.1:7733", origin: "https://jobs.example", lets: true},
		{name: "one of hosts, with its port", host: "127.0.0.1:7733", origin: "https://old.example:8443", lets: true},
		{name: "another port of one of our names", host: "jobs.example:7801", origin: "http://jobs.example:7850"},
		{name: "another port of a loopback name", host: "localhost:7801", origin: "http://localhost:7850"},
		{name: "another port of an address", host: "10.0.0.7:7801", origin: "http://10.0.0.7:7850"},
		{name: "another port of url's name", host: "jobs.example", origin: "https://jobs.example:8443"},
		{name: "another scheme of it", host: "jobs.example", origin: "http://jobs.example", tls: true},
		{name: "another scheme of one of hosts", host: "old.example:8443", origin: "http://old.example:8443", tls: true},
		{name: "one of hosts without its port", host: "127.0.0.1:7733", origin: "https://old.example"},
		{name: "a name of hosts, asked by another name", host: "127.0.0.1:7733", origin: "http://bare.example:7733"},
		{name: "somebody else", host: "jobs.example", origin: "http://evil.example"},
		{name: "null", host: "jobs.example", origin: "null"},
		{name: "no origin", host: "jobs.example", origin: "http://"},
		{name: "with a path", host: "jobs.example", origin: "http://jobs.example/x"},
		{name: "with a user", host: "jobs.example", origin: "http://evil@jobs.example"},
		{name: "https by a proxy of ours", host: "bare.example", origin: "https://bare.example", forward: "https", proxies: proxies, lets: true},
		{name: "https by a proxy of ours, from http", host: "bare.example", origin: "http://bare.example", forward: "https", proxies: proxies},
		{name: "https by somebody who says so", host: "bare.example", origin: "https://bare.example", forward: "https", proxies: []netip.Prefix{}},
		{name: "the browser says it is ours", host: "127.0.0.1:7733", origin: "https://behind.example", fetch: "same-origin", lets: true},
		{name: "the user did it", host: "127.0.0.1:7733", fetch: "none", lets: true},
		{name: "another port, as the browser says", host: "jobs.example:7801", origin: "http://jobs.example:7850", fetch: "same-site"},
		{name: "our url, as the browser does not say", host: "jobs.example", origin: "https://jobs.example", fetch: "same-site"},
		{name: "our own, as the browser does not say", host: "localhost", origin: "http://localhost", fetch: "cross-site"},
		{name: "a word that we do not know", host: "localhost", origin: "http://localhost", fetch: "same-planet"},
		{name: "nothing", host: "jobs.example"},
	} {
		gate := &Gate{Tokens: tokensOf(t, line), Key: NewKey("anna", false), Cookie: "c", Proxies: test.proxies}
		door := &Door{Name: "test", Gate: gate, Hosts: []string{"jobs.example", "old.example", "bare.example"}, Origins: []string{"https://jobs.example", "https://old.example:8443"}}
		for _, path := range []string{"/api/v1/pools/mail/recycle", "/login", "/logout"} {
			r := httptest.NewRequest("POST", path, strings.NewReader(""))
			r.Host = test.host
			if test.tls {
				r.TLS = &tls.ConnectionState{}
			}
			for name, value := range map[string]string{"Origin": test.origin, "Sec-Fetch-Site": test.fetch, "X-Forwarded-Proto": test.forward} {
				if value != "" {
					r.Header.Set(name, value)
				}
			}
			r.Header.Set("Cookie", gate.cookieName(r, "")+"="+gate.sessions.open(byKey))
			w := httptest.NewRecorder()
			a.Handler(door).ServeHTTP(w, r)
			if lets := codeOf(w) != "cross_origin"; lets != test.lets {
				t.Errorf("%s at %s: %d %s", test.name, path, w.Code, w.Body)
			}
		}
	}
}
