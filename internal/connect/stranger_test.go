package connect

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"oarlock/internal/config"
	"oarlock/internal/embedded"
	"oarlock/internal/must"
	"oarlock/internal/redistest"
)

// What answers at an address where Redis was expected is named as what it is.
func TestWhatIsNoRedisIsNamed(t *testing.T) {
	nothing := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) })
	web, secure := httptest.NewServer(nothing), httptest.NewTLSServer(nothing)
	defer web.Close()
	defer secure.Close()
	plain := must.Get(embedded.Start(""))(t)
	defer plain.Close()
	for url, want := range map[string]string{
		"redis://" + web.Listener.Addr().String():                 "there is an HTTP server, and no Redis",
		"rediss://" + web.Listener.Addr().String():                "there is an HTTP server, and no Redis",
		"redis://" + secure.Listener.Addr().String():              "the port wants TLS: write rediss:// instead of redis://",
		"rediss://" + strings.TrimPrefix(plain.URL(), "redis://"): "there is a Redis without TLS: write redis:// instead of rediss://",
		redistest.Start(t).URL + "?db=99":                         "has no database of that number",
	} {
		_, err := Reach(t.Context(), config.Redis{URL: url, Namespace: "ql:"})
		var problems config.Problems
		if !errors.As(err, &problems) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", url, err)
		}
	}
}
