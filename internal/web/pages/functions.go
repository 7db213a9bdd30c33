package pages

import (
	"errors"
	"fmt"
	"hash/fnv"
	"html/template"
	"math"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"oarlock/internal/screen"
	"oarlock/internal/web/assets"
)

// functions are those of the templates.
func (b *Book) functions() template.FuncMap {
	return template.FuncMap{
		"visible": visible, // which every template calls, see showVisibly
		"link":    b.Link,
		"asset":   func(name string) string { return b.prefix + "/assets/" + assets.Name(name) },
		"query":   Query,
		"map":     mapOf,
		"span":    Span,
		"count":   screen.Count,
		"some":    screen.Some,
		"bytes":   Bytes,
		"rate":    RateWords,
		"number":  numberWords,
		"clock":   clockWords,
		"stamp":   stampWords,
		"state":   StateBadge,
		"roll":    rollBadge,
		"short":   func(most int, text string) string { return screen.Shorten(text, most) },
		"ticks":   ticks,
		"lines":   func(text string) Lines { return Lines(text) },
		"id":      idOf,
		"escape":  url.QueryEscape, // for values of forms, of which browsers change line breaks
		"raw":     func(text string) Raw { return Raw(text) },
		"add":     func(a, b int) int { return a + b },
	}
}

// idOf names something in the keys of what is live: a name that is long by its beginning and a sum, for it stands there often.
func idOf(name string) string {
	const most = 64
	if len(name) <= most {
		return name
	}
	sum := fnv.New64a()
	_, _ = sum.Write([]byte(name)) // never fails
	return fmt.Sprintf("%s…%x", strings.ToValidUTF8(name[:32], ""), sum.Sum64())
}

// mostName is how long a name may be that stands in a path.
const mostName = 1024

// Link is the path of a page below the prefix, of segments of which each may be any text: Link("queues", "a/b") is
// /queues/a%2Fb. One that a path cannot carry (".", "..", "", "_") goes into the query. It is "" if a segment is too long, or two would have to go into the query.
func (b *Book) Link(segments ...string) string {
	path, query := b.prefix, ""
	for _, segment := range segments {
		if len(segment) > mostName {
			return ""
		}
		switch segment {
		case "", ".", "..", "_":
			if query != "" {
				return "" // it has room for one
			}
			query = "?name=" + url.QueryEscape(segment)
			segment = "_"
		}
		path += "/" + url.PathEscape(segment)
	}
	if len(segments) == 0 {
		path += "/"
	}
	return path + query
}

// Query puts names and values behind a path, which may have a query; empty values are left out.
func Query(path string, pairs ...any) (string, error) {
	if len(pairs)%2 != 0 {
		return "", errors.New("query wants names and values")
	}
	for i := 0; i < len(pairs); i += 2 {
		value := fmt.Sprint(pairs[i+1])
		if value == "" || path == "" {
			continue
		}
		mark := "?"
		if strings.Contains(path, "?") {
			mark = "&"
		}
		path += mark + url.QueryEscape(fmt.Sprint(pairs[i])) + "=" + url.QueryEscape(value)
	}
	return path, nil
}

// mapOf makes a map of names and values, for a part that wants several.
func mapOf(pairs ...any) (map[string]any, error) {
	if len(pairs)%2 != 0 {
		return nil, errors.New("map wants names and values")
	}
	m := map[string]any{}
	for i := 0; i < len(pairs); i += 2 {
		m[fmt.Sprint(pairs[i])] = pairs[i+1]
	}
	return m, nil
}

// Span is a number of seconds with one unit, or two where the second says something: "4 s", "3 min", "2 h 5 min", "3 d 4 h".
func Span(seconds float64) string {
	const most = 100 * 365 * 86400
	if math.IsNaN(seconds) {
		return "–"
	}
	sign := ""
	if seconds < 0 {
		sign, seconds = "−", -seconds
	}
	seconds = min(seconds, most)
	two := func(a int, unit string, b int, small string) string {
		if b == 0 {
			return fmt.Sprintf("%s%d %s", sign, a, unit)
		}
		return fmt.Sprintf("%s%d %s %d %s", sign, a, unit, b, small)
	}
	whole := int(seconds)
	switch {
	case seconds == 0:
		return "0 s"
	case seconds < 0.0995:
		return fmt.Sprintf("%s%.2g ms", sign, seconds*1e3)
	case seconds < 0.9995:
		return fmt.Sprintf("%s%.0f ms", sign, seconds*1e3)
	case seconds < 9.95:
		return sign + strings.TrimSuffix(fmt.Sprintf("%.1f", seconds), ".0") + " s"
	case whole < 120:
		return fmt.Sprintf("%s%d s", sign, whole)
	case whole < 600:
		return two(whole/60, "min", whole%60, "s")
	case whole < 7200:
		return fmt.Sprintf("%s%d min", sign, whole/60)
	case whole < 2*86400:
		return two(whole/3600, "h", whole%3600/60, "min")
	}
	return two(whole/86400, "d", whole%86400/3600, "h")
}

// Ago is Span of how long ago something was; of what is yet to come, that whoever said so has a clock that is ahead of that of Redis.
func Ago(seconds float64) string {
	if math.IsNaN(seconds) || seconds > 1e9 {
		return "–"
	}
	if seconds < -2 {
		return "by a clock " + Span(-seconds) + " ahead"
	}
	return Span(max(0, seconds)) + " ago"
}

// RateWords is a number of things per second.
func RateWords(perSecond float64) string {
	switch {
	case math.IsNaN(perSecond):
		return "–"
	case perSecond == 0:
		return "0/s"
	case perSecond < 1.0/60:
		return fmt.Sprintf("%.2g/h", perSecond*3600)
	case perSecond < 1:
		return fmt.Sprintf("%.2g/min", perSecond*60)
	case perSecond < 100:
		return strings.TrimSuffix(fmt.Sprintf("%.1f", perSecond), ".0") + "/s"
	}
	return screen.Count(int(math.Round(perSecond))) + "/s"
}

func numberWords(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// Bytes is a size in words.
func Bytes(n any) string {
	switch n := n.(type) {
	case int64:
		return humanize.IBytes(uint64(max(n, 0)))
	case int:
		return humanize.IBytes(uint64(max(n, 0)))
	}
	return fmt.Sprint(n)
}

// moment is a time in seconds since the epoch, and whether it can be written as a date.
func moment(at float64) (time.Time, bool) {
	return time.UnixMilli(int64(at * 1e3)).UTC(), at != 0 && !math.IsNaN(at) && math.Abs(at) < screen.NoYear
}

// clockWords is a moment in UTC, for people.
func clockWords(at float64) string {
	when, is := moment(at)
	switch {
	case is:
		return when.Format("2006-01-02 15:04:05") + " UTC"
	case at >= screen.NoYear:
		return "never"
	}
	return "–"
}

// stampWords is a moment for the attribute datetime; "" if it is none.
func stampWords(at float64) string {
	when, is := moment(at)
	if !is || when.Year() < 1 || when.Year() > 9999 {
		return ""
	}
	return when.Format(time.RFC3339)
}

// said is a part of a sentence.
type said struct {
	Text string
	Code bool // it stood between backquotes: a command
}

// ticks parts a sentence at its backquotes; one without a partner stays.
func ticks(text string) []said {
	var all []said
	for i := 0; ; i++ {
		part, rest, more := strings.Cut(text, "`")
		if !more || i%2 == 0 && !strings.Contains(rest, "`") {
			return append(all, said{Text: text})
		}
		all = append(all, said{part, i%2 == 1})
		text = rest
	}
}

// rollBadge is how the end of a roll is shown.
func rollBadge(result string) Badge {
	switch result {
	case "done":
		return Badge{Good, "✔", result}
	case "given_up":
		return Badge{Bad, "▲", "given up"}
	}
	return Badge{Plain, "·", result}
}

// StateBadge is how the state of a job, a slot or a supervisor is shown.
func StateBadge(state string) Badge {
	switch state {
	case "running", "busy":
		return Badge{Good, "●", state}
	case "complete", "ready", "flows":
		return Badge{Good, "✔", state}
	case "waiting", "scheduled", "starting", "staying", "resumed":
		return Badge{Plain, "○", state}
	case "barren", "abstains":
		return Badge{Bad, "▲", "takes nothing"}
	case "slow":
		return Badge{Bad, "▲", "goes slowly"}
	case "not ready":
		return Badge{Warn, "▲", state}
	case "failed", "stalled", "gone", "away":
		return Badge{Bad, "▲", state}
	case "paused", "quiet", "draining", "backoff", "blocked", "rolling", "leaving":
		return Badge{Warn, "‖", state}
	case "depends", "throttled", "behind", "parked", "shelved":
		return Badge{Plain, "◐", state}
	}
	return Badge{Plain, "·", state}
}
