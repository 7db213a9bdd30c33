package web

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"oarlock/internal/web/assets"
	"oarlock/internal/web/pages"
	"oarlock/queue"
)

// view is a page that is looked at.
type view struct {
	path     string // below the prefix, as in Route
	template string // of package pages
	section  string // the link of the masthead that it belongs to
	still    bool   // nothing on it changes by itself
	local    bool   // it needs no Redis
	right    Right  // 0 is Read
	// fill says what it shows: title and body, and whatever else differs from page to page.
	fill func(*Call, *pages.Page) error
}

// act is a deed of a page, by a plain form. If it has a form to ask something first, that is at the same path.
type act struct {
	path  string
	does  string // for the audit
	local bool
	right Right // 0 is Write
	form  func(*Call) (pages.Form, error)
	// do says what it did, in a sentence, and which page shows that.
	do func(*Call) (told, to string, err error)
}

// pageRoutes are what browsers can ask.
func (a *App) pageRoutes() []Route {
	routes := []Route{
		{Method: "GET", Path: "/assets/{name}", Right: Open, Local: true, Do: func(c *Call) error {
			assets.Serve(c.W, c.R, c.R.PathValue("name"))
			return nil
		}},
		{Method: "GET", Path: "/prefer", Right: Open, Local: true, Page: true, Do: a.prefer},
	}
	routes = append(routes, Route{Method: "GET", Path: "/live", Right: Read, Stream: true, Once: true, Do: a.live})
	a.changing = map[string]bool{}
	for _, v := range a.views() {
		a.changing["GET "+v.path] = !v.still
		routes = append(routes, Route{Method: "GET", Path: v.path, Right: cmp.Or(v.right, Read), Local: v.local, Page: true, Do: func(c *Call) error { return a.show(c, v) }})
	}
	for _, one := range a.acts() {
		if one.form != nil {
			routes = append(routes, Route{Method: "GET", Path: one.path, Right: cmp.Or(one.right, Write), Local: one.local, Page: true, Do: func(c *Call) error { return a.ask(c, one) }})
		}
		routes = append(routes, Route{Method: "POST", Path: one.path, Right: cmp.Or(one.right, Write), Local: one.local, Page: true, Does: one.does, Do: func(c *Call) error { return a.act(c, one) }})
	}
	return routes
}

// book has the pages, for this App's prefix.
func (a *App) book() *pages.Book { return a.written() }

// show answers with a page. While Redis is away it is the page as it was last seen.
func (a *App) show(c *Call, v view) error {
	p := a.frame(c)
	p.Section, p.Live = v.section, !v.still
	err := v.fill(c, &p)
	key := v.template + " " + p.Path
	switch {
	case err == nil:
		if !v.still {
			a.seen.keep(key, p)
		}
		return a.write(c, http.StatusOK, v.template, p)
	case !errors.Is(err, queue.ErrAway):
		return err
	}
	last, at, is := a.seen.of(key)
	if !is {
		return err
	}
	last.Who, last.Rights, last.Write, last.Theme, last.Keys = p.Who, p.Rights, false, p.Theme, p.Keys
	last.Stale = true
	last.Age = "as of " + at.UTC().Format("15:04:05") + " UTC"
	last.Notices = []pages.Notice{{Tone: pages.Bad, Text: fmt.Sprintf("Redis does not answer now (%s). What you see is what it said at %s UTC; nothing can be changed until it is back. Children go on with what they have. `oarlock doctor` looks for the cause.", queue.Class(err), at.UTC().Format("15:04:05"))}}
	return a.write(c, http.StatusOK, v.template, last)
}

// frame is what stands around every page.
func (a *App) frame(c *Call) pages.Page {
	p := pages.Page{
		Path: c.R.URL.RequestURI(), Who: c.Who.Name, Rights: c.Who.Rights(), Write: c.Who.Write,
		Version: a.o.Version, Host: a.o.Host, Keys: true, Scope: "all supervisors",
	}
	if g := c.door.Gate; g != nil {
		p.Leave = g.cookie(c.R) != "" && c.Who.Name != ""
	}
	if theme, err := c.R.Cookie(cookieTheme); err == nil && (theme.Value == "light" || theme.Value == "dark") {
		p.Theme = theme.Value
	}
	if keys, err := c.R.Cookie(cookieKeys); err == nil && keys.Value == "off" {
		p.Keys = false
	}
	if c.R.URL.Query().Get("refresh") != "" {
		p.Refresh = 10
	}
	if told, err := c.R.Cookie(cookieTold); err == nil && c.safe() {
		http.SetCookie(c.W, a.ownCookie(c, cookieTold, "", -1))
		if text, err := url.QueryUnescape(told.Value); err == nil && text != "" {
			p.Notices = append(p.Notices, pages.Notice{Tone: pages.Good, Text: text})
		}
	}
	return p
}

// safe reports whether a call changes nothing.
func (c *Call) safe() bool { return c.route.safe() }

// write answers with a page.
func (a *App) write(c *Call, status int, template string, p pages.Page) error {
	text, err := a.book().Write(template, p)
	if err != nil {
		a.o.Log.Error("a page cannot be written, please report it", "err", err)
		return errBug
	}
	c.W.Header().Set("Content-Type", "text/html; charset=utf-8")
	c.W.WriteHeader(status)
	_, _ = c.W.Write(text) // the other side is gone if it fails
	return nil
}

// ask answers with the form of a deed.
func (a *App) ask(c *Call, one act) error {
	form, err := one.form(c)
	if err != nil {
		return err
	}
	p := a.frame(c)
	p.Title, p.Body = form.Heading, form
	return a.write(c, http.StatusOK, "form", p)
}

// act does a deed and leads to the page that shows what became of it.
func (a *App) act(c *Call, one act) error {
	told, to, err := one.do(c)
	if err != nil || to == "" { // it answered for itself
		return err
	}
	a.shots.forget() // so that the page shows what was done
	if told != "" {
		http.SetCookie(c.W, a.ownCookie(c, cookieTold, url.QueryEscape(shown("Done: "+sentence(told))), 60))
	}
	c.W.Header().Set("Location", to)
	c.W.WriteHeader(http.StatusSeeOther)
	return nil
}

// sentence ends with a full stop. It begins as it did: that may be a name.
func sentence(text string) string {
	if text != "" && !strings.ContainsAny(text[len(text)-1:], ".!?") {
		text += "."
	}
	return text
}

// The cookies that pages leave beside that of login: what was done, for the next page, and how somebody likes to see them.
const (
	cookieTold  = "oarlock-told"
	cookieTheme = "oarlock-theme"
	cookieKeys  = "oarlock-keys"
)

// ownCookie is one of them, for so many seconds; -1 takes it away.
func (a *App) ownCookie(c *Call, name, value string, seconds int) *http.Cookie {
	return &http.Cookie{
		Name: name, Value: value, Path: cmp.Or(a.o.Prefix, "/"), MaxAge: seconds,
		HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: c.R.TLS != nil || c.door.Gate != nil && c.door.Gate.secure(c.R),
	}
}

// prefer keeps how somebody likes to see pages, and leads back.
func (a *App) prefer(c *Call) error {
	const year = 365 * 24 * 3600
	query := c.R.URL.Query()
	if theme := query.Get("theme"); query.Has("theme") && slices.Contains([]string{"", "light", "dark"}, theme) {
		http.SetCookie(c.W, a.ownCookie(c, cookieTheme, theme, year))
	}
	if keys := query.Get("keys"); keys == "on" || keys == "off" {
		http.SetCookie(c.W, a.ownCookie(c, cookieKeys, keys, year))
	}
	c.W.Header().Set("Location", a.o.Prefix+local(query.Get("back")))
	c.W.WriteHeader(http.StatusSeeOther)
	return nil
}

// seen are pages as they were last filled, for while Redis is away.
type seen struct {
	mu    sync.Mutex
	pages map[string]seenPage
}

type seenPage struct {
	page pages.Page
	at   time.Time
}

// mostSeen is how many pages are remembered.
const mostSeen = 64

func (s *seen) keep(key string, p pages.Page) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pages == nil {
		s.pages = map[string]seenPage{}
	}
	s.pages[key] = seenPage{p, time.Now()}
	for len(s.pages) > mostSeen {
		oldest := key
		for k, page := range s.pages {
			if page.at.Before(s.pages[oldest].at) {
				oldest = k
			}
		}
		delete(s.pages, oldest)
	}
}

func (s *seen) of(key string) (pages.Page, time.Time, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	page, is := s.pages[key]
	return page.page, page.at, is
}
