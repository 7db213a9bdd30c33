package assets

import (
	"math"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"oarlock/internal/must"
)

// What a browser loads once for all pages is small.
func TestSizes(t *testing.T) {
	for name, most := range map[string]int{"style.css": 20 << 10, "script.js": 12 << 10, "icon.svg": 1 << 10} {
		text := must.Get(files.ReadFile(name))(t)
		if len(text) > most {
			t.Errorf("%s has %d bytes, and may have %d", name, len(text), most)
		}
	}
}

func TestServe(t *testing.T) {
	get := func(name string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		Serve(w, httptest.NewRequest("GET", "/", nil), name)
		return w
	}
	for plain, kind := range kinds {
		w := get(Name(plain))
		if w.Code != 200 || w.Header().Get("Content-Type") != kind || !strings.Contains(w.Header().Get("Cache-Control"), "immutable") || w.Body.Len() == 0 {
			t.Errorf("%s: %d %v", plain, w.Code, w.Header())
		}
		if get(plain).Code != 404 {
			t.Errorf("%s is there without its hash, and would be kept for ever", plain)
		}
	}
	for _, name := range []string{"", "..", "../assets.go", "assets.go", "./" + Name("style.css"), "/etc/passwd", Name("style.css") + "\x00"} {
		if w := get(name); w.Code != 404 {
			t.Errorf("%q: %d", name, w.Code)
		}
	}
}

// The script never makes elements of text, and the style never loads anything.
func TestTheScriptParsesNothing(t *testing.T) {
	script, _ := files.ReadFile("script.js")
	for _, word := range []string{"innerHTML", "outerHTML", "insertAdjacent", "document.write", "DOMParser", "eval(", "Function(", "srcdoc", "import("} {
		if strings.Contains(string(script), word) {
			t.Errorf("script.js has %s", word)
		}
	}
	style, _ := files.ReadFile("style.css")
	for _, word := range []string{"url(", "@import", "expression("} {
		if strings.Contains(string(style), word) {
			t.Errorf("style.css has %s", word)
		}
	}
}

// pairs are the colours that stand on one another, and the least contrast that WCAG 2.2 wants: 4.5 for text, 3 for
// what is only a mark or an edge.
var pairs = []struct {
	colour, ground string
	least          float64
}{
	{"text", "ground", 4.5}, {"text", "panel", 4.5}, {"text", "sunken", 4.5},
	{"text", "good-ground", 4.5}, {"text", "warn-ground", 4.5}, {"text", "bad-ground", 4.5},
	{"quiet", "ground", 4.5}, {"quiet", "panel", 4.5}, {"quiet", "sunken", 4.5},
	{"link", "ground", 4.5}, {"link", "panel", 4.5}, {"link", "sunken", 4.5},
	{"link", "good-ground", 4.5}, {"link", "warn-ground", 4.5}, {"link", "bad-ground", 4.5},
	{"good", "ground", 4.5}, {"good", "panel", 4.5}, {"good", "good-ground", 4.5},
	{"warn", "ground", 4.5}, {"warn", "panel", 4.5}, {"warn", "warn-ground", 4.5},
	{"bad", "ground", 4.5}, {"bad", "panel", 4.5}, {"bad", "sunken", 4.5}, {"bad", "bad-ground", 4.5},
	{"on-act", "act", 4.5},
	{"edge", "panel", 3}, {"edge", "ground", 3}, {"edge", "sunken", 3},
}

var colours = regexp.MustCompile(`(?m)^  --([a-z-]+): (?:light-dark\(#([0-9a-f]{6}), #([0-9a-f]{6})\)|#([0-9a-f]{6}));`)

func TestContrast(t *testing.T) {
	style, _ := files.ReadFile("style.css")
	light, dark := map[string]string{}, map[string]string{}
	for _, m := range colours.FindAllStringSubmatch(string(style), -1) {
		light[m[1]], dark[m[1]] = m[2]+m[4], m[3]+m[4]
	}
	used := map[string]bool{}
	for _, p := range pairs {
		used[p.colour], used[p.ground] = true, true
		for theme, of := range map[string]map[string]string{"light": light, "dark": dark} {
			if c := contrast(t, of[p.colour], of[p.ground]); c < p.least {
				t.Errorf("%s: %s on %s has %.2f, and wants %.1f", theme, p.colour, p.ground, c, p.least)
			}
		}
	}
	for name := range light {
		if !used[name] && name != "rule" { // a rule is decoration
			t.Errorf("the colour %s stands in no pair of this test", name)
		}
	}
}

// contrast is that of WCAG 2 between two colours, as rrggbb.
func contrast(t *testing.T, a, b string) float64 {
	t.Helper()
	la, lb := luminance(t, a), luminance(t, b)
	return (max(la, lb) + .05) / (min(la, lb) + .05)
}

func luminance(t *testing.T, rgb string) float64 {
	t.Helper()
	sum := 0.0
	for i, weight := range []float64{.2126, .7152, .0722} {
		if len(rgb) != 6 {
			t.Fatalf("no colour: %q", rgb)
		}
		n := must.Get(strconv.ParseUint(rgb[2*i:2*i+2], 16, 8))(t)
		c := float64(n) / 255
		if c <= .04045 {
			c /= 12.92
		} else {
			c = math.Pow((c+.055)/1.055, 2.4)
		}
		sum += weight * c
	}
	return sum
}
