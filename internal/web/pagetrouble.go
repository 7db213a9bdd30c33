package web

import (
	"net/http"
	"strings"

	"oarlock/internal/web/pages"
)

// browses reports whether a call is of somebody who looks at pages, and not of a program.
func (c *Call) browses() bool {
	return !strings.HasPrefix(c.R.URL.Path, "/api/") && strings.Contains(c.R.Header.Get("Accept"), "text/html")
}

// inBrowser reports whether a call may be one of a browser, be it of a page or of a script or stream of ours.
func (c *Call) inBrowser() bool {
	h := c.R.Header
	return c.browses() || h.Get("Cookie") != "" || h.Get("Sec-Fetch-Mode") != "" || h.Get("Origin") != "" || h.Get(ownHeader) != "" || h.Get("Accept") == "text/event-stream"
}

// failPage answers an error with a page.
func (a *App) failPage(c *Call, p *Problem) {
	page := a.frame(c)
	what, does := troubleWords(p)
	page.Title = what
	body := pages.Trouble{What: what, Why: sentence(strings.TrimSuffix(p.Detail, doubtSure)), Does: does}
	if to := back(c, ""); to != "" && !c.route.safe() {
		body.Links = append(body.Links, pages.Link{Href: to, Text: "Look again"})
	}
	if p.Status == http.StatusUnauthorized {
		login, _ := pages.Query(a.book().Link("login"), "next", strings.TrimPrefix(back(c, ""), a.o.Prefix))
		body.Links = []pages.Link{{Href: login, Text: "Log in"}}
	}
	body.Links = append(body.Links, pages.Link{Href: a.book().Link(), Text: "Overview"})
	page.Body = body
	text, err := a.book().Write("trouble", page)
	if err != nil {
		a.o.Log.Error("a page cannot be written, please report it", "err", err)
		http.Error(c.W, p.Detail, p.Status)
		return
	}
	c.W.Header().Set("Content-Type", "text/html; charset=utf-8")
	c.W.WriteHeader(p.Status)
	_, _ = c.W.Write(text) // the other side is gone if it fails
}

// troubleWords are the heading of a problem, and what to do about it.
func troubleWords(p *Problem) (what, does string) {
	switch p.Status {
	case http.StatusNotFound:
		switch {
		case p.noPage:
			return "There is no such page", "The links above lead to all there are. The search looks for names."
		case p.Code != "not_found" && p.Code != "no_such_job":
			return "It is not here", "The search looks for names."
		}
		return "It is not here", "It may have been canceled, or be complete and pruned, or be of another namespace. The search looks for names."
	case http.StatusUnauthorized:
		return "You are not logged in, or not any more", "Nothing was done. Log in, and do it again."
	case http.StatusConflict:
		return "It changed meanwhile", "Nothing was done. Look at how it is now, and decide again."
	case http.StatusForbidden:
		return "You may not do that", "Whoever runs this supervisor gives rights: oarlock web token NAME --may read,write"
	case http.StatusServiceUnavailable:
		if p.Code == "redis_away" {
			return "Redis does not answer", "Children go on with what they have, and their outcomes wait. Nothing was seen of this page before, so that there is nothing to show. `oarlock doctor` looks for the cause."
		}
		return "Too much at a time", "Try again in a moment."
	case http.StatusGatewayTimeout:
		return "Nobody knows whether it was done", "Look before you do it again: what is done already is refused, or counts twice only where it puts a job."
	case http.StatusInternalServerError:
		return "A mistake of ours", "The log of the supervisor has it; please report it. Jobs go on."
	case http.StatusBadRequest, http.StatusUnprocessableEntity:
		if p.Code == "doubt" {
			return "Is that meant?", "Nothing was done. The same on the command line asks whether you are sure, and then does it."
		}
		return "That cannot be", "Nothing was done."
	}
	return http.StatusText(p.Status), ""
}
