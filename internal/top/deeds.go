package top

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"oarlock/internal/screen"
	"oarlock/supervisor"
)

// deed is something that is done when y is pressed.
type deed struct {
	question string
	do       func(ctx context.Context) (told string, err error)
	not      string // why it cannot be done now; "" if it can
}

func cannot(why string) deed { return deed{not: why} }

// deeds are what keys ask for that change something.
var deeds = map[string]func(*model) deed{
	"Q": (*model).quiet,
	"+": func(m *model) deed { return m.scale(1) },
	"-": func(m *model) deed { return m.scale(-1) },
	"R": (*model).recycle,
	"u": (*model).quietPool,
	"G": (*model).abandon,
	"c": (*model).recycleSlot,
	"x": (*model).stop,
	"p": (*model).pause,
	"r": (*model).retry,
}

// ask asks whether a deed is meant.
func (m *model) ask(d deed) tea.Cmd {
	switch {
	case m.o.ReadOnly:
		m.said, m.bad = "this top was started with --read-only and changes nothing", true
	case m.doing != "":
		m.said, m.bad = "one thing at a time: "+m.doing, true
	case d.not != "":
		m.said, m.bad = d.not, true
	default:
		m.asks = &d
	}
	return nil
}

// answered does the deed that was asked about, if the key is y.
func (m *model) answered(name string) tea.Cmd {
	d := m.asks
	m.asks = nil
	if name != "y" && name != "Y" {
		m.said = "nothing was done"
		return nil
	}
	m.doing = d.question
	return m.asking(func(ctx context.Context) tea.Msg {
		told, err := d.do(ctx)
		return did{told, err}
	})
}

// pool is the one that is chosen; nil if there is none.
func (m *model) pool() *supervisor.PoolSnapshot {
	if m.world.status == nil {
		return nil
	}
	for i := range m.world.status.Pools {
		if p := &m.world.status.Pools[i]; p.Worker == m.chosen[pagePools] {
			return p
		}
	}
	return nil
}

const onPools = "that is for the supervisor's pools: press 1"

func (m *model) quiet() deed {
	if m.page != pagePools || m.world.status == nil {
		return cannot(onPools)
	}
	quiet := !m.world.status.Quiet
	question := "Take no more jobs in this supervisor?"
	if !quiet {
		question = "Take jobs again?"
	}
	return deed{question: question, do: func(ctx context.Context) (string, error) { return m.o.Source.Quiet(ctx, quiet) }}
}

func (m *model) scale(by int) deed {
	p := m.pool()
	if m.page != pagePools || p == nil {
		return cannot(onPools)
	}
	name, children := p.Name, max(p.Children+by, 0)
	return deed{
		question: fmt.Sprintf("Have %s in %s, instead of %d?", strings.Replace(screen.Some(children, "child"), "childs", "children", 1), name, p.Children),
		do:       func(ctx context.Context) (string, error) { return m.o.Source.Scale(ctx, name, children) },
	}
}

func (m *model) recycle() deed {
	p := m.pool()
	if m.page != pagePools || p == nil {
		return cannot(onPools)
	}
	name := p.Name
	return deed{question: "Replace the children of " + name + " by new ones?", do: func(ctx context.Context) (string, error) { return m.o.Source.Recycle(ctx, name) }}
}

// slot is the one that is chosen; nil if there is none.
func (m *model) slot() *supervisor.SlotSnapshot {
	p := m.pool()
	if p == nil {
		return nil
	}
	for i := range p.Slots {
		if slotName(p, i) == m.second[0] {
			return &p.Slots[i]
		}
	}
	return nil
}

// slotName names a slot, of which a roll has two of one number.
func slotName(p *supervisor.PoolSnapshot, i int) string {
	return strconv.Itoa(p.Slots[i].Slot) + "/" + strconv.Itoa(p.Slots[i].Generation)
}

const onChildren = "choose a child: press 1, and enter"

// stop stops the run that is seen, and none that comes after it.
func (m *model) stop() deed {
	p, s := m.pool(), m.slot()
	if m.page != pagePools || !m.below || s == nil || len(s.Runs) == 0 {
		return cannot("choose a child that has a job: enter, then up and down")
	}
	pool, slot, run := p.Name, s.Slot, s.Runs[0]
	return deed{
		question: "Stop " + run.Klass + " " + run.JID + ", to run again first in " + run.Queue + ", at no cost?",
		do:       func(ctx context.Context) (string, error) { return m.o.Source.StopRun(ctx, pool, slot, run.Run) },
	}
}

func (m *model) recycleSlot() deed {
	p, s := m.pool(), m.slot()
	switch {
	case m.page != pagePools || !m.below || s == nil:
		return cannot(onChildren)
	case p.Mode == "once":
		return cannot("a child of " + p.Name + " works one job, and the next is a new one anyway")
	}
	pool, slot := p.Name, s.Slot
	return deed{
		question: fmt.Sprintf("Replace the child of slot %d of %s by a new one, when its job is over?", slot, pool),
		do:       func(ctx context.Context) (string, error) { return m.o.Source.RecycleSlot(ctx, pool, slot) },
	}
}

func (m *model) quietPool() deed {
	p := m.pool()
	if m.page != pagePools || p == nil {
		return cannot(onPools)
	}
	name, quiet := p.Name, !p.QuietAlone
	question := "Take no more jobs in " + name + "? What runs goes on."
	if !quiet {
		question = "Take jobs again in " + name + "?"
	}
	return deed{question: question, do: func(ctx context.Context) (string, error) { return m.o.Source.QuietPool(ctx, name, quiet) }}
}

func (m *model) abandon() deed {
	p := m.pool()
	switch {
	case m.page != pagePools || p == nil:
		return cannot(onPools)
	case p.Roll == nil || p.Roll.Back:
		return cannot("there is no roll of " + p.Name + " to give up")
	}
	name := p.Name
	return deed{
		question: fmt.Sprintf("Give up the roll of %s, so that generation %d has all its slots again?", name, p.Roll.From),
		do:       func(ctx context.Context) (string, error) { return m.o.Source.AbandonRoll(ctx, name) },
	}
}

func (m *model) pause() deed {
	if m.page != pageQueues {
		return cannot("choose a queue: press 2")
	}
	for _, q := range m.world.queues {
		if q.Name == m.chosen[pageQueues] {
			question := "Pause " + q.Name + " for all supervisors? What runs goes on."
			if q.Paused {
				question = "End the pause of " + q.Name + "?"
			}
			return deed{question: question, do: func(ctx context.Context) (string, error) { return m.o.Source.Pause(ctx, q.Name, !q.Paused) }}
		}
	}
	return cannot("there is no queue to pause")
}

func (m *model) retry() deed {
	group := m.chosen[pageFailures]
	if m.page != pageFailures || group == "" {
		return cannot("choose what has failed: press 3")
	}
	if jid := m.second[1]; m.below && jid != "" {
		return deed{question: "Retry job " + jid + "?", do: func(ctx context.Context) (string, error) { return m.o.Source.Retry(ctx, jid) }}
	}
	count := 0
	for _, g := range m.world.groups {
		if g.name == group {
			count = g.count
		}
	}
	return deed{
		question: fmt.Sprintf("Retry all of %s, %s?", group, screen.Some(count, "job")),
		do:       func(ctx context.Context) (string, error) { return m.o.Source.RetryGroup(ctx, group) },
	}
}

// job is the one that is chosen: of the slot, or of the group; "" if there is none.
func (m *model) job() string {
	switch s := m.slot(); {
	case m.page == pagePools && s != nil && len(s.Runs) > 0:
		return s.Runs[0].JID
	case m.page == pageFailures:
		return m.second[1]
	}
	return ""
}

// why reads what holds the job that is chosen, or what is wrong with the pool or the queue.
func (m *model) why() tea.Cmd {
	jid := m.job()
	if jid == "" {
		m.open = m.explained()
		return nil
	}
	return m.reading("why "+jid, func(ctx context.Context) ([]string, error) { return m.o.Source.Why(ctx, jid) })
}

// words reads the last words of the failed job that is chosen.
func (m *model) words() tea.Cmd {
	jid := m.job()
	if jid == "" {
		m.said, m.bad = "choose a job: press 3, and enter", true
		return nil
	}
	return m.reading("last words of "+jid, func(ctx context.Context) ([]string, error) {
		text, err := m.o.Source.Words(ctx, jid)
		return strings.Split(strings.TrimRight(text, "\n"), "\n"), err
	})
}

// reading reads a text and opens it.
func (m *model) reading(title string, get func(ctx context.Context) ([]string, error)) tea.Cmd {
	return m.opening(&reader{title: title, again: get})
}
