package cli

import (
	"io"
	"net/http"
	"net/http/cookiejar"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"oarlock/internal/control"
	"oarlock/internal/must"
)

// fetch sends a request and gives the status and the body of the answer.
func fetch(t *testing.T, client *http.Client, method, address string, headers ...string) (int, string) {
	t.Helper()
	return send(t, client, method, address, "", headers...)
}

// send is fetch, with a body.
func send(t *testing.T, client *http.Client, method, address, body string, headers ...string) (int, string) {
	t.Helper()
	r := must.Get(http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body)))(t)
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := must.Get(client.Do(r))(t)
	defer w.Body.Close()
	text := must.Get(io.ReadAll(w.Body))(t)
	return w.StatusCode, string(text)
}

// A supervisor answers at [web] listen whoever has a token, and `oarlock web` beside it whoever opens its address, by
// way of the supervisor, and without one what Redis knows.
func TestWebDoors(t *testing.T) {
	s := newScript(t, workFiles+"-- tokens --\n")
	must.Do(t, s.oarlock(0, []string{"web", "token", "anna", "--may", "read"}))
	made := regexp.MustCompile(`(?s)\n  (\S+)\n.*\n  (anna read \S+)\n`).FindStringSubmatch(s.said["stdout"])
	if made == nil {
		t.Fatalf("it says %s", s.said["stdout"])
	}
	must.Do(t, os.WriteFile(filepath.Join(s.dir, "tokens"), []byte(made[2]+"\n"), 0o600))
	s.env["OARLOCK_WEB_LISTEN"], s.env["OARLOCK_WEB_TOKENS_FILE"], s.env["OARLOCK_WEB_METRICS_LISTEN"] = "127.0.0.1:0", "tokens", "127.0.0.1:0"
	s.env["OARLOCK_WEB_ROLL_CALL"] = "false"
	p := begin(t, s, "run")
	doors := map[string]string{} // in whichever order
	for range 2 {
		said := regexp.MustCompile(`answering (over HTTP|scrapers).* at=(\S+)`).FindStringSubmatch(p.await(`answering`))
		doors[said[1]] = "http://" + said[2]
	}
	at, watched := doors["over HTTP"]+"/api/v1/", doors["scrapers"]
	client := &http.Client{}
	defer client.CloseIdleConnections()
	if code, text := fetch(t, client, "GET", at+"status"); code != 401 || !strings.Contains(text, `"code":"no_token"`) {
		t.Errorf("without a token: %d %s", code, text)
	}
	for late := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) { // the doors open before the pools start
		code, text := fetch(t, client, "GET", at+"status", "Authorization", "Bearer "+made[1])
		if code == 200 && strings.Contains(text, `"name":"work"`) {
			break
		}
		if code != 200 || time.Now().After(late) {
			t.Fatalf("with a token: %d %s", code, text)
		}
	}
	if code, text := fetch(t, client, "GET", at+"supervisors", "Authorization", "Bearer "+made[1]); code != 200 || !strings.Contains(text, `"asked":1,"answered":1`) {
		t.Errorf("one that asks no others says of all: %d %s", code, text)
	}
	s.says(t, exitFailed, "status --all", "No supervisor in this namespace of Redis answers")
	beside := must.Get(control.Find(t.Context(), s.dir+"/state/oarlock", ""))(t)
	if code, text := fetch(t, &http.Client{Transport: beside.Transport()}, "GET", "http://localhost/debug/pprof/goroutine?debug=1"); code != 200 || !strings.Contains(text, "goroutine profile") {
		t.Errorf("a profile over the control socket: %d %.200s", code, text)
	}
	if code, text := fetch(t, client, "POST", at+"supervisor/quiet", "Authorization", "Bearer "+made[1]); code != 403 || !strings.Contains(text, `"code":"no_right"`) {
		t.Errorf("with a token that may not: %d %s", code, text)
	}

	for path, want := range map[string]int{"/healthz": 200, "/metrics": 200, "/api/v1/": 404, "/": 404, "/login": 404, "/api/v1/status": 404} {
		if code, text := fetch(t, client, "GET", watched+path); code != want {
			t.Errorf("scraping %s: %d %.200s", path, code, text)
		}
	}

	w := begin(t, s, "web")
	address := w.await(`^http://127\.0\.0\.1:\d+/login\?key=`)
	jar, _ := cookiejar.New(nil)
	browser := &http.Client{Jar: jar}
	defer browser.CloseIdleConnections()
	base, _, _ := strings.Cut(address, "/login")
	if code, _ := fetch(t, browser, "GET", base+"/api/v1/status"); code != 401 {
		t.Errorf("before it was opened: %d", code)
	}
	fetch(t, browser, "GET", address)
	if code, text := fetch(t, browser, "GET", base+"/api/v1/status"); code != 200 || !strings.Contains(text, `"name":"work"`) {
		t.Errorf("by way of the supervisor: %d %s", code, text)
	}
	if code, _ := fetch(t, browser, "POST", base+"/api/v1/supervisor/quiet"); code != 403 {
		t.Errorf("a deed of nobody knows whom: %d", code)
	}
	if code, text := fetch(t, browser, "POST", base+"/api/v1/supervisor/quiet", "X-Oarlock", "1"); code != 202 || !strings.Contains(text, "it takes no more jobs") {
		t.Errorf("a deed: %d %s", code, text)
	}
	p.await(`web action.*action=quiet`)
	p.terminate()
	if code, text := fetch(t, browser, "GET", base+"/api/v1/status"); code != 404 || !strings.Contains(text, "no_supervisor") {
		t.Errorf("without a supervisor: %d %s", code, text)
	}
	w.terminate()
}

// A door that would be open to everybody is refused, at the start as by check, in a sentence.
func TestWebRefusesToBePublic(t *testing.T) {
	for text, want := range map[string]string{
		"listen = \"0.0.0.0:0\"\nauth = \"none\"":                   `web.auth: "none" at 0.0.0.0:0 lets everybody`,
		"listen = \"[::]:0\"\nauth = \"none\"":                      `web.auth: "none" at [::]:0 lets everybody`,
		"listen = \"127.0.0.1:0\"":                                  `web.tokens_file: names no file`,
		"listen = \"127.0.0.1:0\"\ntokens_file = \"empty\"":         `web.tokens_file: .*empty has no line`,
		"listen = \"0.0.0.0:0\"\nauth = \"proxy\"":                  `web.proxies: names no address`,
		"listen = \"0.0.0.0:0\"\nauth = \"proxy\"\nproxies=[\"x\"]": `web.proxies: "x" is neither`,
		"listen = \"7733\"\nauth = \"none\"":                        `web.listen: is neither host:port`,
		"prefix = \"oarlock\"":                                      `web.prefix: is no beginning of paths`,
		"hosts = [\"http://x/y\"]":                                  `web.hosts: "http://x/y" is neither a name`,
		"url = \"jobs\"":                                            `web.url: is no address`,
		"redact = [\"password\"]":                                   `web.redact: "password" is no path`,
		"redact_text = [\"(\"]":                                     `web.redact_text: "\(" is no regular`,
		"tls_cert = \"empty\"\nlisten = \"unix:x\"\nauth=\"none\"":  `web.tls_cert: tls_cert and tls_key go together`,
	} {
		t.Run(text, func(t *testing.T) {
			s := newScript(t, "-- empty --\n"+workFiles)
			file := must.Get(os.OpenFile(filepath.Join(s.dir, "oarlock.toml"), os.O_APPEND|os.O_WRONLY, 0))(t)
			must.Get(file.WriteString("\n[web]\n" + text + "\n"))(t)
			file.Close()
			for _, command := range []string{"check", "run"} {
				if err := s.oarlock(exitConfig, []string{command}); err != nil || !regexp.MustCompile(strings.ReplaceAll(want, "[::]", `\[::\]`)).MatchString(s.said["stderr"]) {
					t.Errorf("%s: %v\n%s", command, err, s.said["stderr"])
				}
			}
		})
	}
}
