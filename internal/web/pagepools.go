package web

import (
	"context"
	"fmt"
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
	onSlot := func(path, does string, do func(pool string, slot supervisor.SlotSnapshot) (string, error)) act {
		one := of(path, does, nil)
		one.do = func(c *Call) (string, string, error) {
			pool, slot, err := a.slotAsked(c)
			if err != nil {
				return "", "", err
			}
			c.Did(fmt.Sprintf("%s[%d]", pool.Name, slot.Slot), 0)
			told, err := do(pool.Name, slot)
			return told, a.book().Link("pools", pool.Name, strconv.Itoa(slot.Slot)), err
		}
		return one
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
		of("quiet", "quiet pool", func(_ context.Context, _ *Call, _ supervisor.Snapshot, pool string) (string, error) {
			return "pool " + pool + " takes no more jobs until it is resumed; what runs goes on", a.o.Supervisor.QuietPool(pool)
		}),
		of("resume", "resume pool", func(_ context.Context, _ *Call, _ supervisor.Snapshot, pool string) (string, error) {
			return "pool " + pool + " takes jobs again", a.o.Supervisor.ResumePool(pool)
		}),
		of("abandon", "give roll up", func(_ context.Context, _ *Call, _ supervisor.Snapshot, pool string) (string, error) {
			return "the roll of " + pool + " is given up: the old generation has its slots again", a.o.Supervisor.AbandonRoll(pool)
		}),
		onSlot("{slot}/recycle", "recycle slot", func(pool string, slot supervisor.SlotSnapshot) (string, error) {
			return fmt.Sprintf("the child of slot %d is replaced as soon as its job is over", slot.Slot), a.o.Supervisor.RecycleSlot(pool, slot.Slot)
		}),
		a.stopAct(),
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

// mostWorking is how many slots with a job have a link in the list of pools.
const mostWorking = 6

// poolRow is a pool in a list.
func poolRow(pool supervisor.PoolSnapshot) pages.PoolRow {
	row := pages.PoolRow{PoolSnapshot: pool, State: "flows", Trouble: poolTrouble(pool)}
	for _, slot := range pool.Slots {
		switch {
		case len(slot.Runs) > 0:
			row.Busy++
			if len(row.Working) < mostWorking {
				row.Working = append(row.Working, slot.Slot)
			}
		case slot.State == "ready":
			row.Idle++
		}
	}
	switch {
	case pool.Draining:
		row.State = "draining"
	case pool.Quiet:
		row.State = "quiet"
	case pool.Abstains != "":
		row.State = "abstains"
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
	case pool.Abstains != "":
		return "It takes nothing: " + pool.Abstains
	case pool.Barren != "":
		return "It takes nothing: " + pool.Barren
	case pool.Breaker != "":
		text := "It goes slowly, one job at a time and ten a second, until one ends well: " + pool.Breaker
		if pool.NextProbe > 0 {
			text += ". The next job may begin in " + pages.Span(pool.NextProbe)
		}
		return text
	case len(pool.Damaged) > 0:
		return "It leaves out " + strings.Join(pool.Damaged, "; ")
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
	body := pages.PoolPage{PoolRow: poolRow(*pool), Figures: a.poolFigures(pool.Name), Settings: poolSettings(*pool), Sum: poolSum(pool.Counters)}
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
	quiet := pages.Deed{Label: "Quiet", Action: path("quiet")}
	if pool.QuietAlone {
		quiet = pages.Deed{Label: "Resume", Action: path("resume"), Tone: pages.Good}
	}
	deeds := []pages.Deed{quiet, {Label: "Recycle", Action: path("recycle")}}
	if pool.Rolling && pool.Roll != nil && !pool.Roll.Back {
		deeds = append(deeds, pages.Deed{Label: "Give the roll up", Action: path("abandon"), Tone: pages.Bad})
	}
	return deeds
}

// slotAsked is the slot that a path names.
func (a *App) slotAsked(c *Call) (*supervisor.PoolSnapshot, supervisor.SlotSnapshot, error) {
	var none supervisor.SlotSnapshot
	shot, is := a.shot()
	if !is {
		return nil, none, errNoSupervisor
	}
	pool := poolNamed(shot, c.Name("pool"))
	if pool == nil {
		return nil, none, noPool(shot, c.Name("pool"))
	}
	number, err := strconv.Atoi(c.Name("slot"))
	at := slices.IndexFunc(pool.Slots, func(s supervisor.SlotSnapshot) bool { return s.Slot == number })
	if err != nil || at < 0 {
		return nil, none, problem(http.StatusNotFound, "no_such_slot", "pool %s has no slot %s; it has %s", shown(pool.Name), shown(c.Name("slot")), screen.Some(len(pool.Slots), "slot"))
	}
	return pool, pool.Slots[at], nil
}

// stopAct stops the job of a slot. The form names the run, so that it is never the next one that is stopped.
func (a *App) stopAct() act {
	return act{path: "/pools/{pool}/{slot}/stop", does: "stop job", local: true, form: func(c *Call) (pages.Form, error) {
		pool, slot, err := a.slotAsked(c)
		if err != nil {
			return pages.Form{}, err
		}
		back := a.book().Link("pools", pool.Name, strconv.Itoa(slot.Slot))
		if len(slot.Runs) == 0 {
			return pages.Form{}, problem(http.StatusConflict, "changed", "slot %d works on nothing now", slot.Slot)
		}
		run := slot.Runs[0]
		return pages.Form{
			Heading: "Stop the job of slot " + strconv.Itoa(slot.Slot), Says: []string{runWords(run) + ".", stopWords(slot)},
			Action: a.book().Link("pools", pool.Name, strconv.Itoa(slot.Slot), "stop"), Hidden: []pages.Field{{Name: "run", Value: run.Run}}, Label: "Stop it", Danger: true, Back: back,
		}, nil
	}, do: func(c *Call) (string, string, error) {
		pool, slot, err := a.slotAsked(c)
		if err != nil {
			return "", "", err
		}
		c.Did(fmt.Sprintf("%s[%d]", pool.Name, slot.Slot), 0)
		to := a.book().Link("pools", pool.Name, strconv.Itoa(slot.Slot))
		if err := a.o.Supervisor.StopRun(pool.Name, c.R.PostFormValue("run")); err != nil {
			return "", "", problem(http.StatusConflict, "changed", "%v", err)
		}
		return "its job is being stopped, and goes back to the front of its queue", to, nil
	}}
}

// stopWords says what stopping the job of a slot does.
func stopWords(slot supervisor.SlotSnapshot) string {
	if together := slot.Together(); together != "" {
		return "Its child is told, and killed after kill_grace. It has " + together + ": all of these go back to the front of their queues, which costs them no retry."
	}
	return "Its child is told, and killed after kill_grace. The job goes back to the front of its queue, which costs it no retry."
}

// slotRow is a slot in the list of its pool.
func (a *App) slotRow(pool supervisor.PoolSnapshot, slot supervisor.SlotSnapshot) pages.SlotRow {
	row := slotWorks(pool, slot)
	row.Href = a.book().Link("pools", pool.Name, strconv.Itoa(slot.Slot))
	if a.o.Hub != nil && len(slot.Runs) > 0 {
		for _, line := range a.o.Hub.Lines(pool.Name, slot.Slot, 0, 1) {
			row.Last = a.logLine(line).Text
		}
	}
	return row
}

// runsShown is how many of the jobs of a slot are listed.
const runsShown = 20

// slotWorks is a slot and what it works on, wherever it is.
func slotWorks(pool supervisor.PoolSnapshot, slot supervisor.SlotSnapshot) pages.SlotRow {
	row := pages.SlotRow{SlotSnapshot: slot}
	row.New = pool.Roll != nil && slot.Generation == pool.Roll.To && slot.PID != 0
	var works []string
	for i, run := range slot.Runs {
		if i == runsShown {
			break
		}
		row.Runs = append(row.Runs, slotRun(run))
		if !run.Kept {
			works = append(works, runWords(run))
		}
	}
	if kept := slot.Kept(); kept > 0 {
		works = append(works, fmt.Sprintf("%d kept ready", kept))
	}
	if together := slot.Together(); together != "" {
		works = []string{together}
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
	return pages.SlotRun{RunSnapshot: run, Done: percentDone(run)}
}

// percentDone is how far a job says that it is, as "40 %"; "" if it does not say.
func percentDone(run supervisor.RunSnapshot) string {
	if run.Percent == nil {
		return ""
	}
	return fmt.Sprintf("%.0f %%", *run.Percent)
}

// runWords is a job at work in one line.
func runWords(run supervisor.RunSnapshot) string {
	text := fmt.Sprintf("%s %s, attempt %d, %s", screen.Shorten(run.Klass, 40), screen.Shorten(run.JID, 12), run.Attempt, pages.Span(run.Age))
	if run.TimeoutLeft > 0 {
		text += ", left " + pages.Span(run.TimeoutLeft)
	}
	if done := percentDone(run); done != "" {
		text += ", " + done
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
	facts := []pages.Fact{{Name: "mode", Value: pool.Mode}, {Name: "works", Value: pool.Works()}, {Name: "children", Value: children}, {Name: "worker", Value: pool.Worker}}
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
		{"cost nothing but a delay", n.Spared}, {"come again in smaller messages", n.Halved}, {"times that a retry_command was asked", n.Asked}, {"times that it did not answer", n.Unanswered}, {"locks lost", n.Lost}, {"verdicts too late", n.Late}, {"children started", n.Started}, {"left processes behind", n.LeftBehind},
	} {
		if more.n > 0 {
			facts = append(facts, pages.Fact{Name: more.name, Value: screen.Count(more.n)})
		}
	}
	return facts
}

func (a *App) slotPage(c *Call, p *pages.Page) error {
	pool, asked, err := a.slotAsked(c)
	if err != nil {
		return err
	}
	shot, _ := a.shot()
	number := asked.Slot
	a.headLocal(p, shot)
	slot := a.slotRow(*pool, asked)
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
	if p.Write && slot.PID != 0 && !pool.Draining {
		path := func(deed string) string { return a.book().Link("pools", pool.Name, strconv.Itoa(number), deed) }
		if pool.Mode != "once" {
			slot.Deeds = append(slot.Deeds, pages.Deed{Label: "Recycle the child", Action: path("recycle")})
		}
		if len(slot.Runs) > 0 {
			slot.Deeds = append(slot.Deeds, pages.Deed{Label: "Stop its job…", Form: path("stop"), Tone: pages.Bad})
		}
	}
	p.Body = pages.SlotPage{Pool: pool.Name, SlotRow: slot, Facts: facts, Lines: a.lines(pool.Name, number, "")}
	return nil
}
