package show

import (
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

// Throttles lists throttles.
func Throttles(w io.Writer, all []ops.Throttle) {
	var rows [][]string
	for _, t := range all {
		row := []string{t.ID, screen.Count(t.Maximum), screen.Count(len(t.Holders)), screen.Count(len(t.Waiters)), ttlWords(t.TTL), ""}
		if t.Damage != "" {
			row = []string{t.ID, "?", "?", "?", "?", t.Damage}
		}
		rows = append(rows, row)
	}
	screen.Table(w, "No throttle was set.", []string{"THROTTLE", "LIMIT", "HELD", "WAITING", "TTL", ""}, rows)
}

// Throttle shows a throttle, who holds it and who waits for it.
func Throttle(w io.Writer, v ops.Throttle) {
	screen.Printf(w, "%s: %s\n", v.ID, Most(v.Maximum))
	if v.TTL > 0 {
		screen.Printf(w, "forgotten in: %s\n", screen.Seconds(v.TTL))
	}
	screen.Printf(w, "held by: %s\nwaited for by: %s\n", orNobody(v.Holders), orNobody(v.Waiters))
	for _, holder := range v.Idle {
		screen.PrintLine(w, holder)
	}
}

// ttlWords says how long a throttle is kept.
func ttlWords(ttl float64) string {
	if ttl == 0 {
		return "for ever"
	}
	return screen.Seconds(ttl)
}

// orNobody lists jids.
func orNobody(jids []string) string {
	if len(jids) == 0 {
		return "no job"
	}
	return strings.Join(jids, " ")
}
