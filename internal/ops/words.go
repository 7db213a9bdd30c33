package ops

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"oarlock/internal/screen"
)

// RuleWords writes a rule as its keys and values.
func RuleWords(rule json.RawMessage) string {
	var members map[string]any
	if json.Unmarshal(rule, &members) != nil {
		return string(rule)
	}
	var words []string
	for _, key := range slices.Sorted(maps.Keys(members)) {
		words = append(words, key+" "+screen.Compact(members[key]))
	}
	return strings.Join(words, ", ")
}

// Words say how many places of a throttle there are, and when the next may start by its rate, where that is not now.
func (p NeedsPlace) Words() string {
	var words []string
	switch {
	case p.Cap > 0 && p.Lent:
		words = append(words, fmt.Sprintf("%s, and more that nobody else needs", screen.Some(p.Cap, "place")))
	case p.Cap > 0:
		words = append(words, screen.Some(p.Cap, "place"))
	case p.Limit > 0:
		words = append(words, screen.Some(p.Limit, "place"))
	case p.Asks:
		words = append(words, "a command that decides")
	case p.Rate == "":
		words = append(words, "no limit")
	}
	if p.Rate != "" {
		starts, per, _ := strings.Cut(p.Rate, "/")
		rate := starts + " starts in " + per
		if starts == "1" {
			rate = "1 start in " + per
		}
		if p.Next > p.read {
			rate += ", the next in " + screen.Seconds(p.Next-p.read)
		}
		words = append(words, rate)
	}
	if p.ByHand {
		words = append(words, "set by hand")
	}
	return strings.Join(words, ", ")
}

// OrderWords say which job of the queue comes first.
func (n Needs) OrderWords() string {
	priority := "higher priority first"
	if n.LowFirst {
		priority = "lower priority first"
	}
	if n.FairBy != "" {
		turns := fmt.Sprintf("values of %s take turns, this job in that of %s", screen.InShell(n.FairBy), screen.InShell(n.Value))
		n.FairBy = ""
		if n.Slice > 0 || n.Ageing > 0 {
			return turns + "; " + n.OrderWords()
		}
		return priority + "; then " + turns + "; then by time"
	}
	switch {
	case n.Slice > 0:
		return fmt.Sprintf("by time, and within %s %s", screen.Seconds(n.Slice), priority)
	case n.Ageing > 0:
		return fmt.Sprintf("%s; %s of waiting is worth one point", priority, screen.Seconds(n.Ageing))
	}
	return priority + ", then by time"
}

// Words tell of a window: "night (Mon-Fri 22:00-06:00 Europe/Berlin) is shut; it opens Mon 2026-11-23 22:00 CET".
func (w NextWindow) Words() string {
	parts := strings.Split(w.Spec, "|")
	name := fmt.Sprintf("(%s, %s)", strings.Join(parts[1:], "; "), w.Zone)
	if w.Name != "" {
		name = w.Name + " " + name
	}
	state, then := "is shut", "it opens"
	if w.Open {
		state, then = "is open", "it shuts"
	}
	if w.Change == 0 {
		return name + " " + state + ", for the next 400 days at least"
	}
	return fmt.Sprintf("%s %s; %s %s%s", name, state, then, InZone(w.Change, w.Zone), w.MarginWords())
}

// MarginWords say, behind when a window shuts that is open, that nothing starts shortly before; "" where that is not so.
func (w NextWindow) MarginWords() string {
	switch {
	case !w.Open || w.Margin == 0 || w.Change == 0:
		return ""
	case w.closing():
		return ", and before that nothing starts any more"
	}
	return fmt.Sprintf(", and in the %s before that nothing starts", screen.Seconds(w.Margin))
}

// InZone tells a moment as a clock on the wall there shows it.
func InZone(at float64, zone string) string {
	where, err := time.LoadLocation(zone)
	if err != nil {
		where = time.UTC
	}
	return time.Unix(int64(at), 0).In(where).Format("Mon 2006-01-02 15:04:05 MST")
}
