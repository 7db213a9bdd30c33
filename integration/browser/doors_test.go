package browser

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"oarlock/internal/must"
)

// behindProxy is a program that listens at a Unix socket, asks for tokens, and is reached below a path.
const behindProxy = `
[supervisor]
state_dir = "%[1]s/state"
[web]
listen = "unix:%[1]s/web.sock"
tokens_file = "%[1]s/tokens"
prefix = "/oarlock"
hosts = ["jobs.example"]
[pools.keep]
queues = ["keep"]
mode = "reuse"
command = ["sh", "keep.sh"]
`

// proxy leads to the socket of a program, and cuts the prefix off its paths, or leaves it.
func proxy(t *testing.T, socket string, strips bool) string {
	t.Helper()
	server := httptest.NewServer(&httputil.ReverseProxy{
		FlushInterval: -1,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: "http", Host: "oarlock"})
			r.Out.Host = r.In.Host
			if strips {
				r.Out.URL.Path, r.Out.URL.RawPath = strings.TrimPrefix(r.Out.URL.Path, "/oarlock"), strings.TrimPrefix(r.Out.URL.RawPath, "/oarlock")
			}
		},
		Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", socket)
		}},
	})
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	return server.URL
}

// token makes a token, and writes the line by which it is known.
func (p *program) token(name, may string) string {
	p.t.Helper()
	lines := strings.Split(p.run("", "web", "token", name, "--may", may), "\n")
	before, _ := os.ReadFile(filepath.Join(p.dir, "tokens"))
	p.write("tokens", string(before)+strings.TrimSpace(lines[3])+"\n")
	return strings.TrimSpace(lines[1])
}

// Behind a proxy that keeps the prefix or cuts it off, one logs in by a token, does something, and logs out, with scripts and
// without; who may only look is offered nothing; a token that is void leads to the login, and from there back.
func TestLoginBehindAProxy(t *testing.T) {
	if testing.Short() {
		t.Skip("long: one flow is enough")
	}
	p := prepare(t, behindProxy)
	writes, reads := p.token("anna", "write"), p.token("bert", "read")
	p.begin(func(line string) bool { return strings.Contains(line, "answering over HTTP") }, "dev", "--redis", "spawn")
	p.run("", "put", "mail", "{}", "--klass", "Send")
	for _, mode := range []struct {
		name    string
		width   int64
		scripts bool
		strips  bool
		host    string // by which a browser that does not trust the way there leaves out what says where a request comes from
	}{{"with scripts, prefix kept", 1280, true, false, "127.0.0.1"}, {"without scripts, prefix cut off, by a name and no TLS", 320, false, true, "jobs.example"}} {
		t.Run(mode.name, func(t *testing.T) {
			base := strings.Replace(proxy(t, filepath.Join(p.dir, "web.sock"), mode.strips), "127.0.0.1", mode.host, 1)
			tb := open(t, base, mode.width, mode.scripts)
			tb.refused = true
			tb.visit("/oarlock/queues/mail")
			login := func(token string) {
				t.Helper()
				tb.fill("token", token)
				tb.follow("Log in")
			}
			login("wrong")
			tb.sees("this token is not known here")
			login(writes)
			tb.await(`location.pathname === "/oarlock/queues/mail"`)
			tb.follow("Pause")
			tb.sees("Done: queue mail is paused")
			tb.follow("Resume")
			tb.sees("Done: queue mail is resumed")
			if mode.scripts {
				tb.await(`document.querySelector("#live").textContent.includes("live")`)
			}
			tb.follow("Overview")
			tb.await(`location.pathname === "/oarlock/"`)
			tb.follow("Log out")
			tb.visit("/oarlock/queues/mail")
			tb.await(`location.pathname === "/oarlock/login"`)
			login(reads)
			tb.sees("read")
			for _, path := range []string{"/", "/queues", "/queues/mail", "/pools/keep", "/failures", "/recurring", "/settings", "/parked", "/doctor", "/supervisors", "/throttles"} {
				tb.visit("/oarlock" + path)
				if n := eval[int64](tb, `document.querySelectorAll("main form[method=post], main a[href$='/add']").length`); n != 0 {
					t.Errorf("%s offers %d deeds to who may only look", path, n)
				}
			}
			tb.follow("Log out")
		})
	}
	t.Run("a token that is void", func(t *testing.T) {
		tb := open(t, proxy(t, filepath.Join(p.dir, "web.sock"), false), 1280, true)
		tb.refused = true
		short := p.token("carl", "write")
		tb.visit("/oarlock/queues/mail")
		tb.fill("token", short)
		tb.follow("Log in")
		tb.sees("Queue mail")
		lines := must.Get(os.ReadFile(filepath.Join(p.dir, "tokens")))(t)
		p.write("tokens", string(lines[:strings.Index(string(lines), "carl")]))
		tb.follow("Pause")
		tb.sees("You are not logged in, or not any more")
		tb.follow("Log in")
		tb.fill("token", writes)
		tb.follow("Log in")
		tb.await(`location.pathname === "/oarlock/queues/mail"`)
		tb.await(`!document.querySelector("h1").textContent.includes("paused")`)
	})
}

// What `oarlock web --read-only` shows can be looked at, and nothing else.
func TestReadOnlyWeb(t *testing.T) {
	if testing.Short() {
		t.Skip("long: one flow is enough")
	}
	p := start(t, configuration)
	p.put("thumbs", "Resize", 1, `,"retries":0`)
	p.await(func() bool { return strings.Contains(p.run("", "failed", "ls"), "exit-1") })
	address := make(chan string, 1)
	p.begin(func(line string) bool {
		if !strings.Contains(line, "key=") {
			return false
		}
		address <- strings.TrimSpace(line)
		return true
	}, "web", "--read-only")
	key := <-address
	u := must.Get(url.Parse(key))(t)
	tb := open(t, u.Scheme+"://"+u.Host, 1280, true)
	tb.refused = true
	tb.visit(u.RequestURI())
	for _, path := range []string{"/", "/queues/thumbs", "/failures/exit-1", "/pools/mail", "/supervisors", "/settings", "/parked", "/doctor"} {
		tb.visit(path)
		tb.await(`document.querySelector("h1")`)
		if n := eval[int64](tb, `document.querySelectorAll("main form[method=post]").length`); n != 0 {
			t.Errorf("%s offers %d deeds", path, n)
		}
	}
	if code := eval[int64](tb, `fetch("/queues/thumbs/pause", {method: "POST"}).then(r => r.status)`); code != 403 {
		t.Errorf("a deed is answered %d", code)
	}
}

// Pages of somebody else, open in the browser of who is logged in, can do nothing here: not by a form, a fetch, an image or a
// frame, not from another port of this host, which a browser takes for the same site, and not by a name that was made to lead here.
func TestStrangersCanDoNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("long: one flow is enough")
	}
	p := start(t, configuration)
	p.run("", "put", "letters", "{}", "--klass", "Send")
	attack := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte(`<form id="f" method="post" action="` + p.base + `/queues/letters/pause"></form><img src="` + p.base + `/queues/letters/pause"><iframe src="` + p.base + `/queues/letters"></iframe>`))
	})
	stranger := httptest.NewServer(attack)
	defer stranger.Close()
	port := stranger.URL[strings.LastIndex(stranger.URL, ":"):]
	own := p.base[strings.LastIndex(p.base, ":"):]
	tb := p.enter(t, 1280, true)
	tb.mu.Lock()
	tb.abroad = true
	tb.mu.Unlock()
	for _, from := range []string{"http://127.0.0.1" + port, "http://localhost" + port, "http://evil.example" + port} {
		tb.base = from
		tb.visit("/")
		for name, attempt := range map[string]string{
			"a fetch":              `fetch("` + p.base + `/queues/letters/pause", {method: "POST", mode: "no-cors", credentials: "include"})`,
			"a fetch with headers": `fetch("` + p.base + `/queues/letters/pause", {method: "POST", credentials: "include", headers: {"X-Oarlock": "1"}})`,
			"a fetch that reads":   `fetch("` + p.base + `/api/v1/queues", {credentials: "include"}).then(r => r.text())`,
			"a frame":              `new Promise((y, n) => { const f = document.querySelector("iframe"); try { f.contentDocument.querySelector("h1").textContent ? y("read") : n() } catch (e) { n(e) } })`,
		} {
			if got := eval[string](tb, attempt+`.then(x => typeof x === "string" ? "read " + x : "sent", () => "refused")`); strings.HasPrefix(got, "read") {
				t.Errorf("%s from %s %s", name, from, got)
			}
		}
		eval[bool](tb, `(() => { document.querySelector("#f").submit(); return true })()`)
		tb.await(`location.href !== ` + quoted(from+"/") + ` && document.readyState === "complete"`)
		if counts := p.run("", "queue", "ls", "--json"); strings.Contains(counts, `"paused": true`) || strings.Contains(counts, `"paused":true`) {
			t.Fatalf("a stranger at %s paused a queue: %s", from, counts)
		}
	}
	tb.base = "http://evil.example" + own // the name leads to us: what it is shown is that it is not ours
	for _, path := range []string{"/", "/login", "/assets/x", "/api/v1/queues"} {
		tb.visit(path)
		if code := eval[int64](tb, `fetch(location.href, {cache: "no-store"}).then(r => r.status)`); code != 421 {
			t.Errorf("%s by a name that is not ours: %d", path, code)
		}
	}
}
