package browser

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"oarlock/internal/must"
	"oarlock/internal/web/assets"
	"oarlock/internal/web/pages"
	"oarlock/internal/web/pagestest"

	"github.com/chromedp/chromedp"
)

// policy is what the program says of all its answers; see guard of package web.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"

// gallery serves the samples under their numbers; hostile says what every text of others is in them, "" leaves them. The theme is
// that of the query.
func gallery(t testing.TB, hostile string) (*httptest.Server, []pagestest.Sample) {
	t.Helper()
	book, samples := pages.New(""), pagestest.Samples()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /assets/{name}", func(w http.ResponseWriter, r *http.Request) { assets.Serve(w, r, r.PathValue("name")) })
	mux.HandleFunc("GET /live", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: {}\n\n")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	mux.HandleFunc("GET /sample/{n}", func(w http.ResponseWriter, r *http.Request) {
		var n int
		if _, err := fmt.Sscan(r.PathValue("n"), &n); err != nil || n >= len(samples) {
			http.NotFound(w, r)
			return
		}
		p := samples[n].Page
		if hostile != "" {
			p = pagestest.Filled(p, hostile)
		}
		p.Theme, p.Refresh = r.URL.Query().Get("theme"), 0
		text, err := book.Write(samples[n].Template, p)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Security-Policy", policy)
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write(text)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.CloseClientConnections)
	return server, samples
}

// axe is the text of axe-core.
func axe(t testing.TB) string {
	t.Helper()
	text, err := os.ReadFile("node_modules/axe-core/axe.min.js")
	if err != nil {
		t.Skip("SKIPPED axe-core is not installed: npm ci --ignore-scripts")
	}
	return string(text)
}

// runAxe asks for all that WCAG 2.2 AA and what it builds on want, and gives what is violated, a line each.
const runAxe = `axe.run({runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'], resultTypes: ['violations']}).then(r =>
  JSON.stringify(r.violations.map(v => v.id + ': ' + v.help + ': ' + v.nodes.slice(0, 3).map(n => n.html.slice(0, 160) + ' ' + n.failureSummary).join(' | '))))`

// Nobody is kept out of a page, in whatever state it is: in the light and in the dark, on a desk and in a hand.
func TestNobodyIsKeptOut(t *testing.T) {
	if testing.Short() {
		t.Skip("long: every page in every state")
	}
	text := axe(t)
	server, samples := gallery(t, "")
	looks := []struct {
		theme string
		width int64
	}{{"light", 1280}, {"dark", 320}}
	if !testing.Short() {
		looks = append(looks, looks[0], looks[1])
		looks[2].width, looks[3].width = 320, 1280
	}
	for i, look := range looks {
		t.Run(fmt.Sprintf("%s %d", look.theme, look.width), func(t *testing.T) {
			t.Parallel()
			tb := open(t, server.URL, look.width, true)
			for n, sample := range samples {
				if (n+i)%2 != 0 && testing.Short() {
					continue // the other look has it
				}
				tb.visit(fmt.Sprintf("/sample/%d?theme=%s", n, look.theme))
				must.Get(chromedp.Run(tb.ctx, chromedp.Evaluate[chromedp.Void](text)))(t)
				var violations []string
				must.Do(t, json.Unmarshal([]byte(eval[string](tb, runAxe)), &violations))
				for _, v := range violations {
					t.Errorf("%s: %s", sample.Name, v)
				}
				if wide := eval[int64](tb, "document.documentElement.scrollWidth"); wide > look.width {
					t.Errorf("%s is %d wide in a window of %d: %s", sample.Name, wide, look.width, eval[string](tb, widest))
				}
			}
		})
	}
}

// widest names what sticks out.
const widest = `[...document.querySelectorAll('body *')].filter(e => e.getBoundingClientRect().right > innerWidth + 1).slice(-3).map(e => e.outerHTML.slice(0, 120)).join(' | ')`

// With text of twice the size nothing scrolls sideways.
func TestLargeText(t *testing.T) {
	if testing.Short() {
		t.Skip("long: every page in every state")
	}
	server, samples := gallery(t, "")
	tb := open(t, server.URL, 1280, true)
	for n, sample := range samples {
		tb.visit(fmt.Sprintf("/sample/%d", n))
		if wide := eval[int64](tb, "(document.documentElement.style.fontSize = '200%', document.documentElement.scrollWidth)"); wide > 1280 {
			t.Errorf("%s is %d wide: %s", sample.Name, wide, eval[string](tb, widest))
		}
	}
}

// Everything that can be clicked can be reached by the tabulator, in the order in which it stands, and is seen to be.
func TestTabOrder(t *testing.T) {
	if testing.Short() {
		t.Skip("long: every page in every state")
	}
	server, samples := gallery(t, "")
	tb := open(t, server.URL, 1280, true)
	for n, sample := range samples {
		tb.visit(fmt.Sprintf("/sample/%d", n))
		missed := eval[string](tb, `[...document.querySelectorAll('a, button, input, select, textarea, summary')].filter(e => e.type !== 'hidden' && e.checkVisibility() && !e.matches(':disabled') && e.tabIndex !== 0).map(e => e.outerHTML.slice(0, 100)).join(' | ')`)
		if missed != "" {
			t.Errorf("%s: out of order: %s", sample.Name, missed)
		}
	}
	tb.visit("/sample/0")
	stops := eval[int64](tb, `(window.stops = [...document.querySelectorAll('a, button, input, select, textarea, summary')].filter(e => e.type !== 'hidden' && e.checkVisibility() && !e.matches(':disabled'))).length`)
	if stops < 20 {
		t.Fatalf("there are %d stops", stops)
	}
	for n := range stops {
		must.Do(t, chromedp.Do(tb.ctx, chromedp.KeyEvent("\t")))
		const at = `((e, want, s) => e !== want ? "is at " + e.outerHTML.slice(0, 100) + ", not " + want.outerHTML.slice(0, 100) : s.outlineStyle === 'none' || parseFloat(s.outlineWidth) < 2 ? "is not seen at " + e.outerHTML.slice(0, 100) : "")`
		if wrong := eval[string](tb, fmt.Sprintf(`%s(document.activeElement, window.stops[%d], getComputedStyle(document.activeElement))`, at, n)); wrong != "" {
			t.Fatalf("stop %d %s", n, wrong)
		}
	}
	if first := eval[string](tb, "window.stops[0].textContent"); !strings.Contains(first, "Skip") {
		t.Errorf("the first stop is %q", first)
	}
}

// What the page of help says of keys is so: they lead to places, and through the rows of a list; a field that is written into has its letters.
func TestKeys(t *testing.T) {
	if testing.Short() {
		t.Skip("long: one flow is enough")
	}
	server, samples := gallery(t, "")
	tb := open(t, server.URL, 1280, true)
	tb.refused = true // there are only samples
	press := func(keys string) {
		t.Helper()
		must.Do(t, chromedp.Do(tb.ctx, chromedp.KeyEvent(keys)))
	}
	for keys, place := range map[string]string{"go": "/", "gp": "/pools", "gq": "/queues", "gf": "/failures", "gs": "/supervisors", "gr": "/recurring", "?": "/help"} {
		for tries := 0; ; tries++ {
			tb.visit("/sample/0")
			eval[bool](tb, "(window.began = Date.now(), true)")
			press(keys)
			late, err := chromedp.Run(tb.ctx, chromedp.Evaluate[bool]("Date.now() - window.began > 1400")) // the second of them, perhaps; an error is a page that went
			if tries == 3 || err != nil || !late {
				break
			}
		}
		tb.await("location.pathname === " + quoted(place))
	}
	tb.visit("/sample/0")
	press("/")
	tb.await(`document.activeElement.id === "search"`)
	press("gq?jx")
	if text := eval[string](tb, `location.pathname + " " + document.activeElement.value`); !strings.HasPrefix(text, "/sample/0 ") || !strings.HasSuffix(text, "gq?jx") { // what presses keys here writes the first, too
		t.Errorf("what was written into the field is at %q", text)
	}
	chosen := `[...document.querySelectorAll("main [data-row]")].findIndex(r => r.classList.contains("chosen") && r.contains(document.activeElement))`
	for n := range samples {
		tb.visit(fmt.Sprintf("/sample/%d", n))
		if eval[int64](tb, `[...document.querySelectorAll("main [data-row]")].filter(r => r.querySelector("input[type=checkbox]")).length`) < 2 {
			continue
		}
		press("jjk")
		tb.await(chosen + " === 0")
		press("x")
		tb.await(`document.querySelector("main [data-row] input[type=checkbox]").checked`)
		press("x.")
		tb.await(`!document.querySelector("main [data-row] input[type=checkbox]").checked`)
		return
	}
	t.Error("no sample has rows that can be chosen")
}

// A page whose every text others wrote does nothing of what they wanted.
func TestHostileTextDoesNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("long: every page in every state")
	}
	server, samples := gallery(t, strings.Join(pagestest.Hostile, " "))
	tb := open(t, server.URL, 1280, true)
	for n, sample := range samples {
		tb.visit(fmt.Sprintf("/sample/%d", n))
		if n := eval[int64](tb, "document.scripts.length + document.querySelectorAll('img, iframe, object, embed, base, animate').length"); n != 1 {
			t.Errorf("%s has %d scripts and the like", sample.Name, n)
		}
	}
}
