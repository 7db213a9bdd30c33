package show

import (
	"io"

	"oarlock/internal/explain"
	"oarlock/internal/ops"
	"oarlock/internal/screen"
)

// Keys lists keys of a queue.
func Keys(w io.Writer, v ops.Keys) {
	var rows [][]string
	for _, k := range v.Items {
		holder := k.Holder
		if holder == "" {
			holder = "-"
		}
		rows = append(rows, []string{k.Key, holder, screen.Count(k.Behind), screen.Ago(k.Since, v.AsOf)})
	}
	empty := "Nobody stands behind another there; `oarlock key ls " + screen.InShell(v.Queue) + " --by name` lists all keys."
	if v.By == ops.ByName {
		empty = "No job that waits or runs there has a key."
	}
	screen.Table(w, empty,
		[]string{"KEY", "HAS THE TURN", "BEHIND", "WAITING FOR"}, rows)
	if more := v.Total - len(v.Items); more > 0 {
		screen.Printf(w, "%s in all; %s behind\n", screen.Some(v.Total, "key"), screen.Some(v.Behind, "job"))
	}
}

// Key shows one key.
func Key(w io.Writer, now float64, k ops.Key) {
	switch {
	case k.Holder != "":
		screen.Printf(w, "%s: %s has the turn\n", k.Key, k.Holder)
	case k.Until > now:
		screen.Printf(w, "%s: nobody has the turn before the end of a run that was taken from its worker, %s at the latest\n", k.Key, explain.DueWords(now, k.Until))
	default:
		screen.Printf(w, "%s: nobody has the turn; a supervisor gives it on with its next look\n", k.Key)
	}
	for _, sentence := range k.Why {
		screen.Printf(w, "  %s\n", sentence)
	}
	if k.Since > 0 {
		screen.Printf(w, "behind: %s, for %s\n", screen.Some(k.Behind, "job"), screen.Ago(k.Since, now))
	} else {
		screen.Printf(w, "behind: %s\n", screen.Some(k.Behind, "job"))
	}
	for _, jid := range k.Next {
		screen.Printf(w, "  %s\n", jid)
	}
	if k.Behind > len(k.Next) {
		screen.PrintLine(w, "  …; --limit shows more")
	}
}

// PassedKey says from whom a turn was taken, or would be.
func PassedKey(w io.Writer, v ops.PassedKey) {
	switch {
	case v.DryRun:
		screen.Printf(w, "the turn of %s would be taken from %s, which failed\n", v.Key, v.From)
	case v.From == "":
		screen.Printf(w, "%s goes on\n", v.Key)
	default:
		screen.Printf(w, "%s goes on without %s, which failed\n", v.Key, v.From)
	}
}

// DroppedKey says how many jobs were canceled, or would be.
func DroppedKey(w io.Writer, v ops.DroppedKey) {
	verb := "canceled"
	if v.DryRun {
		verb = "would be canceled"
	}
	screen.Printf(w, "%s of key %s %s\n", screen.Some(v.Jobs, "job"), v.Key, verb)
	if v.Kept == 0 {
		return
	}
	screen.Printf(w, "%s left:\n", screen.Some(v.Kept, "job"))
	for _, each := range v.Left[:min(len(v.Left), 10)] {
		screen.Printf(w, "  %s: %s\n", each.JID, each.Why)
	}
	if v.Kept > 10 {
		screen.PrintLine(w, "  …; --json names more")
	}
}

// FreedKeys says how many jobs stand behind others no more, or would.
func FreedKeys(w io.Writer, v ops.FreedKeys) {
	if v.DryRun {
		screen.Printf(w, "%s would lose its order: %s, and %s behind\n", v.Queue, screen.Some(v.Keys, "key"), screen.Some(v.Jobs, "job"))
		return
	}
	screen.Printf(w, "%s has no order any more: %s released\n", v.Queue, screen.Some(v.Jobs, "job"))
}
