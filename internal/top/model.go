package top

import (
	"context"
	"time"

	tea "charm.land/bubbletea/v2"

	"oarlock/internal/ops"
	"oarlock/internal/rollcall"
	"oarlock/internal/service"
)

// page is one of the four that the keys 1 to 4 show.
type page int

const (
	pagePools page = iota
	pageQueues
	pageFailures
	pageHosts
)

var pageNames = [...]string{"pools", "queues", "failures", "hosts"}

// patience is how long anything that was asked or done may take, elsewhereEvery how often what is not the
// supervisor's is asked again, and rollLasts for how long it counts who listens to a queue.
const (
	patience       = 5 * time.Second
	elsewhereEvery = 2 * time.Second
	rollLasts      = 10 * time.Second
)

// model is all that the screen shows, and what keys have done to it. Only the goroutine of the program touches it; what
// waits is done by commands, whose answers are messages.
type model struct {
	ctx context.Context
	o   Options
	now func() time.Time

	width, height int
	page          page
	world         world
	looking       bool
	elsewhere     [4]bool      // a question for that page is under way
	asked         [4]time.Time // when it was asked last

	chosen [4]string // by name, so that it stays when rows move: a pool, a queue, a group, a host
	second [2]string // in the lower part: a slot of the pool, a job of the group
	below  bool      // keys move in the lower part
	sort   [4]int
	filter string
	typing bool

	asks  *deed // waits for y
	doing string
	said  string // what came of the last deed
	bad   bool
	open  *reader
}

func newModel(ctx context.Context, o Options) *model {
	if o.Every <= 0 {
		o.Every = time.Second
	}
	return &model{ctx: ctx, o: o, now: time.Now, width: 80, height: 24}
}

// What commands answer.
type (
	tick   struct{}
	looked struct {
		status *service.Status
		err    error
	}
	queuesTold struct {
		queues []ops.Queue
		err    error
	}
	groupsTold struct {
		counts map[string]int
		err    error
	}
	jobsTold struct {
		of   string
		jobs []ops.Job
		err  error
	}
	rollTold struct {
		roll rollcall.Roll
		err  error
	}
	did struct {
		told string
		err  error
	}
	read struct { // a reader opens
		in    *reader
		lines []string
	}
	reread struct { // an open one was asked again
		in    *reader
		lines []string
		err   error
	}
)

// Init begins to look.
func (m *model) Init() tea.Cmd { return tea.Batch(m.look(), m.lookElsewhere(pageQueues), m.ticks()) }

func (m *model) ticks() tea.Cmd {
	return tea.Tick(m.o.Every, func(time.Time) tea.Msg { return tick{} })
}

// Update takes in a key, the size of the terminal, or an answer.
func (m *model) Update(message tea.Msg) (tea.Model, tea.Cmd) {
	switch message := message.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = message.Width, message.Height
	case tea.KeyPressMsg:
		return m, m.key(message)
	case tick:
		return m, tea.Batch(m.look(), m.lookElsewhere(m.page), m.follow(), m.ticks())
	default:
		return m, m.hear(message)
	}
	return m, nil
}

// asking is a command that asks within patience.
func (m *model) asking(ask func(ctx context.Context) tea.Msg) tea.Cmd {
	return func() tea.Msg {
		ctx, cancel := context.WithTimeout(m.ctx, patience)
		defer cancel()
		return ask(ctx)
	}
}

// look asks the supervisor, unless that is under way.
func (m *model) look() tea.Cmd {
	if m.looking {
		return nil
	}
	m.looking = true
	return m.asking(func(ctx context.Context) tea.Msg {
		status, err := m.o.Source.Status(ctx)
		return looked{status, err}
	})
}

// lookElsewhere asks what a page shows beside the supervisor, if that is old.
func (m *model) lookElsewhere(of page) tea.Cmd {
	if of == pagePools || m.elsewhere[of] || m.now().Sub(m.asked[of]) < elsewhereEvery {
		return nil
	}
	m.elsewhere[of], m.asked[of] = true, m.now()
	switch of {
	case pageQueues:
		return tea.Batch(m.asking(func(ctx context.Context) tea.Msg {
			queues, err := m.o.Source.Queues(ctx)
			return queuesTold{queues, err}
		}), m.lookElsewhere(pageHosts)) // who listens to them
	case pageFailures:
		return tea.Batch(m.asking(func(ctx context.Context) tea.Msg {
			counts, err := m.o.Source.Groups(ctx)
			return groupsTold{counts, err}
		}), m.lookInto())
	}
	return m.asking(func(ctx context.Context) tea.Msg {
		roll, err := m.o.Source.Roll(ctx)
		return rollTold{roll, err}
	})
}

// lookInto asks for the jobs of the group that is chosen.
func (m *model) lookInto() tea.Cmd {
	group := m.chosen[pageFailures]
	if group == "" {
		return nil
	}
	return m.asking(func(ctx context.Context) tea.Msg {
		jobs, err := m.o.Source.Failed(ctx, group)
		return jobsTold{group, jobs, err}
	})
}

// hearAll asks, one after the other, and takes in the answers.
func (m *model) hearAll(ask tea.Cmd) {
	if ask == nil {
		return
	}
	switch message := ask().(type) {
	case tea.BatchMsg:
		for _, each := range message {
			m.hearAll(each)
		}
	default:
		m.hear(message)
	}
}

// hear takes in an answer.
func (m *model) hear(message tea.Msg) tea.Cmd {
	now, w := m.now(), &m.world
	switch told := message.(type) {
	case looked:
		m.looking = false
		w.heard(told.status, told.err, now)
	case queuesTold:
		m.elsewhere[pageQueues] = false
		if w.queuesErr = told.err; told.err == nil {
			w.queues, w.queuesAt = told.queues, now
		}
	case groupsTold:
		m.elsewhere[pageFailures] = false
		if w.groupsErr = told.err; told.err == nil {
			w.groups, w.groupsAt = grouped(told.counts), now
		}
	case jobsTold:
		if w.jobsErr = told.err; told.err == nil {
			w.jobs, w.jobsOf = told.jobs, told.of
		}
	case rollTold:
		m.elsewhere[pageHosts] = false
		if w.rollErr = told.err; told.err == nil {
			w.roll, w.rollAt = told.roll, now
		}
	case did:
		m.doing = ""
		m.said, m.bad = told.told, told.err != nil
		if told.err != nil {
			m.said = told.err.Error()
		}
		m.asked = [4]time.Time{} // what it changed is to be seen at once
		return tea.Batch(m.look(), m.lookElsewhere(m.page))
	case read:
		m.doing, m.open = "", told.in
		m.open.lines = told.lines
	case reread:
		told.in.heard(told.lines, told.err)
	}
	m.choose()
	if m.page == pageFailures && w.jobsErr == nil && w.jobsOf != m.chosen[pageFailures] {
		return m.lookInto()
	}
	return nil
}

// choose keeps what is chosen among what there is, and chooses the first where nothing is.
func (m *model) choose() {
	for p := range m.chosen {
		names := m.names(page(p))
		if indexOf(names, m.chosen[p]) < 0 {
			m.chosen[p] = ""
			if len(names) > 0 {
				m.chosen[p] = names[0]
			}
		}
	}
	for i, names := range [][]string{m.slotNames(), m.jobNames()} {
		if indexOf(names, m.second[i]) < 0 {
			m.second[i] = ""
			if len(names) > 0 {
				m.second[i] = names[0]
			}
		}
	}
}

func indexOf(names []string, name string) int {
	for i, other := range names {
		if other == name {
			return i
		}
	}
	return -1
}
