package top

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"

	"oarlock/internal/screen"
	"oarlock/internal/show"
	"oarlock/supervisor"
)

// The least for which a frame is made; on a smaller terminal it is cut.
const leastWidth, leastHeight = 40, 10

// View draws the screen.
func (m *model) View() tea.View {
	v := tea.NewView(m.frame())
	v.AltScreen = true
	return v
}

// frame is the whole screen, in lines no wider than it and no more than it has.
func (m *model) frame() string {
	width, height := max(m.width, leastWidth), max(m.height, leastHeight)
	head, foot := m.head(width), m.foot(width)
	lines := append(head, m.body(width, height-len(head)-len(foot))...)
	for len(lines) < height-len(foot) {
		lines = append(lines, "")
	}
	lines = append(lines, foot...)
	for i := range lines {
		lines[i] = cut(lines[i], m.width)
	}
	return strings.Join(lines[:min(len(lines), max(m.height, 1))], "\n")
}

// body is what is between head and foot, of so many lines at most.
func (m *model) body(width, height int) []string {
	if m.open != nil {
		return m.text(width, height)
	}
	var upper, lower []row
	columns, belowColumns, title := poolColumns, slotColumns, ""
	trouble := m.trouble()
	switch m.page {
	case pagePools:
		upper = m.poolRows()
		if p := m.pool(); p != nil {
			lower, title = m.slotRows(p), p.Name
		}
	case pageQueues:
		columns, upper = queueColumns, m.queueRows()
	case pageFailures:
		columns, belowColumns, upper, lower, title = groupColumns, jobColumns, m.groupRows(), m.jobRows(), m.chosen[pageFailures]+", the newest"
	case pageHosts:
		columns, upper = hostColumns, m.hostRows()
	}
	lines := []string{m.tabs(width)}
	for _, text := range trouble {
		lines = append(lines, red.Render(shown(text, width)))
	}
	if len(upper) == 0 {
		return append(lines, dim.Render(cut(m.empty(), width)))
	}
	room := height - len(lines) - 1
	share := room
	if room < 5 {
		lower = nil
	} else if len(lower) > 0 {
		share = max(room/3, min(len(upper), room-len(lower)-2))
	}
	heading, drawn := table(width, columns, upper)
	lines = append(append(lines, dim.Render(heading)), window(drawn, markedOf(upper), share)...)
	if room = height - len(lines) - 2; len(lower) > 0 && room > 0 {
		heading, drawn = table(width, belowColumns, lower)
		lines = append(append(lines, rule(title, width), dim.Render(heading)), window(drawn, markedOf(lower), room)...)
	}
	return lines
}

// whole is all pages one after the other, as high as they are.
func (m *model) whole() string {
	var all []string
	add := func(title string, columns []column, rows []row) {
		heading, lines := table(m.width, columns, rows)
		if len(rows) > 0 {
			all = append(all, "", title, heading)
			all = append(all, lines...)
		}
	}
	all = m.head(m.width)
	troubles := m.troubles()
	for _, err := range []error{m.world.queuesErr, m.world.groupsErr} { // of pages that are not m.page
		if err != nil {
			troubles = append(troubles, "▲ "+err.Error())
		}
	}
	for _, line := range slices.Compact(troubles) {
		for i, part := range wrapped(line, m.width-2) {
			if i > 0 {
				part = "  " + part // so that nobody's text begins a line
			}
			all = append(all, part)
		}
	}
	m.below = false
	pools := m.pools()
	m.chosen = [4]string{}
	add("POOLS", poolColumns, m.poolRows())
	for i := range pools {
		add("CHILDREN OF "+shown(pools[i].Name, m.width-12), slotColumns, m.slotRows(&pools[i]))
	}
	waiting, running := 0, 0
	for i := range m.world.queues {
		waiting, running = waiting+m.world.queues[i].Backlog(), running+m.world.queues[i].Running
	}
	add(fmt.Sprintf("QUEUES, in all %s waiting and %s running", screen.Count(waiting), screen.Count(running)), queueColumns, m.queueRows())
	add("FAILURES", groupColumns, m.groupRows())
	for i, line := range all {
		all[i] = strings.TrimRight(plainText(cut(line, m.width)), " ")
	}
	return strings.Join(all, "\n")
}

func markedOf(rows []row) int {
	for i := range rows {
		if rows[i].marked {
			return i
		}
	}
	return 0
}

// head sums everything up, in one line or two.
func (m *model) head(width int) []string {
	w := &m.world
	if w.status == nil {
		who := "oarlock · no supervisor here: queues and failures alone"
		switch {
		case w.statusErr == nil:
			who = "oarlock · asking the supervisor"
		case !errors.Is(w.statusErr, ErrNoSupervisor):
			who = "oarlock · the supervisor does not answer: " + w.statusErr.Error()
		}
		return []string{bold.Render(shown(who, width))}
	}
	s := w.status
	state, style := "ready", green
	switch {
	case w.statusErr != nil:
		state, style = "GONE, or does not answer", red
	case s.Draining:
		state, style = "draining", yellow
	case s.Quiet:
		state, style = "quiet", yellow
	case s.Abstains != "":
		state, style = "takes no jobs", red
	case !s.Ready:
		state, style = "not ready", red
	}
	left := bold.Render("oarlock "+shown(s.Name, 30)) + fmt.Sprintf(" · up %s · ", screen.Seconds(s.Up)) + style.Render(state)
	if trip, margin := slowest(s.Pools); trip > 0 {
		left += fmt.Sprintf(" · redis %s ms", number(trip*1e3))
		if margin > 0 {
			left += fmt.Sprintf(" · margin %s", screen.Seconds(margin))
		}
	}
	if old := age(w.statusAt, m.now()); old != "" {
		left += " · " + red.Render(old)
	}
	right := m.flow()
	if space := width - lipgloss.Width(left) - lipgloss.Width(right); space >= 3 {
		return []string{left + strings.Repeat(" ", space) + right}
	}
	return []string{left, right}
}

// flow is how work flows, in one line.
func (m *model) flow() string {
	w := &m.world
	done, failed := w.rates("")
	told := []string{fmt.Sprintf("%s/s %s", number(done), cyan.Render(sparkline(w.done.n, 8))), "fail " + failing(done, failed)}
	if waiting, known := w.backlog(); known {
		told = append(told, fmt.Sprintf("waiting here %s %s", screen.Count(waiting), cyan.Render(sparkline(w.waiting.n, 8))))
	} else {
		told = append(told, "waiting here ?")
	}
	if text := w.forecast(); text != "" {
		told = append(told, text)
	}
	return strings.Join(told, "  ")
}

// tabs names the pages, and how this one is sorted and filtered.
func (m *model) tabs(width int) string {
	var b strings.Builder
	for p, name := range pageNames {
		text := fmt.Sprintf("[%d]%s ", p+1, name)
		if page(p) == m.page {
			text = bold.Render(text)
		} else {
			text = dim.Render(text)
		}
		b.WriteString(text)
	}
	b.WriteString(dim.Render("by " + sorts[m.page][m.sort[m.page]]))
	if m.typing || m.filter != "" {
		b.WriteString(yellow.Render(" /" + shown(m.filter, 30)))
		if m.typing {
			b.WriteString("▏")
		}
	}
	return cut(b.String(), width)
}

// trouble is as much of troubles as there is room for.
func (m *model) trouble() []string {
	told := m.troubles()
	return told[:min(len(told), max(m.height/6, 1))]
}

// troubles is what is wrong with what the page shows, and everywhere with Redis, the worst first.
func (m *model) troubles() (told []string) {
	w := &m.world
	if s := w.status; s != nil {
		if what, why := s.RedisTrouble(); what != "" {
			told = append(told, "▲ Redis "+what+": "+why)
		}
		if s.Abstains != "" {
			told = append(told, "▲ it "+s.AbstainsWords())
		}
		if s.Short != "" {
			told = append(told, "▲ "+s.ShortWords())
		}
		for _, name := range s.Stuck {
			told = append(told, "▲ "+supervisor.StuckWords(name))
		}
		for _, text := range s.Rules.Sentences() {
			told = append(told, "▲ "+text)
		}
	}
	switch err := [...]error{nil, w.queuesErr, w.groupsErr, w.rollErr}[m.page]; {
	case err != nil:
		told = append(told, "▲ "+err.Error())
	case m.page == pageFailures && w.jobsErr != nil:
		told = append(told, "▲ "+w.jobsErr.Error())
	case m.page == pageHosts && !w.rollAt.IsZero():
		if w.roll.Missing > 0 || w.roll.Unread > 0 || w.roll.Asked < 0 {
			told = append(told, "▲ "+show.Answered(w.roll))
		}
		if names := show.UnheardNames(w.roll); names != "" {
			told = append(told, "known by the jobs they took only: "+names)
		}
	}
	for _, p := range m.pools() {
		if m.page == pagePools {
			told = append(told, poolTrouble(&p)...)
		}
	}
	return told
}

// empty says what would be here.
func (m *model) empty() string {
	switch {
	case m.filter != "":
		return " nothing has “" + shown(m.filter, 30) + "” in its name; esc shows all"
	case m.page == pagePools && m.world.status == nil:
		return " pools are shown where a supervisor runs: oarlock run; 2, 3 and 4 ask Redis"
	case m.page == pagePools && len(m.world.status.Stuck) > 0:
		return " no pool answers"
	case m.page == pagePools:
		return " this supervisor has no pool"
	case m.page == pageQueues && m.world.queuesAt.IsZero(), m.page == pageFailures && m.world.groupsAt.IsZero(), m.page == pageHosts && m.world.rollAt.IsZero():
		return " asking Redis"
	case m.page == pageQueues:
		return " no queue yet; oarlock put QUEUE makes one"
	case m.page == pageFailures:
		return " nothing has failed"
	}
	return " no supervisor answers; those of older versions cannot, nor those with web.roll_call = false"
}

// foot is what is asked or was done, and the keys.
func (m *model) foot(width int) []string {
	keys := []string{"q quit  ↑↓ tab ⏎ open  s sort  / filter  w why  e stderr  l log  a hosts  ? help"}
	if does := [...]string{"Q quiet  u quiet pool  + - scale  R recycle  x stop", "p pause", "r retry", ""}[m.page]; does != "" && !m.o.ReadOnly {
		if len(keys[0])+len(does) < width {
			keys[0] += "    " + does
		} else {
			keys = append(keys, does)
		}
	}
	if m.open != nil {
		keys = nil
	}
	for i := range keys {
		keys[i] = dim.Render(cut(keys[i], width))
	}
	line := ""
	switch {
	case m.asks != nil:
		line = yellow.Render(shown(m.asks.question, width-22)) + bold.Render("  y, or any other key")
	case m.doing != "":
		line = dim.Render(shown(m.doing+" …", width))
	case m.said != "" && m.bad:
		line = red.Render(shown(m.said, width))
	case m.said != "":
		line = green.Render(shown(m.said, width))
	}
	return append([]string{line}, keys...)
}

// text is the text that is open.
func (m *model) text(width, height int) []string {
	lines, all := []string{rule(m.open.heading(), width)}, m.open.shown()
	for _, line := range all[min(m.open.from, len(all)):] {
		for _, part := range wrapped(line, width) {
			if len(lines) == height-1 {
				return append(lines, dim.Render("  more below: ↓"))
			}
			lines = append(lines, part)
		}
	}
	return append(lines, dim.Render("  q closes this"))
}
