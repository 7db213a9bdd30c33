package pages

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"oarlock/internal/must"
)

func TestLink(t *testing.T) {
	b := New("/oar")
	for want, segments := range map[string][]string{
		"/oar/":                      {},
		"/oar/queues":                {"queues"},
		"/oar/queues/a%2Fb":          {"queues", "a/b"},
		"/oar/queues/_?name=..":      {"queues", ".."},
		"/oar/queues/_?name=":        {"queues", ""},
		"/oar/queues/_?name=_":       {"queues", "_"},
		"/oar/queues/_/stats?name=.": {"queues", ".", "stats"},
		"/oar/jobs/%00%0A%22%3Cx":    {"jobs", "\x00\n\"<x"},
		"/oar/jobs/%E2%80%AEx":       {"jobs", "\u202ex"},
		"":                           {"jobs", strings.Repeat("x", 2000)},
	} {
		if got := b.Link(segments...); got != want {
			t.Errorf("%q: %s, want %s", segments, got, want)
		}
	}
	if got, err := Query("/a?x=1", "q", "a&b=c", "none", "", "n", 5); err != nil || got != "/a?x=1&q=a%26b%3Dc&n=5" {
		t.Errorf("%s, %v", got, err)
	}
}

func TestSpan(t *testing.T) {
	for seconds, want := range map[float64]string{
		0: "0 s", 0.0004: "0.4 ms", 0.25: "250 ms", 1: "1 s", 1.25: "1.2 s", 38.4: "38 s", 119: "119 s", 120: "2 min", 150: "2 min 30 s", 3000: "50 min",
		7200: "2 h", 7500: "2 h 5 min", 3 * 86400: "3 d", 3*86400 + 4*3600: "3 d 4 h", -5: "−5 s", 1e300: "36500 d",
	} {
		if got := Span(seconds); got != want {
			t.Errorf("%g: %s, want %s", seconds, got, want)
		}
	}
}

func TestTicks(t *testing.T) {
	for text, want := range map[string]string{
		"": "[{ false}]", "plain": "[{plain false}]", "`a b` does": "[{ false} {a b true} { does false}]", "odd ` one": "[{odd ` one false}]", "`a` and `": "[{ false} {a true} { and ` false}]",
	} {
		if got := fmt.Sprint(ticks(text)); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

// What a page says is what its frame says: texts, attributes, the rows of lists; nothing of templates.
func TestLive(t *testing.T) {
	texts, attributes := Live([]byte(`<body><p data-live="a">1 &amp; 2</p><span data-live="b" data-attrs="class text" class="badge good">x</span>
<path data-live="s" data-attrs="d" d="M0 1"><tbody data-rows="jobs" data-print="p1"></tbody>
<tbody data-list="slots"><tr data-key="1"><td data-live="slot.1"></td></tr><tr data-key="2"></tr></tbody>
<template><tr data-key="#"><td data-live="slot.#">never</td></tr></template><p>not live</p>`))
	wantTexts := map[string]string{"a": "1 & 2", "b": "x", "rows:jobs": "p1", "list:slots": "1 2", "slot.1": ""}
	wantAttributes := map[string]string{"b.class": "badge good", "s.d": "M0 1"}
	for name, both := range map[string][2]map[string]string{"texts": {texts, wantTexts}, "attributes": {attributes, wantAttributes}} {
		if len(both[0]) != len(both[1]) {
			t.Errorf("%s: %q", name, both[0])
		}
		for key, want := range both[1] {
			if got, is := both[0][key]; !is || got != want {
				t.Errorf("%s: %s is %q, want %q", name, key, got, want)
			}
		}
	}
}

// No package of ours vouches for a text as HTML, script, style or address: html/template escapes them all.
func TestNothingIsTrusted(t *testing.T) {
	trusted := regexp.MustCompile(`^(?:HTML|HTMLAttr|CSS|JS|JSStr|URL|Srcset)$`)
	must.Do(t, filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".go" {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if s, is := n.(*ast.SelectorExpr); is && trusted.MatchString(s.Sel.Name) {
				if x, is := s.X.(*ast.Ident); is && x.Name == "template" {
					t.Errorf("%s has template.%s", path, s.Sel.Name)
				}
			}
			return true
		})
		return nil
	}))
}

// The templates have no script, style or handler within them: the Content-Security-Policy would forbid it.
func TestTemplatesAreHTMLOnly(t *testing.T) {
	inline := regexp.MustCompile(`(?i)<style|\sstyle=|\son[a-z]+=|javascript:|<script(?:\s[^>]*)?>[^<]`)
	names, err := filepath.Glob("*.html")
	if err != nil || len(names) < 20 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		text := must.Get(os.ReadFile(name))(t)
		if found := inline.FindString(string(text)); found != "" {
			t.Errorf("%s has %q", name, found)
		}
	}
}
