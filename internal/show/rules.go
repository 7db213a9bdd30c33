package show

import (
	"fmt"
	"io"
	"strings"

	"oarlock/internal/ops"
	"oarlock/internal/rules"
	"oarlock/internal/screen"
)

// Rules shows the rules that count; now is in seconds since the epoch.
func Rules(w io.Writer, all ops.Rules, now float64) {
	if all.Version == "" || len(all.Rules) == 0 {
		screen.PrintLine(w, "There are no rules.")
		return
	}
	number, _, _ := strings.Cut(all.Version, "@")
	screen.Printf(w, "Rules %s, installed %s ago.\n", number, screen.Ago(all.Installed, now))
	var rows [][]string
	for _, r := range all.Rules {
		said := ops.RuleWords(r.Rule)
		if r.ByHand != nil {
			said += fmt.Sprintf("; limit %d by hand", *r.ByHand)
		}
		rows = append(rows, []string{r.Entry, said, r.Owner, screen.Count(r.Revision)})
	}
	screen.Table(w, "", []string{"RULE", "SAYS", "OF", "REVISION"}, rows)
}

// RuleChanges shows what becomes of rules, and what does not.
func RuleChanges(w io.Writer, changes []rules.Change, conflicts []rules.Conflict) {
	if len(changes)+len(conflicts) == 0 {
		screen.PrintLine(w, "Nothing changes.")
	}
	for _, c := range changes {
		switch c.Word {
		case "added":
			screen.Printf(w, "%s is added: %s\n", c.Entry, ops.RuleWords(c.Is))
		case "removed":
			screen.Printf(w, "%s is removed: %s\n", c.Entry, ops.RuleWords(c.Was))
			if len(c.NamedBy) > 0 {
				screen.Printf(w, "  %s: it is still named there, and limits none of these jobs any more\n", strings.Join(c.NamedBy, ", "))
			}
		case "changed":
			screen.Printf(w, "%s is changed: %s\n  before: %s\n", c.Entry, ops.RuleWords(c.Is), ops.RuleWords(c.Was))
		default:
			screen.Printf(w, "%s is %s, and says the same\n", c.Entry, c.Word)
		}
	}
	for _, c := range conflicts {
		screen.PrintLine(w, c.String())
	}
}

// Needs explains what a job would need.
func Needs(w io.Writer, n ops.Needs) {
	screen.Printf(w, "A job of class %s in queue %s:\n", n.Klass, n.Queue)
	if n.Table != "" && n.Table != n.Klass {
		screen.Printf(w, "  the rules of klass.%s count for it\n", n.Table)
	}
	switch {
	case n.Ruled:
	case n.LowFirst:
		screen.PrintLine(w, "  no rule but that of its priorities concerns the queue")
	default:
		screen.PrintLine(w, "  no rule concerns the queue: it is worked as any other")
	}
	for _, each := range n.Windows {
		screen.Printf(w, "  window %s\n", each.Words())
	}
	switch {
	case n.Bypass:
		screen.PrintLine(w, "  takes no places: bypass")
	case len(n.Places) == 0:
		screen.PrintLine(w, "  needs no places")
	default:
		screen.Printf(w, "  needs %s of each of these:\n", screen.Some(n.Weight, "place"))
	}
	if n.Unread {
		screen.PrintLine(w, "  its data has more than 64 KiB and is not looked into: a value that stands there counts as -")
	}
	var rows [][]string
	for _, p := range n.Places {
		rows = append(rows, []string{"   ", p.ID, p.Words(), fmt.Sprintf("%d taken", p.Used)})
	}
	if len(rows) > 0 {
		screen.Table(w, "", []string{"", "THROTTLE", "HAS", "NOW"}, rows)
	}
	screen.Printf(w, "  order: %s\n", n.OrderWords())
}

// Windows lists windows.
func Windows(w io.Writer, all []ops.NextWindow) {
	if len(all) == 0 {
		screen.PrintLine(w, "There is no window.")
	}
	for _, each := range all {
		screen.PrintLine(w, each.Words())
	}
}

// Window tells of a window, and of its next spans.
func Window(w io.Writer, each ops.NextWindow) {
	screen.PrintLine(w, each.Words())
	for _, span := range each.After {
		to := "and on"
		if span.To > 0 {
			to = ops.InZone(span.To, each.Zone)
		}
		screen.Printf(w, "  %s - %s\n", ops.InZone(span.From, each.Zone), to)
	}
}
