package web

import (
	"cmp"
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"oarlock/internal/web/pages"
)

// Key is the secret in an address that a command prints. Opening the address logs in. Its methods may be called
// by several goroutines at once.
type Key struct {
	who  string
	once bool

	mu  sync.Mutex
	key string // "" when it was used up
}

// NewKey makes one. Once it may be used once only.
func NewKey(who string, once bool) *Key { return &Key{who: who, once: once, key: secret()} }

// Address is where whoever has the key logs in, below the address of a door.
func (k *Key) Address(base string) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return strings.TrimSuffix(base, "/") + "/login?key=" + k.key
}

// use reports whether this is the key, and uses it up if it is for once.
func (k *Key) use(key string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	is := k.key != "" && subtle.ConstantTimeCompare([]byte(key), []byte(k.key)) == 1
	if is && k.once {
		k.key = ""
	}
	return is
}

// loginRoutes let people in who come with a browser.
func (a *App) loginRoutes() []Route {
	return []Route{
		{Method: "GET", Path: "/login", Right: Open, Local: true, Here: true, Page: true, Do: a.loginPage},
		{Method: "POST", Path: "/login", Right: Open, Local: true, Here: true, Page: true, Does: "log in", Do: a.login},
		{Method: "POST", Path: "/logout", Right: Open, Local: true, Here: true, Page: true, Does: "log out", Do: a.logout},
	}
}

// loginPage logs in who has the key of an address. Who asks for its head only, as what makes previews of addresses does, opens nothing.
func (a *App) loginPage(c *Call) error {
	key := c.R.URL.Query().Get("key")
	if key == "" || c.R.Method == http.MethodHead || c.door.Gate == nil || c.door.Gate.Key == nil {
		return a.drawLogin(c, nil)
	}
	if !c.door.Gate.Key.use(key) {
		return problem(http.StatusForbidden, "used_up", "this address was used, or is of another process; the command prints a new one when it is started again")
	}
	return a.welcome(c, byKey)
}

// login lets in who has a token, by a session from then on.
func (a *App) login(c *Call) error {
	if err := c.door.sameOrigin(c.R, ByCookie); err != nil {
		return err
	}
	g := c.door.Gate
	if g == nil || g.Tokens == nil || g.Header != "" {
		return problem(http.StatusNotFound, "not_found", "this door knows no tokens")
	}
	token := strings.TrimSpace(c.R.PostFormValue("token"))
	who, is := g.knows("", token, ByBearer)
	if !is {
		refused := problemOf(g.refuse(c.R, noToken))
		if !c.browses() {
			return refused
		}
		return a.drawLogin(c, refused)
	}
	c.Who = who
	return a.welcome(c, sha256.Sum256([]byte(token)))
}

// drawLogin shows the form that asks for a token; again, with what was wrong.
func (a *App) drawLogin(c *Call, wrong *Problem) error {
	p := a.frame(c)
	p.Title, p.Who, p.Rights = "Log in", "", ""
	body, status := pages.Login{Back: local(c.R.FormValue("next"))}, http.StatusOK
	if wrong != nil {
		body.Wrong, status = sentence(wrong.Detail), wrong.Status
	}
	p.Body = body
	return a.write(c, status, "login", p)
}

// welcome opens a session for the token with that hash, ends the caller's former session, and redirects to the page that was asked for.
func (a *App) welcome(c *Call, of [sha256.Size]byte) error {
	sessions := &c.door.Gate.sessions
	sessions.end(c.door.Gate.cookie(c.R))
	http.SetCookie(c.W, a.cookie(c, sessions.open(of)))
	c.W.Header().Set("Location", a.o.Prefix+local(c.R.FormValue("next")))
	c.W.WriteHeader(http.StatusSeeOther)
	return nil
}

// logout ends the session, and takes the cookie away.
func (a *App) logout(c *Call) error {
	if err := c.door.sameOrigin(c.R, ByCookie); err != nil {
		return err
	}
	if c.door.Gate != nil {
		c.door.Gate.sessions.end(c.door.Gate.cookie(c.R))
		gone := a.cookie(c, "")
		gone.MaxAge = -1
		http.SetCookie(c.W, gone)
	}
	c.W.Header().Set("Location", a.o.Prefix+"/login")
	c.W.WriteHeader(http.StatusSeeOther)
	return nil
}

// cookie is ours, which no script reads and no other page sends.
func (a *App) cookie(c *Call, value string) *http.Cookie {
	return &http.Cookie{
		Name: c.door.Gate.cookieName(c.R, a.o.Prefix), Value: value, Path: cmp.Or(a.o.Prefix, "/"),
		HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: c.door.Gate.secure(c.R),
	}
}

// local is a path of ours out of what a form says, "/" if it is another's.
func local(next string) string {
	u, err := url.Parse(next)
	if err != nil || u.IsAbs() || u.Host != "" || !strings.HasPrefix(u.Path, "/") || strings.HasPrefix(next, "//") || strings.ContainsAny(next, "\\\r\n") {
		return "/"
	}
	return u.RequestURI()
}
