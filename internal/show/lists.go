package show

import (
	"io"
	"time"

	"oarlock/internal/ops"
	"oarlock/internal/screen"
	"oarlock/queue"
)

// Lists lists lists with their numbers of entries.
func Lists(w io.Writer, lists []ops.ListCounts) {
	var rows [][]string
	for _, l := range lists {
		remark := ""
		if l.Damage != "" {
			remark = "cannot be read: " + l.Damage
		}
		rows = append(rows, []string{l.Name, screen.Count(l.Waiting), screen.Count(l.Progress), screen.Count(l.Failed), screen.Count(l.Broken), remark})
	}
	screen.Table(w, "There is no list that anybody works; a pool with list = \"NAME\" works one.",
		[]string{"LIST", "WAITING", "IN WORK", "FAILED", "BROKEN", ""}, rows)
}

// ListLine says in one line how a list is, at a time.
func ListLine(w io.Writer, at time.Time, l queue.ListCounts) {
	screen.Printf(w, "%s  %s waiting, %s in work, %s failed, %s broken\n", at.Format("15:04:05"),
		screen.Count(l.Waiting), screen.Count(l.Progress), screen.Count(l.Failed), screen.Count(l.Broken))
}

// entryWidth is how much of an entry a table shows.
const entryWidth = 100

// Entries lists entries of a part of a list; empty is what it says if there is none.
func Entries(w io.Writer, empty string, part ops.ListPart, entries []ops.Entry) {
	var rows [][]string
	for _, e := range entries {
		text := screen.Shorten(e.Entry, entryWidth)
		switch {
		case part == ops.PartInWork && e.Waits:
			rows = append(rows, []string{"put off", text})
		case part == ops.PartInWork:
			rows = append(rows, []string{screen.Moment(e.Since), text})
		case part == ops.PartBroken:
			rows = append(rows, []string{screen.Moment(e.Since), e.Why(), text})
		case part == ops.PartFailed:
			rows = append(rows, []string{screen.Moment(e.Failed), e.Group, screen.Gist(e.Message, entryWidth), text})
		default:
			rows = append(rows, []string{text})
		}
	}
	heading := map[ops.ListPart][]string{
		ops.PartWaiting: {"ENTRY"}, ops.PartInWork: {"LAST SIGN", "ENTRY"},
		ops.PartBroken: {"FOUND", "WHY", "ENTRY"}, ops.PartFailed: {"FAILED", "GROUP", "MESSAGE", "ENTRY"},
	}[part]
	screen.Table(w, empty, heading, rows)
}
