package browser

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"oarlock/internal/must"

	"github.com/chromedp/chromedp"
)

// showcase is a program with something of everything to look at.
const showcase = `
[supervisor]
state_dir = "%[1]s/state"
[pools.mail]
queues = ["mail", "newsletter"]
command = ["sh", "-c", "read -r job; echo connected to mx1; for p in 10 30 50 70 90; do echo \"{\\\"@\\\":\\\"progress\\\",\\\"run\\\":\\\"$OARLOCK_RUN\\\",\\\"pct\\\":$p,\\\"message\\\":\\\"sending\\\"}\"; echo 250 ok, $p of 100 recipients; sleep 0.9; done; echo closing connection"]
children = 6
input = "data"
[pools.thumbs]
queues = ["thumbs"]
command = ["python3", "-S", "%[1]s/resize.py"]
children = 2
input = "data"
[pools.keep]
queues = ["reports"]
mode = "reuse"
command = ["sh", "%[1]s/keep.sh"]
children = 4
`

// resize fails with a traceback.
const resize = `import json, sys, traceback
data = json.loads(sys.stdin.readline())
print("reading", data["path"], file=sys.stderr)
try:
    open("/pictures/" + data["path"])
except OSError:
    traceback.print_exc()
    sys.exit(1)
`

// TestScreenshots makes the screenshots of the README anew: OARLOCK_SCREENSHOTS is the directory for them.
func TestScreenshots(t *testing.T) {
	dir := os.Getenv("OARLOCK_SCREENSHOTS")
	if dir == "" {
		return // make screenshots asks for them
	}
	must.Do(t, os.MkdirAll(dir, 0o755))
	p := start(t, showcase)
	p.write("resize.py", resize)
	p.put("mail", "Send", 400, "")
	p.put("newsletter", "Send", 90, `,"priority":-1`)
	p.put("thumbs", "Resize", 40, `,"retries":0`)
	p.put("thumbs", "Crop", 3, `,"retries":0`)
	p.put("reports", "Report", 12, "")
	p.put("render", "Render", 19, "")
	p.put("reports", "Report", 3, `,"delay":5400`)
	p.run("", "queue", "pause", "render")
	p.run("", "recur", "add", "reports", `{"full": true}`, "--klass", "Report", "--cron", "0 4 * * Mon-Fri", "--zone", "Europe/Berlin", "--jid", "nightly")
	tb := p.enter(t, 1280, true)
	time.Sleep(100 * time.Second) // until there is something in the charts
	p.write("spoilt", "")
	p.run("", "recycle", "keep")
	tb.visit("/pools/keep")
	tb.await(`fetch(location.pathname, {cache: "no-store"}).then(r => r.text()).then(t => window.seen = t), (window.seen || "").includes("was given up")`)
	job := strings.Fields(p.run("", "failed", "ls", "exit-1"))
	for name, shot := range map[string]struct {
		path, theme   string
		width, height int64
	}{
		"overview": {"/", "light", 1280, 860}, "failure": {"/failures/exit-1", "light", 1280, 760}, "job": {"/jobs/" + jidIn(job), "light", 1280, 900},
		"slot": {"/pools/mail/0", "dark", 1280, 640}, "roll": {"/pools/keep", "light", 1280, 640}, "phone": {"/", "dark", 320, 860},
	} {
		must.Do(t, chromedp.Do(tb.ctx, chromedp.EmulateViewport(shot.width, shot.height)))
		tb.visit(fmt.Sprintf("/prefer?theme=%s&back=%s", shot.theme, shot.path))
		tb.await(`document.querySelector("#live") === null || document.querySelector("#live").textContent.includes("live")`)
		time.Sleep(1500 * time.Millisecond) // what is live has come
		png := must.Get(chromedp.Run(tb.ctx, chromedp.CaptureScreenshot()))(t)
		must.Do(t, os.WriteFile(filepath.Join(dir, name+".png"), png, 0o644))
	}
}

// jidIn is the first jid among words.
func jidIn(words []string) string {
	for _, word := range words {
		if len(word) == 32 && strings.Trim(word, "0123456789abcdef") == "" {
			return word
		}
	}
	return "none"
}
