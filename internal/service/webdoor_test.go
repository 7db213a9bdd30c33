package service

import (
	"net/http"
	"testing"
)

// The cookie of each door has a name that browsers take, another one for each port of a host.
func TestCookieOf(t *testing.T) {
	for listen, want := range map[string]string{
		"127.0.0.1:7733": "oarlock-7733", "[::]:7733": "oarlock-7733", ":80": "oarlock-80", "unix:/run/oarlock/web.sock": "oarlock-socket", "unix:/a b/c:d": "oarlock-socket", "nothing": "oarlock-socket", "127.0.0.1:": "oarlock-socket",
	} {
		if got := cookieOf(listen); got != want || (&http.Cookie{Name: got, Value: "x"}).Valid() != nil {
			t.Errorf("%s: %q, want %q", listen, got, want)
		}
	}
}
