package doctor

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"oarlock/queue"
)

// Lists looks at the lists that are worked here, with their timeouts (0 of those that become jobs), and at those that Redis
// knows to be worked. With Fix it does about what is in work what a monitor would.
func (d *Doctor) Lists(ctx context.Context, worked map[string]time.Duration) error {
	names, err := d.Client.KnownLists(ctx)
	if err != nil {
		return d.hidden("lists", err)
	}
	names = slices.Compact(slices.Sorted(slices.Values(slices.AppendSeq(names, maps.Keys(worked)))))
	if len(names) == 0 {
		return nil
	}
	counts, err := d.Client.CountLists(ctx, names)
	if err != nil {
		return d.hidden("lists", err)
	}
	wrong := false
	for i, name := range names {
		timeout, here := worked[name]
		odd, err := d.list(ctx, queue.List{Name: name, Timeout: timeout}, counts[i], here)
		if err != nil {
			return d.hidden("list "+name, err)
		}
		wrong = wrong || odd
	}
	if !wrong {
		d.found(OK, "lists", "", "Nothing is odd about the lists that are worked: %d.", len(names))
	}
	return nil
}

// list looks at one list, and reports whether anything is odd about it.
func (d *Doctor) list(ctx context.Context, l queue.List, n queue.ListCounts, here bool) (odd bool, err error) {
	subject := "list " + l.Name
	if n.Damage != "" {
		d.found(Bad, subject, "Rename or delete it; --fix does not.", "One of its keys is not what it should be: %s.", n.Damage)
		return true, nil
	}
	if n == (queue.ListCounts{}) && !here {
		d.found(Note, subject, "oarlock list destroy LIST --yes", "Nothing is left of it but what was kept beside its entries, and no pool of the configuration here works it.")
		return true, nil
	}
	if n.Waiting > 0 && n.Progress == 0 && !here {
		odd = true
		d.found(Note, subject, "Does a pool of another host work it, or an hworker, and is it up? Else name it in a pool: list = …",
			"%s, and none is in work; no pool of the configuration here works it.", many(n.Waiting, "entry waits", "entries wait"))
	}
	if n.Failed > 0 {
		odd = true
		d.found(Note, subject, "oarlock list failed LIST says why; list retry LIST --failed puts them back.", "%s: that waits for somebody.", many(n.Failed, "entry failed", "entries failed"))
	}
	if n.Broken > 0 {
		odd = true
		why := ""
		if first, err := d.Client.ListBroken(ctx, l.Name, 0, 1); err == nil && len(first) > 0 && first[0].Reason != "" {
			why = fmt.Sprintf(", one for: %.200s", first[0].Reason)
		}
		d.found(Warning, subject, "Where a setting is to blame (key_from, intake_as), mend it, and oarlock list retry LIST --broken puts them back; list broken LIST shows them, list drop LIST --broken deletes them.",
			"%s%s. That waits for somebody.", many(n.Broken, "entry cannot be a job", "entries cannot be jobs"), why)
	}
	found, err := d.Client.CheckList(ctx, l)
	if err != nil {
		return odd, err
	}
	inWork := found.Nothing || found.Odd > 0 || found.Abandoned > 0 || len(found.Lost) > 0
	if inWork && d.Fix {
		if err := d.Client.MendList(ctx, l, found.Lost); err != nil {
			return true, err
		}
	}
	d.checked(subject, found)
	return odd || inWork, nil
}

// checked reports what is odd about what is in work of a list.
func (d *Doctor) checked(subject string, found queue.ListCheck) {
	say := func(level Level, remedy, format string, args ...any) {
		if d.Fix {
			level = Fixed
		} else {
			remedy = "oarlock doctor --fix: " + remedy
		}
		d.found(level, subject, remedy, format, args...)
	}
	if found.Nothing {
		say(Note, "it is dropped, as a monitor of ours does", "`false` is in work, which an hworker leaves when it looks into an empty list: it is no entry.")
	}
	if found.Odd > 0 {
		say(Bad, "they are taken to have begun now", "%s in work without a start time that can be read: an hworker's monitor ends at such a one.", many(found.Odd, "entry is", "entries are"))
	}
	if found.Abandoned > 0 {
		say(Warning, "they go back to the front", "%s abandoned in work, and nobody puts them back: no supervisor with list_monitor, nor an hworker's monitor, looks after the list.", many(found.Abandoned, "entry is", "entries are"))
	}
	if n := len(found.Lost); n > 0 {
		say(Note, "that is deleted", "Of %s is kept how often they were tried, though they are nowhere any more: another program took them.", many(n, "entry", "entries"))
	}
}

// many is a number of what is named for one, and for more.
func many(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprint(n, " ", more)
}
