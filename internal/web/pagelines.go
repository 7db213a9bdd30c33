package web

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"oarlock/internal/hub"
	"oarlock/internal/web/pages"
)

// shownLines is how many of the last lines of a slot a page shows.
const shownLines = 200

// lines are the last lines of a slot, of one job or, with "", of all.
func (a *App) lines(pool string, slot int, jid string) []pages.LogLine {
	if a.o.Hub == nil {
		return nil
	}
	all := a.ofJob(a.o.Hub.Lines(pool, slot, 0, 0), jid)
	var shown []pages.LogLine
	for _, line := range all[max(0, len(all)-shownLines):] {
		shown = append(shown, a.logLine(line))
	}
	return shown
}

// ofJob are the lines of one job; with "", all.
func (a *App) ofJob(lines []hub.Line, jid string) []hub.Line {
	if jid == "" {
		return lines
	}
	return slices.DeleteFunc(lines, func(l hub.Line) bool { return l.JID != jid })
}

// logLine is a line as it is shown, without what is secret.
func (a *App) logLine(l hub.Line) pages.LogLine {
	at := time.UnixMilli(int64(l.At * 1e3)).UTC()
	text, _ := a.redacted(l.Text)
	return pages.LogLine{At: at.Format("15:04:05.000"), Stream: strings.TrimSpace(l.Stream + " " + l.Level), JID: l.JID, Text: text}
}

// linesOf gives what the child of a slot, or one that works a job, printed since it was called last; nil if a view has
// no lines. What is on the page already it leaves out.
func (a *App) linesOf(view *http.Request) func() []pages.LogLine {
	var names []string
	for segment := range strings.SplitSeq(strings.Trim(view.URL.EscapedPath(), "/"), "/") {
		name, err := url.PathUnescape(segment)
		if err != nil {
			return nil
		}
		names = append(names, name)
	}
	pool, slot, jid := "", 0, ""
	switch {
	case a.o.Hub == nil:
		return nil
	case len(names) == 3 && names[0] == "pools":
		n, err := strconv.Atoi(names[2])
		if err != nil {
			return nil
		}
		pool, slot = names[1], n
	case len(names) == 2 && names[0] == "jobs":
		run, _ := a.runsHere(names[1])
		if run == nil {
			return nil
		}
		pool, slot, jid = run.Pool, run.Slot, names[1]
	default:
		return nil
	}
	after := uint64(0)
	if last := a.o.Hub.Lines(pool, slot, 0, 1); len(last) > 0 {
		after = last[0].N
	}
	return func() []pages.LogLine {
		fresh := a.o.Hub.Lines(pool, slot, after, shownLines)
		if len(fresh) == 0 {
			return nil
		}
		after = fresh[len(fresh)-1].N
		var shown []pages.LogLine
		for _, line := range a.ofJob(fresh, jid) {
			shown = append(shown, a.logLine(line))
		}
		return shown
	}
}
