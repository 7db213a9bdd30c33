package show

import (
	"io"

	"oarlock/internal/ops"
	"oarlock/internal/screen"
)

// looksAt is which command shows a thing that was found, by its kind.
var looksAt = map[string]string{
	"job": "oarlock job show", "recurring": "oarlock recur show", "queue": "oarlock queue show", "group": "oarlock failed ls", "tag": "oarlock tag show",
	"worker": "oarlock worker show", "throttle": "oarlock throttle show", "key": "oarlock key show",
}

// Results tells what a search has found.
func Results(w io.Writer, r ops.Results) {
	var rows [][]string
	for _, hit := range r.Hits {
		name := screen.InShell(hit.Name)
		if hit.Queue != "" {
			name = screen.InShell(hit.Queue) + " " + name
		}
		rows = append(rows, []string{hit.Kind, looksAt[hit.Kind] + " " + name})
	}
	if r.Jobs == nil || len(rows) > 0 {
		screen.Table(w, "Nothing has that name.", []string{"FOUND", "SHOWN BY"}, rows)
	}
	if r.Jobs == nil {
		if none := ops.NotTerm(r.Query); none != "" && len(rows) == 0 {
			screen.PrintLine(w, none+".")
		}
		return
	}
	if len(rows) > 0 {
		screen.PrintLine(w)
	}
	empty := "No job like that was found."
	if r.Where != nil && *r.Where == (ops.Filter{Key: r.Where.Key}) {
		empty = "No failed job of that key was found."
	}
	Jobs(w, empty, r.Jobs.Items)
	screen.Printf(w, "%s found; looked at %s of %s\n", screen.Some(len(r.Jobs.Items), "job"), screen.Count(r.Jobs.LookedAt), screen.Count(max(r.Jobs.Total, r.Jobs.LookedAt)))
	if r.Jobs.Next != "" {
		screen.Printf(w, "there is more to look at: --cursor %s\n", screen.InShell(r.Jobs.Next))
	}
}
