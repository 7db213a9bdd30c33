package doctor

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/dustin/go-humanize"

	"oarlock/queue"
	"oarlock/queue/admin"
)

// Keys looks for jobs that are not where they say they are, or in two places, for places that
// name jobs which are not there, for throttles held by jobs that do not run, and for keys whose turns and lanes say something
// else than their jobs; with Fix it repairs that and says so, job by job. In a sound key space it changes nothing.
func (d *Doctor) Keys(ctx context.Context) error {
	account, err := admin.Keys(ctx, d.Client, d.Fix, d.contradiction)
	if err != nil {
		return d.hidden("keys", err)
	}
	if account.Wrong == 0 {
		d.found(OK, "keys", "", "%s", allWell(account.Jobs))
	}
	for _, b := range account.Beyond {
		d.beyond(b)
	}
	for _, name := range slices.Sorted(maps.Keys(account.Expired)) {
		d.found(Warning, "locks", "Is any supervisor working this queue? The next that does takes them back.",
			"%d locks of %s have run out, and nobody has taken the jobs back.", account.Expired[name], name)
	}
	return nil
}

// beyond tells of jobs with longer names, or longer lists, than a put may give them.
func (d *Doctor) beyond(b admin.Beyond) {
	kind, advice := "job", "They run and end. Commands of ours refuse to put such jobs: use short names, and put the rest into the data."
	if b.Recurring {
		kind, advice = "recurring job", "Their runs are put by other clients, and still run. Commands of ours refuse to put such jobs: use short names, and put the rest into the data."
	}
	has := map[string]string{
		"jid":   fmt.Sprintf("a jid of more than %d bytes", queue.MaxJID),
		"klass": fmt.Sprintf("a class of more than %d bytes", queue.MaxName),
		"queue": fmt.Sprintf("a queue name of more than %d bytes", queue.MaxName),
		"tags":  fmt.Sprintf("more than %d tags, or a tag of more than %d bytes", queue.MaxTags, queue.MaxName),
		"throttles": fmt.Sprintf("more than %d throttles, or one with a name of more than %d bytes",
			queue.MaxThrottles, queue.MaxName),
		"dependencies": fmt.Sprintf("more than %s dependencies", humanize.Comma(queue.MaxDepends)),
		"dependents":   fmt.Sprintf("more than %s dependents", humanize.Comma(queue.MaxDepends)),
	}[b.What]
	if b.What == "dependents" {
		advice = "A supervisor of ours frees them in slices. If another client completes such a job, Redis answers nobody until all of them are free: seconds for 100,000."
	}
	names := make([]string, len(b.JIDs))
	for i, jid := range b.JIDs {
		names[i] = fmt.Sprintf("%.60s", jid)
	}
	if more := b.Jobs - len(names); more > 0 {
		names = append(names, fmt.Sprintf("and %s more", humanize.Comma(int64(more))))
	}
	kind += "s have"
	if b.Jobs == 1 {
		kind = strings.TrimSuffix(kind, "s have") + " has"
	}
	d.found(Warning, "bounds", advice, "%s %s %s: %s.", humanize.Comma(int64(b.Jobs)), kind, has, strings.Join(names, ", "))
}

// allWell says of so many jobs that nothing is wrong.
func allWell(jobs int) string {
	switch jobs {
	case 0:
		return "There are no jobs."
	case 1:
		return "The one job is where it says it is."
	}
	return fmt.Sprintf("All of %d jobs are where they say they are.", jobs)
}

func (d *Doctor) contradiction(c admin.Contradiction) {
	switch {
	case c.Mended:
		d.found(Fixed, "keys", "", "%s: %s", c.Text, c.Remedy)
	case c.Shared:
		d.shared(c)
	case c.Type:
		d.found(Bad, "keys", "Rename or delete it; --fix does not.", "%s", c.Text)
	case c.Remedy == "":
		d.found(Bad, "keys", "This cannot be mended by --fix.", "%s", c.Text)
	default:
		d.found(Bad, "keys", "oarlock doctor --fix: "+c.Remedy, "%s", c.Text)
	}
}

// shared tells of a job or a throttle that has a key of another.
func (d *Doctor) shared(c admin.Contradiction) {
	level, advice := Bad, "Neither can be worked in full while both are there. Let the job end, or cancel it, and use another name for such jobs."
	switch {
	case strings.HasPrefix(c.Text, "the limit"):
		advice = "Remove it (oarlock throttle rm) and set it for a throttle of another name: jobs that need the other one cannot be worked."
	case c.Alone:
		level, advice = Warning, "Use another name for such jobs: our commands refuse this one, and the other job could not be put."
	}
	if c.Remedy != "" {
		advice = "oarlock doctor --fix: " + c.Remedy + ". " + advice
	}
	d.found(level, "keys", advice, "%s", c.Text)
}
