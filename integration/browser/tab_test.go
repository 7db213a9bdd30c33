package browser

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"oarlock/internal/must"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// patience is how long something may take until it is seen in the browser.
const patience = 60 * time.Second

var (
	chrome     context.Context // one browser for all tests, with nothing of anybody's in it
	chromeGone string          // why there is none
)

// scratch is gone when the tests have run.
var scratch string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	if _, err := exec.LookPath("chromium"); err != nil {
		chromeGone = "SKIPPED chromium is not installed (apt install chromium)"
		return m.Run()
	}
	var err error
	if scratch, err = os.MkdirTemp("", "oarlock-browser-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(scratch)
	ctx, end := chromedp.NewContext(context.Background(), chromedp.WithAllocatorOptions(
		chromedp.ExecPath("chromium"), chromedp.UserDataDir(filepath.Join(scratch, "profile")), chromedp.Flag("headless", true), chromedp.Flag("no-sandbox", true), chromedp.Flag("disable-gpu", true),
		chromedp.Flag("no-first-run", true), chromedp.Flag("disable-quic", true), chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true), chromedp.Flag("hide-scrollbars", true),
		chromedp.Flag("host-resolver-rules", "MAP evil.example 127.0.0.1, MAP jobs.example 127.0.0.1"), // whose owner makes the name lead to us; and a name of ours
	))
	defer end()
	if err := chromedp.Do(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "chromium does not start:", err)
		return 1
	}
	chrome = ctx
	return m.Run()
}

// tab is a tab of the browser. What happens in it that must not, is an error of its test: a dialog, an error of a script,
// something that the Content-Security-Policy forbids, a request to another place than the program.
type tab struct {
	t    testing.TB
	ctx  context.Context
	base string // of the program

	mu      sync.Mutex
	wrong   []string
	refused bool // answers that refuse something are expected
	abroad  bool // it is meant to ask other places, which may be refused
}

// open opens a tab for the program at base.
func open(t testing.TB, base string, width int64, scripts bool) *tab {
	t.Helper()
	if chrome == nil {
		t.Skip(chromeGone)
	}
	ctx, end := chromedp.NewContext(chrome, chromedp.WithNewBrowserContext())
	tb := &tab{t: t, ctx: ctx, base: base}
	must.Do(t, chromedp.Listen(ctx, tb.hear))
	must.Get(chromedp.Call(ctx, log.Enable, struct{}{}))(t)
	must.Get(chromedp.Call(ctx, network.Enable, network.EnableParams{}))(t)
	must.Get(chromedp.Call(ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: !scripts}))(t)
	tb.size(width)
	t.Cleanup(func() {
		tb.mu.Lock()
		for _, wrong := range tb.wrong {
			t.Error(wrong)
		}
		tb.mu.Unlock()
		end()
	})
	return tb
}

func (tb *tab) hear(event any) {
	var wrong string
	switch e := event.(type) {
	case *page.EventJavascriptDialogOpening:
		wrong = "a dialog opens: " + e.Message
	case *runtime.EventExceptionThrown:
		wrong = "a script fails: " + e.ExceptionDetails.Text
	case *runtime.EventConsoleAPICalled:
		wrong = "a script writes to the console"
	case *log.EventEntryAdded:
		if strings.HasPrefix(e.Entry.Text, "The Cross-Origin-Opener-Policy header has been ignored, because the URL's origin was untrustworthy.") {
			break // so it is without TLS, by a name
		}
		if e.Entry.Level == log.EntryLevelError || e.Entry.Source == log.EntrySourceSecurity {
			wrong = fmt.Sprintf("the browser logs: %s %s", e.Entry.Text, e.Entry.URL)
		}
	case *network.EventRequestWillBeSent:
		if !strings.HasPrefix(e.Request.URL, tb.base+"/") {
			wrong = "it asks another place: " + e.Request.URL
		}
	}
	tb.mu.Lock()
	defer tb.mu.Unlock()
	if tb.abroad && !strings.HasPrefix(wrong, "a dialog") {
		return
	}
	if wrong != "" && !(tb.refused && strings.Contains(wrong, "status of 4")) {
		tb.wrong = append(tb.wrong, wrong)
	}
}

// size sets the width of the window.
func (tb *tab) size(width int64) {
	tb.t.Helper()
	must.Do(tb.t, chromedp.Do(tb.ctx, chromedp.EmulateViewport(width, 900)))
}

// visit opens a page of the program.
func (tb *tab) visit(path string) {
	tb.t.Helper()
	if err := chromedp.Do(tb.ctx, chromedp.Navigate(tb.base+path)); err != nil {
		tb.t.Fatalf("%s: %v", path, err)
	}
}

// eval is what an expression is in the page.
func eval[T any](tb *tab, expression string) T {
	tb.t.Helper()
	value, err := chromedp.Run(tb.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		tb.t.Fatalf("%s: %v", short(expression), err)
	}
	return value
}

// short is an expression as an error names it.
func short(text string) string { return text[:min(len(text), 200)] }

// await waits until an expression is true in the page.
func (tb *tab) await(expression string) {
	tb.t.Helper()
	for ends := time.Now().Add(patience); ; time.Sleep(30 * time.Millisecond) {
		is, err := chromedp.Run(tb.ctx, chromedp.Evaluate[bool]("!!("+expression+")"))
		if err == nil && is {
			return
		}
		if time.Now().After(ends) {
			where, _ := chromedp.Run(tb.ctx, chromedp.Evaluate[string](`location.pathname + location.search + "\n" + (document.querySelector("main") || document.body).innerText`))
			tb.t.Fatalf("not seen: %s (%v); the page is %.1500s", expression, err, where)
		}
	}
}

// sees waits until the page says a text.
func (tb *tab) sees(text string) {
	tb.t.Helper()
	tb.await(fmt.Sprintf("document.body && document.body.innerText.includes(%q)", text))
}

// follow clicks the link or button that says text, and waits for the page behind it.
func (tb *tab) follow(text string) {
	tb.t.Helper()
	find := fmt.Sprintf(`[...document.querySelectorAll("a, button")].find(e => e.textContent.trim() === %q)`, text)
	tb.await(find)
	eval[bool](tb, "(() => { window.before = true; "+find+".click(); return true })()")
	tb.await("window.before === undefined && document.readyState === 'complete'")
}

// press presses the button that says text in the row of a job, as often as that and once more for each of again, and waits for
// the page behind it.
func (tb *tab) press(text, jid string, again ...string) {
	tb.t.Helper()
	find := fmt.Sprintf(`[...document.querySelectorAll("tbody tr")].filter(r => r.querySelector("th").textContent.includes(%q)).map(r => [...r.querySelectorAll("button")].find(b => b.firstChild.textContent.trim() === %q))[0]`, jid, text)
	tb.await(find)
	eval[bool](tb, fmt.Sprintf("(() => { window.before = true; const b = %s; for (let i = 0; i <= %d; i++) b.click(); return true })()", find, len(again)))
	tb.await("window.before === undefined && document.readyState === 'complete'")
}

// fill sets the field of that name.
func (tb *tab) fill(name, value string) {
	tb.t.Helper()
	field := fmt.Sprintf(`document.querySelector("main [name=%s]")`, name)
	tb.await(field)
	eval[bool](tb, fmt.Sprintf("(() => { %s.value = %q; return true })()", field, value))
}

// quoted is a text in an expression.
func quoted(text string) string { return fmt.Sprintf("%q", text) }
