package pages

import (
	"net/url"
	"strings"
)

// Page is what a page shows, with what stands around it on all of them.
type Page struct {
	Title   string // of what it is about, the most particular first; the name of the program comes behind it
	Section string // the path of the link in the masthead that it belongs to; "" if to none
	Path    string // its own, below the prefix, with its query
	Live    bool   // what is marked in it changes by itself
	Refresh int    // it is loaded anew after so many seconds, by a browser without scripts; 0 is never

	Who    string // who looks, "" if that is nobody
	Rights string // in words
	Write  bool   // deeds are offered
	Leave  bool   // there is a cookie that can be given up

	Theme string // light, dark, or "" as the browser wants it
	Keys  bool   // keys do something

	Stale bool // Redis is away: nothing can be changed

	Headline Headline
	Notices  []Notice
	Scope    string // whom the numbers are about: "all supervisors"
	Age      string // how old they are
	Version  string // of this program
	Host     string // that answers

	Body any // what the template of the page wants

	Prefix string // of all paths; Write sets it
}

// Headline says in one line whether work flows.
type Headline struct {
	Tone  Tone
	Says  string // a sentence of few words
	Facts string // behind it
}

// Tone is how good something is.
type Tone string

// The tones. Plain is neither good nor bad.
const (
	Plain Tone = ""
	Good  Tone = "good"
	Warn  Tone = "warn"
	Bad   Tone = "bad"
)

// Mark is the shape that stands beside the colour.
func (t Tone) Mark() string {
	switch t {
	case Good:
		return "✔"
	case Warn, Bad:
		return "▲"
	}
	return "·"
}

// Word is what the shape is called.
func (t Tone) Word() string {
	switch t {
	case Good:
		return "good"
	case Warn:
		return "warning"
	case Bad:
		return "trouble"
	}
	return "note"
}

// Notice is something that concerns whoever looks: what is wrong, or what became of what was asked for.
type Notice struct {
	Tone  Tone
	Text  string
	Links []Link
	Deeds []Deed
}

// Link leads to another page.
type Link struct{ Href, Text string }

// Deed is a button that does something at once, or leads to a form.
type Deed struct {
	Label  string
	Action string // where it is posted to
	Form   string // or the page with the form; a label of such ends in …
	Fields []Field
	Tone   Tone // Good is what one mostly wants, Bad what cannot be taken back
}

// Field is a field of a form that is not shown.
type Field struct{ Name, Value string }

// Badge is a state as word and shape.
type Badge struct {
	Tone Tone
	Mark string
	Word string
}

// Place is a link of the masthead.
type Place struct {
	Link
	Here bool
}

// places are the pages that the masthead leads to, by their paths.
func (p *Page) places(of ...Link) []Place {
	var all []Place
	for _, l := range of {
		all = append(all, Place{Link{p.Prefix + l.Href, l.Text}, p.Section == l.Href})
	}
	return all
}

// Sections are the pages that are always in sight.
func (p *Page) Sections() []Place {
	return p.places(Link{"/", "Overview"}, Link{"/pools", "Pools"}, Link{"/queues", "Queues"}, Link{"/failures", "Failures"},
		Link{"/recurring", "Recurring"}, Link{"/supervisors", "Supervisors"})
}

// More are the others.
func (p *Page) More() []Place {
	return p.places(Link{"/workers", "Workers"}, Link{"/parked", "Parked jobs"}, Link{"/tracked", "Tracked jobs"}, Link{"/completed", "Completed jobs"}, Link{"/tags", "Tags"},
		Link{"/throttles", "Throttles"}, Link{"/rules", "Rules"}, Link{"/lists", "Lists"}, Link{"/events", "Events"}, Link{"/audit", "Audit"}, Link{"/doctor", "Doctor"}, Link{"/settings", "Settings"})
}

// Themes are links that change how the pages look.
func (p *Page) Themes() []Link {
	var all []Link
	for _, l := range []Link{{"", "As the browser"}, {"light", "Light"}, {"dark", "Dark"}} {
		if l.Href != p.Theme {
			href, _ := Query(p.Prefix+"/prefer", "back", p.Path)
			all = append(all, Link{href + "&theme=" + l.Href, l.Text})
		}
	}
	return all
}

// Reloading is this page, loaded anew every ten seconds.
func (p *Page) Reloading() string {
	path, _ := Query(p.Path, "refresh", 10)
	return path
}

// Still is this page without that.
func (p *Page) Still() string {
	path, query, _ := strings.Cut(p.Path, "?")
	values, _ := url.ParseQuery(query)
	values.Del("refresh")
	if len(values) == 0 {
		return path
	}
	return path + "?" + values.Encode()
}
