package web

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"oarlock/internal/doctor"
	"oarlock/internal/ops"
	"oarlock/internal/rollcall"
	"oarlock/internal/screen"
	"oarlock/internal/web/pages"
	"oarlock/queue"
	"oarlock/supervisor"
)

// worry gathers what is wrong, and how much there is where nothing is.
type worry struct {
	notices  []pages.Notice
	hosts    int
	busy     int
	children int
	oldest   float64 // seconds that a job has waited for a child
	roll     *rollcall.Roll
	counted  bool                        // all queues were looked at, not only those of pools
	deserted []string                    // queues to which no supervisor listens
	aside    []string                    // lists of which it was told that some entries cannot be jobs
	link     func(path ...string) string // as of a book of pages; nil where nothing leads anywhere
}

func (w *worry) add(tone pages.Tone, links []pages.Link, format string, args ...any) {
	w.notices = append(w.notices, pages.Notice{Tone: tone, Text: fmt.Sprintf(format, args...), Links: links})
}

// supervisor looks at one, on a host that is named if it is another than this. links leads to the page of a pool.
func (w *worry) supervisor(shot supervisor.Snapshot, host string, links func(pool, text string) []pages.Link) {
	w.hosts++
	on := ""
	if host != "" {
		on = " on " + screen.Shorten(host, 40)
	}
	if what, why := shot.RedisTrouble(); what != "" {
		w.add(pages.Bad, nil, "Redis %s%s: %s. What runs goes on; %s", what, on, screen.Shorten(why, 200), sentence(supervisor.RedisMeans(what)))
	}
	if shot.Short != "" {
		w.add(pages.Warn, nil, "The host%s has run out of something: %s.", on, shot.ShortWords())
	}
	switch {
	case shot.Draining:
		w.add(pages.Warn, nil, "The supervisor%s is draining: it takes no more jobs and leaves.", on)
	case shot.Quiet:
		w.add(pages.Warn, nil, "The supervisor%s is quiet: it takes no jobs until it is resumed.", on)
	}
	if shot.Abstains != "" {
		w.add(pages.Bad, nil, "The supervisor%s %s.", on, screen.Shorten(shot.AbstainsWords(), 200))
	}
	for _, name := range shot.Stuck {
		w.add(pages.Bad, nil, "On %s, %s.", cmp.Or(host, "this host"), supervisor.StuckWords(screen.Shorten(name, 40)))
	}
	for _, in := range shot.Intake {
		w.intake(in, on)
	}
	for _, pool := range shot.Pools {
		w.pool(pool, on, shot.Quiet || shot.Draining, links)
	}
}

// intake looks at a list whose entries become jobs; what was set aside of it is told once, though several hosts take it in.
func (w *worry) intake(in supervisor.IntakeSnapshot, on string) {
	name := screen.Shorten(in.List, 40)
	see := func(text string, query ...any) []pages.Link {
		if w.link == nil {
			return nil
		}
		href, _ := pages.Query(w.link("lists", in.List), query...)
		return []pages.Link{{Href: href, Text: text}}
	}
	if in.Trouble != "" {
		w.add(pages.Bad, see("see"), "List %s is not taken in%s: %s", name, on, screen.Shorten(in.Trouble, 200))
	}
	if in.Aside > 0 && !slices.Contains(w.aside, in.List) {
		w.aside = append(w.aside, in.List)
		w.add(pages.Warn, see("see why", "part", string(ops.PartBroken)), "Of list %s, %s cannot be jobs, and wait for somebody to put them back.", name, entryWords(in.Aside))
	}
}

// pool looks at one.
func (w *worry) pool(pool supervisor.PoolSnapshot, on string, still bool, links func(pool, text string) []pages.Link) {
	w.children += pool.Children
	for _, slot := range pool.Slots {
		if len(slot.Runs) > 0 {
			w.busy++
		}
	}
	if pool.Ready > 0 {
		w.oldest = max(w.oldest, pool.Oldest)
	}
	name := screen.Shorten(pool.Name, 40)
	switch {
	case pool.Barren != "":
		w.add(pages.Bad, links(pool.Name, "see why"), "Pool %s%s takes nothing: %s", name, on, screen.Shorten(pool.Barren, 200))
	case pool.Breaker != "":
		text := fmt.Sprintf("Pool %s%s goes slowly, for nothing of it ends well", name, on)
		if pool.BreakerFor > 0 {
			text += " since " + pages.Span(pool.BreakerFor)
		}
		w.add(pages.Bad, links(pool.Name, "see why"), "%s: %s", text, screen.Shorten(pool.Breaker, 200))
	case pool.Quiet && !still:
		w.add(pages.Warn, links(pool.Name, "see"), "Pool %s%s is quiet: it takes no jobs until it is resumed.", name, on)
	}
	if roll := pool.Roll; roll != nil {
		w.add(pages.Warn, links(pool.Name, "follow"), "Pool %s%s rolls: %d of %d slots on generation %d, since %s.", name, on, roll.Changed, roll.Of, roll.To, pages.Span(roll.Since))
	}
	if g := pool.GivenUp; g != nil && pool.Roll == nil {
		w.add(pages.Bad, links(pool.Name, "see its first bad sign"), "Pool %s%s gave generation %d up %s ago: %s", name, on, g.Generation, pages.Span(g.Ago), screen.Shorten(g.Message, 200))
	}
	for _, damage := range pool.Damaged {
		w.add(pages.Bad, links(pool.Name, "see"), "Pool %s%s leaves out %s", name, on, screen.Shorten(damage, 200))
	}
}

// everybody looks at who answered, and at who did not.
func (w *worry) everybody(roll rollcall.Roll, links func(pool, text string) []pages.Link) {
	w.roll = &roll
	for _, answer := range roll.Items {
		w.supervisor(answer.Status, cmp.Or(answer.Host, answer.Status.Name), links)
	}
	if roll.Missing > 0 {
		w.add(pages.Warn, nil, "%s", silentWords(roll))
	}
}

// mostDeserted is of how many queues without a listener the overview tells each; the page of queues has all.
const mostDeserted = 5

// queues looks at all of them, as they were at the server's time now, after everybody was asked.
func (w *worry) queues(all []queue.QueueCensus, now float64, link func(path ...string) string) {
	w.counted = true
	var deserted []*queue.QueueCensus
	for i := range all {
		q := &all[i]
		if q.Paused {
			continue
		}
		w.oldest = max(w.oldest, q.Lag(now))
		if w.roll != nil && doctor.UnservedFor(*q, now) > 0 && w.roll.Deserted(q.Name, q.Waiting, q.Running) {
			deserted = append(deserted, q)
		}
	}
	slices.SortStableFunc(deserted, func(x, y *queue.QueueCensus) int { return cmp.Compare(y.Lag(now), x.Lag(now)) })
	for i, q := range deserted {
		w.deserted = append(w.deserted, q.Name)
		switch {
		case i < mostDeserted:
			w.add(pages.Warn, []pages.Link{{Href: link("queues", q.Name), Text: "see"}}, "No supervisor listens to queue %s: %s, the next for %s, and none runs. Is the name right? Else name it in the queues of a pool.",
				screen.Shorten(q.Name, 40), waitWords(q.Waiting), pages.Span(q.Lag(now)))
		case i == mostDeserted:
			w.add(pages.Warn, []pages.Link{{Href: link("queues"), Text: "see"}}, "Beside these, no supervisor listens to %s in which jobs wait.", screen.Some(len(deserted)-i, "queue"))
		}
	}
}

func waitWords(jobs int) string {
	if jobs == 1 {
		return "1 job waits"
	}
	return screen.Count(jobs) + " jobs wait"
}

// outlook adds to that of a queue which is measured yet that no supervisor listens to it.
func (w *worry) outlook(q *pages.Queue) {
	if q.Outlook == "measuring" && w.roll != nil && w.roll.Deserted(q.Name, q.Waiting, q.Running) {
		q.Outlook = "measuring; no supervisor listens to it"
	}
}

// silentWords says who did not answer; "" if all did.
func silentWords(roll rollcall.Roll) string {
	if roll.Missing == 0 {
		return ""
	}
	text := fmt.Sprintf("%d of %s answered", roll.Answered, screen.Some(roll.Asked, "supervisor"))
	switch {
	case roll.Pending:
		text += "; others may yet"
	case len(roll.Silent) > 0:
		text += "; " + strings.Join(roll.Silent, ", ") + " did not"
	default:
		text += fmt.Sprintf("; %d did not", roll.Missing)
	}
	return text + "."
}

// worst are what is wrong, the worst first.
func (w *worry) worst() []pages.Notice {
	rank := func(n pages.Notice) int {
		if n.Tone == pages.Bad {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(w.notices, func(a, b pages.Notice) int { return rank(a) - rank(b) })
	return w.notices
}

// headline is all that in one line.
func (w *worry) headline() pages.Headline {
	h := pages.Headline{Tone: pages.Good, Says: "Work flows."}
	bad := 0
	for _, n := range w.notices {
		if n.Tone == pages.Bad {
			bad++
		}
	}
	switch {
	case w.hosts == 0 && w.roll != nil && w.roll.Working() > 0:
		return pages.Headline{Tone: pages.Warn, Says: fmt.Sprintf("No supervisor answers, but jobs are held by %d.", w.roll.Working()), Facts: "the page of supervisors says what is known of them"}
	case w.hosts == 0:
		return pages.Headline{Tone: pages.Warn, Says: "No supervisor answers: nothing is worked.", Facts: "oarlock run starts one"}
	case bad == 1:
		h = pages.Headline{Tone: pages.Bad, Says: "Something keeps work from flowing."}
	case bad > 1:
		h = pages.Headline{Tone: pages.Bad, Says: fmt.Sprintf("%d things keep work from flowing.", bad)}
	case len(w.deserted) == 1:
		h = pages.Headline{Tone: pages.Warn, Says: fmt.Sprintf("Work flows, but no supervisor listens to queue %s.", screen.Shorten(w.deserted[0], 40))}
	case len(w.deserted) > 1:
		h = pages.Headline{Tone: pages.Warn, Says: fmt.Sprintf("Work flows, but no supervisor listens to %s in which jobs wait.", screen.Some(len(w.deserted), "queue"))}
	case len(w.notices) > 0:
		h = pages.Headline{Tone: pages.Warn, Says: "Work flows, with something to know."}
	}
	var facts []string
	if w.roll != nil && w.roll.Asked > 0 {
		facts = append(facts, fmt.Sprintf("%d of %s", w.roll.Answered, screen.Some(w.roll.Asked, "supervisor")))
	} else {
		facts = append(facts, screen.Some(w.hosts, "supervisor"))
	}
	facts = append(facts, fmt.Sprintf("%s of %s busy", screen.Count(w.busy), childrenWords(w.children)))
	switch {
	case w.oldest > 0 && w.counted:
		facts = append(facts, "nothing waits longer than "+pages.Span(w.oldest))
	case w.oldest > 0:
		facts = append(facts, "nothing in their queues waits longer than "+pages.Span(w.oldest))
	case w.counted:
		facts = append(facts, "nothing waits for a child")
	default:
		facts = append(facts, "nothing in their queues waits for a child")
	}
	h.Facts = strings.Join(facts, " · ")
	return h
}

// childrenWords is a number of them.
func childrenWords(n int) string {
	if n == 1 {
		return "1 child"
	}
	return screen.Count(n) + " children"
}
