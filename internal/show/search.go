package show

import (
	"io"

	"oarlock/internal/ops"
	"oarlock/internal/screen"
)

// looksAt is which command shows a thing that was found, by its kind.
var looksAt = map[string]string{
	"job": "oarlock job show", "recurring": "oarlock recur show", "queue": "oarlock queue show", "group": "oarlock failed ls", "tag": "oarlock tag show",
	"worker": "oarlock worker show", "throttle": "oarlock throttle show",
}

// Results tells what a search has found.
func Results(w io.Writer, r ops.Results) {
	if r.Jobs == nil {
		var rows [][]string
		for _, hit := range r.Hits {
			rows = append(rows, []string{hit.Kind, looksAt[hit.Kind] + " " + screen.InShell(hit.Name)})
		}
		screen.Table(w, "Nothing has that name.", []string{"FOUND", "SHOWN BY"}, rows)
		if none := ops.NotTerm(r.Query); none != "" && len(rows) == 0 {
			screen.PrintLine(w, none+".")
		}
		return
	}
	Jobs(w, "No job like that was found.", r.Jobs.Items)
	screen.Printf(w, "%s found; looked at %s of %s\n", screen.Some(len(r.Jobs.Items), "job"), screen.Count(r.Jobs.LookedAt), screen.Count(max(r.Jobs.Total, r.Jobs.LookedAt)))
	if r.Jobs.Next != "" {
		screen.Printf(w, "there is more to look at: --cursor %s\n", screen.InShell(r.Jobs.Next))
	}
}
