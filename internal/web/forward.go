package web

import (
	"net/http"
	"net/http/httputil"
)

// forward hands a call that was let in on to the supervisor of another process, over its control socket. What says who
// asks stays here: by that socket one is who holds it.
func (a *App) forward(c *Call, supervisor http.RoundTripper) error {
	var failed error
	proxy := httputil.ReverseProxy{
		Transport:     supervisor,
		FlushInterval: -1,
		ErrorLog:      nil,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host, r.Out.Host = "http", "oarlock", "oarlock"
			for _, name := range []string{"Authorization", "Cookie", "Origin", "Sec-Fetch-Site"} {
				r.Out.Header.Del(name)
			}
			for _, name := range []string{cookieTold, cookieTheme, cookieKeys} { // how the pages are to look stays
				if kept, err := r.In.Cookie(name); err == nil {
					r.Out.AddCookie(kept)
				}
			}
			if a.o.ReadOnly || c.door.ReadOnly {
				r.Out.Header.Set(readOnlyHeader, "1")
			}
		},
		ModifyResponse: func(r *http.Response) error {
			guarded := http.Header{}
			guard(guarded)
			for name := range guarded {
				r.Header.Del(name) // they are ours already
			}
			return nil
		},
		ErrorHandler: func(_ http.ResponseWriter, _ *http.Request, err error) { failed = err },
	}
	proxy.ServeHTTP(c.W, c.R)
	if failed != nil {
		return problem(http.StatusBadGateway, "supervisor_gone", "the supervisor went while it was asked (%v); look before you repeat it", failed)
	}
	return nil
}
