package pagestest

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"oarlock/internal/web/pages"
)

// mostPage is how large a page may be.
const mostPage = 100 << 10

func TestEveryPageHasSamples(t *testing.T) {
	b := pages.New("/oarlock")
	var shown []string
	for _, s := range Samples() {
		text, err := b.Write(s.Template, s.Page)
		if err != nil {
			t.Errorf("%s: %v", s.Name, err)
			continue
		}
		if len(text) > mostPage {
			t.Errorf("%s has %d bytes", s.Name, len(text))
		}
		if i := bytes.Index(text, []byte("%!")); i >= 0 {
			t.Errorf("%s formats a value as what it is not: %.60s", s.Name, text[i:])
		}
		shown = append(shown, s.Template)
	}
	for _, name := range b.Names() {
		if !slices.Contains(shown, name) {
			t.Errorf("no sample shows the page %s", name)
		}
	}
}

// Whatever others wrote into whatever a page shows, the page has the elements and attributes that it has with harmless
// text, loads nothing from elsewhere, runs nothing, and hides no character.
func TestHostileTextIsInert(t *testing.T) {
	b := pages.New("/oarlock")
	for i, s := range Samples() {
		want := elements(t, b, s, "word")
		for j, text := range Hostile {
			if (i+j)%8 != 0 && testing.Short() {
				continue // another page has it
			}
			got := elements(t, b, s, text)
			if !slices.Equal(got, want) {
				t.Errorf("%s with %q has other elements: %s", s.Name, text, firstDifference(got, want))
			}
		}
	}
}

// elements are the elements of a page whose every text is text, with the names of their attributes and the values of those
// that can do harm.
func elements(t *testing.T, b *pages.Book, s Sample, text string) []string {
	t.Helper()
	page, err := b.Write(s.Template, Filled(s.Page, text))
	if err != nil {
		t.Fatalf("%s with %q: %v", s.Name, text, err)
	}
	if i := bytes.IndexFunc(page, func(r rune) bool {
		return r < ' ' && r != '\n' && r != '\t' || r == 0x7f || r == '\u202e' || r == '\u200b' || r == '\u2060' || r == '\ufeff'
	}); i >= 0 && !inField(page, i) {
		t.Errorf("%s shows %q of %q as it is", s.Name, page[i:min(i+8, len(page))], text)
	}
	var all []string
	in := html.NewTokenizer(bytes.NewReader(page))
	for in.Next() != html.ErrorToken {
		tag := in.Token()
		if tag.Type != html.StartTagToken && tag.Type != html.SelfClosingTagToken && tag.Type != html.EndTagToken {
			continue
		}
		one := tag.Type.String() + " " + tag.Data
		for _, a := range tag.Attr {
			one += " " + a.Key
			switch a.Key {
			case "src", "href", "action":
				if value := strings.ToLower(strings.TrimSpace(a.Val)); strings.HasPrefix(value, "javascript:") || strings.HasPrefix(value, "data:") || a.Key != "href" && strings.HasPrefix(value, "//") {
					t.Errorf("%s with %q: %s=%q", s.Name, text, a.Key, a.Val)
				}
			}
			if strings.HasPrefix(a.Key, "on") || a.Key == "style" || a.Key == "srcdoc" {
				t.Errorf("%s with %q: attribute %s", s.Name, text, a.Key)
			}
		}
		all = append(all, one)
	}
	return all
}

// inField reports whether a byte of a page is within the value of a field, which a form must send back as it is.
func inField(page []byte, at int) bool {
	begin := bytes.LastIndexByte(page[:at], '<')
	return begin >= 0 && (bytes.HasPrefix(page[begin:], []byte("<input")) || bytes.HasPrefix(page[begin:], []byte("<textarea")))
}

func firstDifference(got, want []string) string {
	for i := range got {
		if i >= len(want) || got[i] != want[i] {
			return fmt.Sprintf("%q instead of %q", got[i:min(i+3, len(got))], want[min(i, len(want)):min(i+3, len(want))])
		}
	}
	return "fewer"
}
