package show

import (
	"fmt"
	"io"
	"strings"

	"oarlock/internal/ops"
	"oarlock/internal/screen"
)

// Most says how many jobs may run.
func Most(most int) string {
	if most == 0 {
		return "any number of jobs at a time"
	}
	return "at most " + screen.Some(most, "job") + " at a time"
}

// MostBeside says how many jobs may run where more than their number limits them.
func MostBeside(most int, beside []string) string {
	switch {
	case len(beside) == 0:
		return Most(most)
	case most == 0:
		return "limited by " + strings.Join(beside, ", ")
	}
	return Most(most) + ", and limited by " + strings.Join(beside, ", ")
}

// Throttles lists throttles.
func Throttles(w io.Writer, all []ops.Throttle) {
	var rows [][]string
	for _, t := range all {
		row := []string{t.ID, ops.LimitWords(t.Maximum, t.Limits), screen.Count(t.Used), screen.Count(t.Waiting), ttlWords(t.TTL), ""}
		if t.ByHand {
			row[5] = "set by hand"
		}
		if t.Damage != "" {
			row = []string{t.ID, "?", "?", "?", "?", t.Damage}
		}
		rows = append(rows, row)
	}
	screen.Table(w, "No throttle was set.", []string{"THROTTLE", "LIMIT", "HELD", "WAITING", "TTL", ""}, rows)
}

// Throttle shows a throttle, who holds it and who waits for it; now is in seconds since the epoch.
func Throttle(w io.Writer, v ops.Throttle, now float64) {
	most := MostBeside(v.Maximum, v.Limits)
	if v.Decider != nil && v.Maximum == 0 {
		most = "as many jobs at a time as its command lets start"
	}
	screen.Printf(w, "%s: %s\n", v.ID, most)
	if v.TTL > 0 {
		screen.Printf(w, "forgotten in: %s\n", screen.Seconds(v.TTL))
	}
	if v.ByHand {
		screen.Printf(w, "set by hand; the rules say: %s\n", MostBeside(*v.Rule, v.Limits))
	}
	if r := v.Rate; r != nil {
		next := "one start now"
		if r.Next > now {
			next = "the next start in " + screen.Seconds(r.Next-now)
		}
		screen.Printf(w, "starts: %s in %s at most, which lets %s\n", screen.Count(r.Starts), screen.Seconds(r.Period), next)
	}
	if v.Decider != nil {
		screen.PrintLine(w, v.Decider.Words(now))
	}
	screen.Printf(w, "places taken: %s\n", screen.Count(v.Used))
	namedJobs(w, "held by", v.Holders, len(v.Holders), "")
	namedJobs(w, "waited for by", v.Waiters, v.Waiting, v.BesideWords())
	if v.Unasked > 0 {
		screen.Printf(w, "not looked at yet: %s of the queue\n", screen.Some(v.Unasked, "job"))
	}
	throttleValues(w, v)
	waitlists(w, v, now)
	for _, holder := range v.Idle {
		screen.PrintLine(w, holder)
	}
}

// throttleValues shows how the values of a throttle stand.
func throttleValues(w io.Writer, v ops.Throttle) {
	var rows [][]string
	for _, value := range v.Values {
		share, most := "", "any"
		if value.Share > 0 {
			share = fmt.Sprintf("%g%%", value.Share*100)
		}
		if value.Cap > 0 {
			most = screen.Count(value.Cap)
		}
		rows = append(rows, []string{value.Value, share, most, screen.Count(value.Used), screen.Count(value.Waiting)})
	}
	if len(rows) > 0 {
		screen.Printf(w, "by %s:\n", v.By)
		screen.Table(w, "", []string{"VALUE", "SHARE", "PLACES", "TAKEN", "WAITING"}, rows)
	}
}

// waitlists shows who waits together.
func waitlists(w io.Writer, v ops.Throttle, now float64) {
	var rows [][]string
	for _, list := range v.Waitlists {
		rows = append(rows, []string{list.Queue, list.Party, screen.Count(list.Places), screen.Count(list.Jobs), screen.Ago(list.Since, now)})
	}
	if len(rows) > 0 {
		screen.Table(w, "", []string{"WAITLIST OF", "AS", "EACH TAKES", "JOBS", "NOTHING STARTED FOR"}, rows)
	}
}

// ttlWords says how long a throttle is kept.
func ttlWords(ttl float64) string {
	if ttl == 0 {
		return "for ever"
	}
	return screen.Seconds(ttl)
}

// namedJobs shows jobs of which some are known, one a line; beside is said of those that are not counted.
func namedJobs(w io.Writer, who string, known []string, all int, beside string) {
	if all == 0 {
		screen.Printf(w, "%s: no job%s\n", who, beside)
		return
	}
	screen.Printf(w, "%s: %s%s\n", who, screen.Some(all, "job"), beside)
	for _, jid := range known[:min(len(known), mostNamed)] {
		screen.Printf(w, "  %s\n", jid)
	}
	switch {
	case all > mostNamed && len(known) < all:
		screen.Printf(w, "  …; --json names %s\n", screen.Count(len(known)))
	case all > mostNamed:
		screen.PrintLine(w, "  …; --json names all")
	}
}
