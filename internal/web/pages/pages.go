// Package pages writes the pages: each a template with a layout around it, filled with a value that says all the page
// shows. It owns the templates, how values look in them, and what of a page is live; whoever wrote a text, it is made
// visible and escaped on its way out, whichever template prints it. It must not know requests, Redis, or where the
// values come from.
package pages

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"io/fs"
	"path"
	"slices"
	"strings"
)

//go:embed *.html
var sources embed.FS

// Book has all pages, for one prefix. It may be used by several goroutines at once.
type Book struct {
	prefix string
	pages  map[string]*template.Template // by the name of the file, without .html
}

// The files that every page is made with.
const (
	layout = "layout.html"
	parts  = "parts.html"
)

// New reads the pages. All paths in them are below prefix, such as "/oarlock"; "" is none.
func New(prefix string) *Book {
	b := &Book{prefix, map[string]*template.Template{}}
	names, err := fs.Glob(sources, "*.html")
	if err != nil {
		panic(err) // of a pattern that stands here
	}
	for _, name := range names {
		if name == layout || name == parts {
			continue
		}
		page := template.Must(template.New(layout).Funcs(b.functions()).ParseFS(sources, layout, parts, name))
		for _, t := range page.Templates() {
			showVisibly(t.Tree)
		}
		b.pages[strings.TrimSuffix(name, path.Ext(name))] = page
	}
	return b
}

// Names are the pages that there are, sorted.
func (b *Book) Names() []string {
	var names []string
	for name := range b.pages {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Write gives the page of that name, filled with p. An error is a mistake in the template, or in what it was given.
func (b *Book) Write(name string, p Page) ([]byte, error) {
	page, is := b.pages[name]
	if !is {
		return nil, fmt.Errorf("there is no page %s", name)
	}
	p.Prefix = b.prefix
	var out bytes.Buffer
	if err := page.ExecuteTemplate(&out, layout, &p); err != nil {
		return nil, fmt.Errorf("page %s: %w", name, err)
	}
	return out.Bytes(), nil
}
