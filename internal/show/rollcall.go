package show

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"oarlock/internal/rollcall"
	"oarlock/internal/screen"
)

// Roll shows what the supervisors of a place said, who of them did not, and what is known of those; now is in seconds since the
// epoch, by Redis.
func Roll(w io.Writer, roll rollcall.Roll, place string, now float64) {
	defer unheard(w, roll, now)
	if len(roll.Items) == 0 && roll.Missing == 0 && roll.Unread == 0 {
		screen.PrintLine(w, screen.Paint(w, screen.Red, "No supervisor "+place+" answers; those of older versions cannot, and web.roll_call = false keeps one from it."))
		return
	}
	colour := screen.Green
	if roll.Missing > 0 || roll.Unread > 0 {
		colour = screen.Red
	}
	screen.PrintLine(w, screen.Paint(w, colour, Answered(roll)+" "+place+"."))
	var rows [][]string
	for _, a := range roll.Items {
		rows = append(rows, answerRow(a))
	}
	screen.Table(w, "", []string{"HOST", "SUPERVISOR", "PID", "VERSION", "UP", "STATE", "POOLS", "BUSY", "REDIS", "PAGE"}, rows)
	for _, a := range roll.Items {
		for _, text := range a.Disagrees {
			screen.PrintLine(w, screen.Paint(w, screen.Yellow, screen.Shorten(a.Host, 30)+": "+screen.Shorten(text, 400)))
		}
	}
	if versions := versionsOf(roll); len(versions) > 1 {
		screen.PrintLine(w, screen.Paint(w, screen.Yellow, fmt.Sprintf("They are of %d versions: %s.", len(versions), strings.Join(versions, ", "))))
	}
}

// unheard shows what is known of supervisors that did not answer.
func unheard(w io.Writer, roll rollcall.Roll, now float64) {
	if len(roll.Unheard) == 0 {
		return
	}
	screen.PrintLine(w, screen.Paint(w, screen.Yellow, "Did not answer, and are known by the jobs that they took only (`oarlock worker ls`):"))
	var rows [][]string
	for _, u := range roll.Unheard {
		rows = append(rows, []string{screen.Shorten(u.Name, 30), fmt.Sprint(u.PID), screen.Shorten(strings.Join(u.Pools, ", "), 40), screen.Ago(min(u.Seen, now), now), u.Says()})
	}
	screen.Table(w, "", []string{"SUPERVISOR", "PID", "POOLS", "SEEN", "KNOWN OF IT"}, rows)
}

// UnheardNames are the supervisors that did not answer, as far as Redis knows them.
func UnheardNames(roll rollcall.Roll) string {
	var names []string
	for _, u := range roll.Unheard {
		names = append(names, u.Name)
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), ", ")
}

// Answered says in words how many answered, and who did not.
func Answered(roll rollcall.Roll) string {
	text := screen.Some(roll.Answered, "supervisor") + " answered"
	switch {
	case roll.Asked < 0:
		text += "; how many there are cannot be known in a cluster"
	case roll.Missing > 0:
		text = fmt.Sprintf("%s of %s answered, %s did not", screen.Count(roll.Answered), screen.Some(roll.Asked, "supervisor"), screen.Count(roll.Missing))
		if len(roll.Silent) > 0 {
			text += ", of those that did lately: " + strings.Join(roll.Silent, ", ")
		}
	}
	if roll.Unread > 0 {
		text += fmt.Sprintf("; %s could not be read", screen.Some(roll.Unread, "answer"))
	}
	return text
}

func answerRow(a rollcall.Answer) []string {
	s := &a.Status
	redis := "ok"
	if what, _ := s.RedisTrouble(); what != "" {
		redis = what
	}
	page := a.URL
	if page == "" {
		page = "-"
	}
	return []string{
		screen.Shorten(a.Host, 30), screen.Shorten(s.Name, 30), fmt.Sprint(s.PID), screen.Shorten(a.Version, 20), screen.Seconds(s.Up), stateOf(a),
		screen.Count(a.Sums.Pools), fmt.Sprintf("%s/%s", screen.Count(a.Sums.Busy), screen.Count(a.Room())), redis, screen.Shorten(page, 60),
	}
}

// stateOf is what is to be known first of a supervisor.
func stateOf(a rollcall.Answer) string {
	s := &a.Status
	state := "ready"
	switch {
	case s.Draining:
		state = "draining"
	case s.Quiet:
		state = "quiet"
	case s.Abstains != "":
		state = "takes no jobs"
	case !s.Ready:
		state = "not ready"
	}
	if n := a.Sums.Breakers; n > 0 {
		state += fmt.Sprintf(", %s slow", screen.Some(n, "pool"))
	}
	if n := a.Sums.Rolling; n > 0 {
		state += fmt.Sprintf(", %s in change", screen.Some(n, "pool"))
	}
	return state
}

// versionsOf are the versions that run, each once.
func versionsOf(roll rollcall.Roll) []string {
	var versions []string
	for _, a := range roll.Items {
		versions = append(versions, screen.Shorten(a.Version, 20))
	}
	slices.Sort(versions)
	return slices.Compact(versions)
}
