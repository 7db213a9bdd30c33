package browser

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"oarlock/internal/must"
	"oarlock/internal/web/pagestest"
)

// talking is a program whose children print what others wrote, as lines and as progress, and fail for reasons that others name.
const talking = `
[supervisor]
state_dir = "%[1]s/state"
[pools.talks]
queues = ["talks"]
command = ["sh", "talks.sh"]
input = "data"
[pools.fails]
queues = ["fails"]
command = ["sh", "fails.sh"]
input = "data"
children = 3
`

// What others wrote does nothing, whoever looks at whatever page of the real program, and whatever comes by its stream: in names
// of queues, classes, tags, groups, jobs, in data, messages, lines and progress. Every page that a link leads to is looked at, a few
// of each kind.
func TestHostileProgram(t *testing.T) {
	if testing.Short() {
		t.Skip("long: one flow is enough")
	}
	p := prepare(t, talking)
	text := func(value any) string {
		line := must.Get(json.Marshal(value))(t)
		return string(line)
	}
	var says, fails, jobs, put strings.Builder
	for i, hostile := range pagestest.Hostile {
		fmt.Fprintln(&says, strings.ReplaceAll(hostile, "\n", " "))
		fmt.Fprintln(&says, text(map[string]any{"@": "progress", "run": "RUN", "pct": i, "message": hostile}))
		fmt.Fprintln(&fails, text(map[string]any{"@": "fail", "run": "RUN", "group": hostile, "message": hostile}))
		fmt.Fprintln(&jobs, text(map[string]any{"queue": "fails", "klass": hostile, "data": i + 1, "tags": []string{hostile, "t"}}))
		fmt.Fprintln(&put, text(map[string]any{"queue": hostile, "jid": strings.ReplaceAll(hostile, "\x00", "\x01"), "klass": hostile, "data": hostile, "tags": []string{hostile, "t"}, "throttles": []string{hostile}}))
	}
	p.write("talks.sh", "read -r job\nwhile [ ! -e enough ]; do sed s/RUN/$OARLOCK_RUN/ says.txt; sleep 0.3; done\n")
	p.write("fails.sh", "read -r n\nsed -n ${n}p fails.txt >&2\nsed -n ${n}p fails.txt | sed s/RUN/$OARLOCK_RUN/\n")
	p.write("says.txt", says.String())
	p.write("fails.txt", fails.String())
	p.begin(func(line string) bool {
		at := strings.Index(line, "http://")
		if at >= 0 && strings.Contains(line, "key=") {
			p.key = line[at:]
		}
		return p.key != ""
	}, "dev", "--redis", "spawn")
	u := must.Get(url.Parse(p.key))(t)
	p.base = u.Scheme + "://" + u.Host
	p.run(put.String(), "put", "talks", "--jobs", "--file", "-", "--force")
	p.run(jobs.String(), "put", "fails", "--jobs", "--file", "-", "--force")
	p.run("", "put", "talks", "{}", "--klass", pagestest.Hostile[0])
	tb := p.enter(t, 1280, true)
	tb.mu.Lock()
	tb.refused = true
	tb.mu.Unlock()
	tb.visit("/pools/talks/0")
	tb.await(`document.querySelector("[data-log]").lastElementChild && (window.first ??= document.querySelector("[data-log]").lastElementChild.textContent)`)
	tb.await(`document.querySelector("#live").textContent.includes("live")`)
	tb.await(`document.querySelector("[data-log]").lastElementChild.textContent !== window.first`)
	tb.visit("/failures")
	tb.sees("script")
	crawl(t, tb)
	p.write("enough", "")
}

// crawl looks at all pages that links lead to from the first, a few of each kind.
func crawl(t *testing.T, tb *tab) {
	t.Helper()
	most := 2
	if !testing.Short() {
		most = 100
	}
	seen, kinds, next := map[string]bool{}, map[string]int{}, []string{"/", "/supervisors", "/help", "/parked"}
	for len(next) > 0 {
		path := next[0]
		next = next[1:]
		place, query, _ := strings.Cut(path, "?")
		parts := strings.Split(place, "/")
		kind := parts[1]
		for _, name := range parts[min(len(parts), 3):] { // the verbs of forms, and the like
			kind += "/" + name
		}
		if len(parts) > 2 {
			kind += " one"
		}
		if query, err := url.ParseQuery(query); err == nil {
			for _, name := range []string{"state", "sort", "cursor", "day"} {
				if query.Has(name) {
					kind += " " + name
				}
			}
		}
		if seen[path] || kinds[kind] >= most || strings.HasPrefix(path, "/prefer") || strings.Contains(path, "refresh=") {
			continue
		}
		seen[path] = true
		kinds[kind]++
		tb.visit(path)
		if n := eval[int64](tb, "document.scripts.length + document.querySelectorAll('img, iframe, object, embed, base, animate').length"); n != 1 {
			t.Errorf("%s has %d scripts and the like", path, n)
		}
		if wide := eval[int64](tb, "document.documentElement.scrollWidth"); wide > 1280 {
			t.Errorf("%s is %d wide: %s", path, wide, eval[string](tb, widest))
		}
		next = append(next, eval[[]string](tb, `[...document.querySelectorAll("a[href]")].filter(a => a.origin === location.origin).map(a => a.pathname + a.search)`)...)
	}
	if len(kinds) < 30 {
		t.Errorf("only %d kinds of pages were met: %v", len(kinds), kinds)
	}
	t.Logf("%d pages of %d kinds", len(seen), len(kinds))
}
