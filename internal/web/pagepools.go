package web

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"oarlock/internal/ops"
	"oarlock/internal/screen"
	"oarlock/internal/web/pages"
	"oarlock/supervisor"
)

// poolViews are the pages of the pools of this process.
func (a *App) poolViews() []view {
	return []view{
		{path: "/pools", template: "pools", section: "/pools", local: true, fill: a.poolsPage},
		{path: "/pools/{pool}", template: "pool", section: "/pools", local: true, fill: a.poolPage},
		{path: "/pools/{pool}/{slot}", template: "slot", section: "/pools", local: true, fill: a.slotPage},
	}
}

// poolActs are what is done to them.
func (a *App) poolActs() []act {
	of := func(path, does string, do func(ctx context.Context, c *Call, shot supervisor.Snapshot, pool string) (string, error)) act {
		return act{path: "/pools/{pool}/" + path, does: does, local: true, do: func(c *Call) (string, string, error) {
			if a.o.Supervisor == nil {
				return "", "", errNoSupervisor
			}
			pool := c.Name("pool")
			c.Did(pool, 0)
			told, err := do(c.R.Context(), c, a.o.Supervisor.Snapshot(), pool)
			return told, a.book().Link("pools", pool), err
		}}
	}
	return []act{
		of("scale", "scale pool", func(ctx context.Context, c *Call, shot supervisor.Snapshot, pool string) (string, error) {
			n, err := strconv.Atoi(strings.TrimSpace(c.R.PostFormValue("children")))
			if err != nil || n < 0 {
				return "", badField("children", "%q is no number of children", shown(c.R.PostFormValue("children")))
			}
			c.Did(pool, n)
			return ops.Scale(ctx, a.o.Supervisor, shot, pool, n)
		}),
		of("recycle", "recycle pool", func(ctx context.Context, _ *Call, shot supervisor.Snapshot, pool string) (string, error) {
			return ops.Recycle(ctx, a.o.Supervisor, shot, pool)
		}),
	}
}

// shots keep what the supervisor of this process said of itself: many look, and the loops of its pools are asked once.
type shots struct {
	of Supervisor

	asking sync.Mutex // held while it is asked, which may take a second

	mu   sync.Mutex
	last supervisor.Snapshot
	at   time.Time
}

// shotAge is how old what is shown of it may be.
const shotAge = 500 * time.Millisecond

func (s *shots) known() (supervisor.Snapshot, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last, time.Since(s.at) < shotAge
}

// forget lets the next one be asked for anew.
func (s *shots) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at = time.Time{}
}

// shot is what the supervisor of this process says of itself, if one runs here.
func (a *App) shot() (supervisor.Snapshot, bool) {
	s := &a.shots
	if s.of == nil {
		return supervisor.Snapshot{}, false
	}
	if shot, fresh := s.known(); fresh {
		return shot, true
	}
	s.asking.Lock()
	defer s.asking.Unlock()
	if shot, fresh := s.known(); fresh { // somebody else has asked
		return shot, true
	}
	shot := s.of.Snapshot()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last, s.at = shot, time.Now()
	return shot, true
}

func (a *App) poolsPage(c *Call, p *pages.Page) error {
	p.Title, p.Scope = "Pools", "this supervisor"
	body := pages.Pools{Empty: "No supervisor runs in the process that answers here, which knows Redis only. `oarlock run` starts one, with a page of its own."}
	if shot, is := a.shot(); is {
		a.headLocal(p, shot)
		body.Empty = "This supervisor has no pool. A table [pools.NAME] of its configuration makes one; then `oarlock reload`."
		for _, pool := range shot.Pools {
			body.Rows = append(body.Rows, poolRow(pool))
			body.Print += pool.Name + "\n"
		}
	}
	p.Body = body
	return nil
}

// poolRow is a pool in a list.
func poolRow(pool supervisor.PoolSnapshot) pages.PoolRow {
	row := pages.PoolRow{PoolSnapshot: pool, State: "flows", Trouble: poolTrouble(pool), Per: math.NaN()}
	for _, slot := range pool.Slots {
		switch {
		case len(slot.Runs) > 0:
			row.Busy++
		case slot.State == "ready":
			row.Idle++
		}
	}
	switch {
	case pool.Draining:
		row.State = "draining"
	case pool.Quiet:
		row.State = "quiet"
	case pool.Barren != "":
		row.State = "barren"
	case pool.Breaker != "":
		row.State = "slow"
	case pool.Rolling:
		row.State = "rolling"
	}
	return row
}

// poolTrouble is what keeps a pool from working as it should, in a sentence; "" if nothing does.
func poolTrouble(pool supervisor.PoolSnapshot) string {
	switch {
	case pool.Barren != "":
		return "It takes nothing: " + pool.Barren
	case pool.Breaker != "":
		text := "It goes slowly, one job at a time and ten a second, until one ends well: " + pool.Breaker
		if pool.NextProbe > 0 {
			text += ". The next job may begin in " + pages.Span(pool.NextProbe)
		}
		return text
	case len(pool.Damaged) > 0:
		return "It leaves out " + screen.Some(len(pool.Damaged), "queue") + " whose keys are not what they should be: " + strings.Join(pool.Damaged, "; ")
	case pool.InDoubt:
		return "A call to Redis has an unknown outcome; it is being found out"
	}
	return ""
}

func (a *App) poolPage(c *Call, p *pages.Page) error {
	shot, is := a.shot()
	if !is {
		return errNoSupervisor
	}
	pool := poolNamed(shot, c.Name("pool"))
	if pool == nil {
		return noPool(shot, c.Name("pool"))
	}
	a.headLocal(p, shot)
	p.Title, p.Scope = pool.Name+" · Pools", "this supervisor"
	body := pages.PoolPage{PoolRow: poolRow(*pool), Settings: poolSettings(*pool), Sum: poolSum(pool.Counters)}
	for _, slot := range pool.Slots {
		body.Slots = append(body.Slots, a.slotRow(*pool, slot))
	}
	if g := pool.GivenUp; g != nil {
		body.Sign = &pages.Sign{Generation: g.Generation, Ago: pages.Span(g.Ago) + " ago", Message: g.Message}
	}
	if p.Write && !pool.Draining && !shot.Draining {
		path := func(deed string) string { return a.book().Link("pools", pool.Name, deed) }
		body.Deeds = a.poolDeeds(*pool, path)
		body.Scale = &pages.Scale{Action: path("scale"), Now: pool.Children, Says: "Until the next reload that changes the pool."}
		if pool.Least != pool.Most {
			body.Scale.Says = fmt.Sprintf("Between %d and %d; it grows and shrinks by itself from there.", pool.Least, pool.Most)
		}
	}
	p.Body = body
	return nil
}

// poolDeeds are the buttons of a pool.
func (a *App) poolDeeds(pool supervisor.PoolSnapshot, path func(string) string) []pages.Deed {
	return []pages.Deed{{Label: "Recycle", Action: path("recycle")}}
}

// slotRow is a slot in the list of its pool.
func (a *App) slotRow(pool supervisor.PoolSnapshot, slot supervisor.SlotSnapshot) pages.SlotRow {
	row := pages.SlotRow{SlotSnapshot: slot, Href: a.book().Link("pools", pool.Name, strconv.Itoa(slot.Slot))}
	row.New = pool.Roll != nil && slot.Generation == pool.Roll.To && slot.PID != 0
	var works []string
	for _, run := range slot.Runs {
		row.Runs = append(row.Runs, slotRun(run))
		works = append(works, runWords(run))
	}
	row.Works = strings.Join(works, "; ")
	switch {
	case slot.State == "backoff":
		row.Works = "starts again in " + pages.Span(slot.Next)
	case slot.State == "blocked":
		row.Works = "waits until the child before is gone"
	}
	return row
}

func slotRun(run supervisor.RunSnapshot) pages.SlotRun {
	r := pages.SlotRun{RunSnapshot: run}
	if run.Percent != nil {
		r.Done = fmt.Sprintf("%.0f %%", *run.Percent)
	}
	return r
}

// runWords is a job at work in one line.
func runWords(run supervisor.RunSnapshot) string {
	text := fmt.Sprintf("%s %s, attempt %d, %s", screen.Shorten(run.Klass, 40), screen.Shorten(run.JID, 12), run.Attempt, pages.Span(run.Age))
	if run.TimeoutLeft > 0 {
		text += ", left " + pages.Span(run.TimeoutLeft)
	}
	if run.Percent != nil {
		text += fmt.Sprintf(", %.0f %%", *run.Percent)
	}
	if run.Progress != "" {
		text += " " + screen.Shorten(run.Progress, 60)
	}
	if run.Stopping != "" {
		text += ", is being stopped: " + run.Stopping
	}
	return text
}

// poolSettings are those in force that may be seen.
func poolSettings(pool supervisor.PoolSnapshot) []pages.Fact {
	children := strconv.Itoa(pool.Children)
	if pool.Least != pool.Most {
		children += fmt.Sprintf(", from %d to %d", pool.Least, pool.Most)
	}
	facts := []pages.Fact{{Name: "mode", Value: pool.Mode}, {Name: "queues", Value: strings.Join(pool.Queues, ", ")}, {Name: "children", Value: children}, {Name: "worker", Value: pool.Worker}}
	if pool.Exclusive {
		facts = append(facts, pages.Fact{Name: "replace", Value: "after: a child is gone before the next has its slot"})
	}
	return facts
}

// poolSum is what a pool counted since it began; what is zero and mostly is, is left out.
func poolSum(n supervisor.Counters) []pages.Fact {
	facts := []pages.Fact{{Name: "taken", Value: screen.Count(n.Taken)}, {Name: "done", Value: screen.Count(n.Acked)}, {Name: "retried", Value: screen.Count(n.Retried)}, {Name: "failed", Value: screen.Count(n.Failed)}, {Name: "crashed", Value: screen.Count(n.Crashed)}}
	for _, more := range []struct {
		name string
		n    int
	}{
		{"given back", n.Released}, {"interrupted", n.Interrupted}, {"timed out", n.TimedOut}, {"could not be started", n.Unstarted}, {"class not known", n.Unknown},
		{"cost nothing but a delay", n.Spared}, {"locks lost", n.Lost}, {"verdicts too late", n.Late}, {"children started", n.Started}, {"left processes behind", n.LeftBehind},
	} {
		if more.n > 0 {
			facts = append(facts, pages.Fact{Name: more.name, Value: screen.Count(more.n)})
		}
	}
	return facts
}

func (a *App) slotPage(c *Call, p *pages.Page) error {
	shot, is := a.shot()
	if !is {
		return errNoSupervisor
	}
	pool := poolNamed(shot, c.Name("pool"))
	if pool == nil {
		return noPool(shot, c.Name("pool"))
	}
	number, err := strconv.Atoi(c.Name("slot"))
	at := slices.IndexFunc(pool.Slots, func(s supervisor.SlotSnapshot) bool { return s.Slot == number })
	if err != nil || at < 0 {
		return problem(http.StatusNotFound, "no_such_slot", "pool %s has no slot %s; it has %s", shown(pool.Name), shown(c.Name("slot")), screen.Some(len(pool.Slots), "slot"))
	}
	a.headLocal(p, shot)
	slot := a.slotRow(*pool, pool.Slots[at])
	p.Title, p.Scope = fmt.Sprintf("slot %d · %s", number, pool.Name), "this supervisor"
	facts := []pages.Fact{{Name: "pid", Value: strconv.Itoa(slot.PID)}, {Name: "generation", Value: strconv.Itoa(slot.Generation)}, {Name: "age", Value: pages.Span(slot.Age)}, {Name: "jobs worked", Value: screen.Count(slot.Jobs)}}
	if slot.Memory > 0 {
		facts = append(facts, pages.Fact{Name: "memory", Value: pages.Bytes(slot.Memory)})
	}
	if slot.LastOutput > 0 {
		facts = append(facts, pages.Fact{Name: "last output", Value: pages.Span(slot.LastOutput) + " ago"})
	}
	if slot.PID == 0 {
		facts = nil
	}
	p.Body = pages.SlotPage{Pool: pool.Name, SlotRow: slot, Facts: facts, Lines: a.lines(pool.Name, number, "")}
	return nil
}
