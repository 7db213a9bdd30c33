package cli

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"oarlock/internal/redistest"
)

// What answers at an address where Redis was expected is named as what it is.
func TestWhatIsNoRedisIsNamed(t *testing.T) {
	s := newScript(t, "")
	nothing := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) })
	web, secure := httptest.NewServer(nothing), httptest.NewTLSServer(nothing)
	defer web.Close()
	defer secure.Close()
	embedded := strings.TrimPrefix(s.env["REDIS_URL"], "redis://")
	for url, want := range map[string]string{
		"redis://" + web.Listener.Addr().String():    "there is an HTTP server, and no Redis",
		"rediss://" + web.Listener.Addr().String():   "there is an HTTP server, and no Redis",
		"redis://" + secure.Listener.Addr().String(): "the port wants TLS: write rediss:// instead of redis://",
		"rediss://" + embedded:                       "there is a Redis without TLS: write redis:// instead of rediss://",
		redistest.Start(t).URL + "?db=99":            "has no database of that number",
	} {
		if err := s.oarlock(exitConfig, []string{"queue", "ls", "--redis", url}); err != nil || !strings.Contains(s.said["stderr"], want) {
			t.Errorf("%s: %v\n%s", url, err, s.said["stderr"])
		}
	}
}
