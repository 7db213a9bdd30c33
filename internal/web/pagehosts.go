package web

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"oarlock/internal/hub"
	"oarlock/internal/ops"
	"oarlock/internal/rollcall"
	"oarlock/internal/screen"
	"oarlock/internal/web/pages"
	"oarlock/supervisor"
)

// hostViews are the pages of other supervisors of the namespace: what they told at the roll call, and what their children
// printed last.
func (a *App) hostViews() []view {
	return []view{
		{path: "/supervisors/{name}/{pid}", template: "host", section: "/supervisors", fill: a.hostPage},
		{path: "/supervisors/{name}/{pid}/{pool}/{slot}", template: "tail", section: "/supervisors", fill: a.tailPage},
	}
}

// hostLink is the page of another supervisor, or of what is in it.
func (a *App) hostLink(who rollcall.Who, more ...string) string {
	return a.book().Link(append([]string{"supervisors", who.Name, strconv.Itoa(who.PID)}, more...)...)
}

// itself reports whether an answer is of the supervisor of this process.
func (a *App) itself(answer *rollcall.Answer) bool {
	own, is := a.shot()
	return is && answer.Status.PID == own.PID && answer.Status.Name == own.Name
}

// answerOf is what the supervisor said that a path names.
func (a *App) answerOf(c *Call, roll *rollcall.Roll) (*rollcall.Answer, error) {
	pid, _ := strconv.Atoi(c.Name("pid")) // no process has the number 0
	who := rollcall.Who{Name: c.Name("name"), PID: pid}
	for i := range roll.Items {
		if roll.Items[i].Who() == who {
			return &roll.Items[i], nil
		}
	}
	text := "no supervisor " + shown(who.Name) + " with pid " + shown(c.Name("pid")) + " answered"
	if roll.Missing > 0 {
		text += "; " + silentWords(*roll)
	}
	return nil, &ops.Missing{Text: text}
}

func (a *App) hostPage(c *Call, p *pages.Page) error {
	w := a.head(c, p)
	answer, err := a.answerOf(c, w.roll)
	if err != nil {
		return err
	}
	body := pages.HostPage{Host: a.hostRow(answer), Name: answer.Status.Name, PID: answer.Status.PID}
	p.Title, p.Scope = body.Host.Name+" · Supervisors", "that supervisor"
	body.Facts = []pages.Fact{
		{Name: "supervisor", Value: body.Name}, {Name: "pid", Value: strconv.Itoa(body.PID)}, {Name: "version", Value: answer.Version}, {Name: "up", Value: pages.Span(body.Up)},
		{Name: "Redis", Value: body.Redis}, {Name: "children busy", Value: screen.Count(body.Busy) + " of " + screen.Count(body.Children)},
	}
	if answer.Cut {
		body.Says = "It has more children than go into one answer; its own page shows them."
	}
	for _, pool := range answer.Status.Pools {
		row := poolRow(pool)
		shownPool := pages.HostPool{Name: pool.Name, State: row.State, Trouble: row.Trouble}
		for _, slot := range pool.Slots {
			shownPool.Slots = append(shownPool.Slots, a.slotElsewhere(answer, pool, slot))
		}
		body.Pools = append(body.Pools, shownPool)
	}
	p.Body = body
	return nil
}

// slotElsewhere is a slot of another supervisor.
func (a *App) slotElsewhere(answer *rollcall.Answer, pool supervisor.PoolSnapshot, slot supervisor.SlotSnapshot) pages.SlotRow {
	row := slotWorks(pool, slot)
	row.Href = a.hostLink(answer.Who(), pool.Name, strconv.Itoa(slot.Slot))
	return row
}

func (a *App) tailPage(c *Call, p *pages.Page) error {
	w := a.head(c, p)
	answer, err := a.answerOf(c, w.roll)
	if err != nil {
		return err
	}
	pool := poolNamed(answer.Status, c.Name("pool"))
	number, err := strconv.Atoi(c.Name("slot"))
	if pool == nil || err != nil {
		return problem(http.StatusNotFound, "no_such_slot", "%s told of no pool %s with a slot %s", shown(answer.Status.Name), shown(c.Name("pool")), shown(c.Name("slot")))
	}
	body := pages.TailPage{Host: cmp.Or(answer.Host, answer.Status.Name), HostHref: a.hostLink(answer.Who()), Pool: pool.Name}
	body.SlotRow.Slot = number
	for _, slot := range pool.Slots {
		if slot.Slot == number {
			body.SlotRow = a.slotElsewhere(answer, *pool, slot)
		}
	}
	p.Title, p.Scope = "slot "+strconv.Itoa(number)+" · "+pool.Name+" · "+body.Host, "that supervisor"
	var print string
	body.Lines, body.Wrong = a.tail(c.R.Context(), answer.Who(), pool.Name, number, "")
	for _, line := range body.Lines {
		print += line.At + line.Text
	}
	body.Print = printOf([]string{print})
	p.Body = body
	return nil
}

// tailPatience is how long another supervisor may take to tell what a child printed.
const tailPatience = 500 * time.Millisecond

// tail are the last lines of a slot of another supervisor, of one job or, with "", of all; or why there are none.
func (a *App) tail(ctx context.Context, of rollcall.Who, pool string, slot int, jid string) (lines []pages.LogLine, wrong string) {
	if a.o.Others == nil {
		return nil, ""
	}
	ctx, cancel := context.WithTimeout(ctx, tailPatience)
	defer cancel()
	tail, err := a.o.Others.Tail(ctx, of, pool, slot, shownLines)
	switch {
	case errors.Is(err, rollcall.ErrSilent):
		return nil, "It did not tell in time what the child printed."
	case err != nil:
		return nil, "It cannot be asked what the child printed: " + sentence(err.Error())
	case tail.Refused != "":
		return nil, "It tells no lines: " + sentence(tail.Refused)
	}
	for _, l := range tail.Lines {
		if jid == "" || l.JID == jid {
			lines = append(lines, a.logLine(hub.Line{At: l.At, Stream: l.Stream, Level: l.Level, JID: l.JID, Text: l.Text}))
		}
	}
	return lines, ""
}

// runsElsewhere is the run of a job on a child of another supervisor, with the last lines of that; nil if none told of it.
func (a *App) runsElsewhere(ctx context.Context, roll *rollcall.Roll, jid string) (*pages.Run, []pages.LogLine) {
	for i := range roll.Items {
		answer := &roll.Items[i]
		if a.itself(answer) {
			continue
		}
		for _, pool := range answer.Status.Pools {
			for _, slot := range pool.Slots {
				for _, run := range slot.Runs {
					if run.JID != jid {
						continue
					}
					r := runOf(pool.Name, slot, run)
					r.Href, r.Host = a.hostLink(answer.Who(), pool.Name, strconv.Itoa(slot.Slot)), cmp.Or(answer.Host, answer.Status.Name)
					lines, _ := a.tail(ctx, answer.Who(), pool.Name, slot.Slot, jid)
					return r, lines
				}
			}
		}
	}
	return nil, nil
}
